#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include <QTest>

#include "tests/cuda_emulation/runtime_bench.h"
#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

/// Adds `amount` to a byte of the device, as a kernel would.
void queueAddition(cudaStream_t stream, unsigned char* to, int amount)
{
    emulation::issue(emulation::streamOf(stream), [=] {
        const emulation::Open open;
        *to = static_cast<unsigned char>(*to + amount);
    });
}

cudaStreamCaptureStatus statusOf(cudaStream_t stream)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(stream, &status) == cudaSuccess
               ? status
               : static_cast<cudaStreamCaptureStatus>(-1);
}

/// What a call gives while a stream is captured, and what then becomes of the capture.
struct Outcome {
    cudaError_t call, end;
    bool operator==(const Outcome&) const = default;
};

constexpr Outcome kAllowed{cudaSuccess, cudaSuccess};
constexpr Outcome kRefused{cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureInvalidated};

Outcome outcomeOf(cudaStream_t stream, cudaStreamCaptureMode mode,
                  const std::function<cudaError_t()>& call)
{
    if (cudaStreamBeginCapture(stream, mode) != cudaSuccess)
        qFatal("no capture");
    Outcome outcome{};
    outcome.call = call();
    cudaGraph_t graph = nullptr;
    outcome.end = cudaStreamEndCapture(stream, &graph);
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError();
    return outcome;
}

/// A captured graph, ready to be launched.
class Graph {
public:
    explicit Graph(cudaStream_t stream)
    {
        cudaGraph_t graph = nullptr;
        m_error = cudaStreamEndCapture(stream, &graph);
        if (graph) {
            m_error = cudaGraphInstantiate(&m_executable, graph, 0);
            cudaGraphDestroy(graph);
        }
    }
    ~Graph()
    {
        if (m_executable)
            cudaGraphExecDestroy(m_executable);
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    cudaError_t error() const { return m_error; }
    cudaError_t launch(cudaStream_t stream) { return cudaGraphLaunch(m_executable, stream); }

private:
    cudaError_t m_error = cudaSuccess;
    cudaGraphExec_t m_executable = nullptr;
};

} // namespace

/// Streams that are captured, and replays.
class TestEmulatedGraphs : public QObject {
    Q_OBJECT
private:
    RuntimeBench m_bench;

private Q_SLOTS:
    void init() { m_bench.begin(); }
    void cleanup() { QVERIFY2(m_bench.endsWell(), "findings that no test expected"); }

    void captureDoesNothingUntilItIsReplayed()
    {
        const DeviceBytes block(1, 1);
        const StreamHandle stream;
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        QCOMPARE(statusOf(stream), cudaStreamCaptureStatusActive);
        queueAddition(stream, block.at(), 5);
        VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(block.at(), 7, 0, stream));
        Graph graph(stream);
        VERGENCE_EXPECT_SUCCESS(graph.error());
        QCOMPARE(statusOf(stream), cudaStreamCaptureStatusNone);
        QCOMPARE(block.read(), filled(1, 1));
        for (int times = 1; times <= 3; ++times) {
            VERGENCE_EXPECT_SUCCESS(graph.launch(stream));
            QCOMPARE(block.read(), filled(1, 1 + 5 * times));
        }
    }
    void replaysAreInTheirStreamsOrder()
    {
        for (unsigned seed = 0; seed < 20; ++seed) {
            emulation::settings().seed = seed;
            const DeviceBytes block(1, 1);
            const StreamHandle stream;
            VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
            queueAddition(stream, block.at(), 1);
            queueAddition(stream, block.at(), 2);
            Graph graph(stream);
            VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(block.at(), 10, 1, stream));
            VERGENCE_EXPECT_SUCCESS(graph.launch(stream));
            VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(block.at(), 20, 1, stream));
            VERGENCE_EXPECT_SUCCESS(graph.launch(stream));
            VERGENCE_EXPECT_SUCCESS(cudaStreamSynchronize(stream));
            QCOMPARE(block.read(), filled(1, 23));
        }
    }
    void replaysReadHostMemoryAgain()
    {
        const DeviceBytes block(4, 0);
        const StreamHandle stream;
        Bytes source = filled(4, 1), target = filled(4, 0);
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        VERGENCE_EXPECT_SUCCESS(
            cudaMemcpyAsync(block.at(), source.data(), 4, cudaMemcpyHostToDevice, stream));
        VERGENCE_EXPECT_SUCCESS(
            cudaMemcpyAsync(target.data(), block.at(), 4, cudaMemcpyDeviceToHost, stream));
        Graph graph(stream);
        for (const int value : {2, 3}) {
            std::fill(source.begin(), source.end(), static_cast<unsigned char>(value));
            VERGENCE_EXPECT_SUCCESS(graph.launch(stream));
            VERGENCE_EXPECT_SUCCESS(cudaStreamSynchronize(stream));
            QCOMPARE(target, filled(4, value));
        }
    }
    void replayOfFreedMemoryIsFound()
    {
        auto block = std::make_unique<DeviceBytes>(64, 0);
        const StreamHandle stream;
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(block->at(), 1, 64, stream));
        Graph graph(stream);
        block.reset();
        VERGENCE_EXPECT_SUCCESS(graph.launch(stream));
        emulation::finishAll();
        QVERIFY(tookFinding("outside"));
    }
    void graphsMayEndBeforeTheirReplays()
    {
        const DeviceBytes block(1, 1);
        const StreamHandle stream;
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        queueAddition(stream, block.at(), 1);
        {
            Graph graph(stream);
            VERGENCE_EXPECT_SUCCESS(graph.launch(stream));
        }
        QCOMPARE(block.read(), filled(1, 2));
    }
    void graphsCanBePartsOfGraphs()
    {
        const DeviceBytes block(1, 1);
        const StreamHandle stream;
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        queueAddition(stream, block.at(), 1);
        Graph inner(stream);
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        VERGENCE_EXPECT_SUCCESS(inner.launch(stream));
        VERGENCE_EXPECT_SUCCESS(inner.launch(stream));
        Graph outer(stream);
        QCOMPARE(block.read(), filled(1, 1));
        VERGENCE_EXPECT_SUCCESS(outer.launch(stream));
        QCOMPARE(block.read(), filled(1, 3));
    }

    void modesForbidWhatTheyShould_data()
    {
        QTest::addColumn<int>("captureMode");
        QTest::addColumn<int>("threadMode");
        QTest::addColumn<bool>("isOtherThread");
        QTest::addColumn<bool>("isForbidden");
        const char* names[] = {"global", "thread-local", "relaxed"};
        const bool forbidden[2][3][3] = {{{true, true, false}, {true, true, false}, {}},
                                         {{true, false, false}, {}, {}}};
        for (int other = 0; other < 2; ++other) {
            for (int capture = 0; capture < 3; ++capture) {
                for (int thread = 0; thread < 3; ++thread)
                    QTest::addRow("%s capture, %s %s thread", names[capture], names[thread],
                                  other ? "other" : "same")
                        << capture << thread << (other == 1) << forbidden[other][capture][thread];
            }
        }
    }
    void modesForbidWhatTheyShould()
    {
        QFETCH(int, captureMode);
        QFETCH(int, threadMode);
        QFETCH(bool, isOtherThread);
        QFETCH(bool, isForbidden);
        const StreamHandle stream;
        const auto allocate = [&] {
            auto mode = static_cast<cudaStreamCaptureMode>(threadMode);
            cudaThreadExchangeStreamCaptureMode(&mode);
            void* memory = nullptr;
            const cudaError_t error = cudaMalloc(&memory, 64);
            if (memory)
                cudaFree(memory);
            cudaThreadExchangeStreamCaptureMode(&mode);
            return error;
        };
        const Outcome outcome =
            outcomeOf(stream, static_cast<cudaStreamCaptureMode>(captureMode), [&] {
                if (!isOtherThread)
                    return allocate();
                cudaError_t error = cudaSuccess;
                std::thread([&] { error = allocate(); }).join();
                return error;
            });
        QVERIFY(outcome == (isForbidden ? kRefused : kAllowed));
    }
    void unsafeCallsEndTheCapture()
    {
        const DeviceBytes block(64);
        const StreamHandle stream, other;
        const EventHandle event;
        Bytes host(64);
        void* memory = nullptr;
        const std::function<cudaError_t()> calls[] = {
            [&] { return cudaMalloc(&memory, 64); },
            [&] { return cudaFree(block.at()); },
            [&] { return cudaMemcpy(host.data(), block.at(), 64, cudaMemcpyDeviceToHost); },
            [&] { return cudaMemset(block.at(), 0, 64); },
            [&] { return cudaHostRegister(host.data(), 64, 0); },
            [&] { return cudaMallocHost(&memory, 64); },
            [&] { return cudaDeviceSynchronize(); },
            [&] { return cudaStreamSynchronize(other); },
            [&] { return cudaStreamSynchronize(stream); },
            [&] { return cudaStreamQuery(stream); },
            [&] { return cudaEventQuery(event); },
            [&] { return cudaEventSynchronize(event); }};
        for (const auto& call : calls)
            QVERIFY(outcomeOf(stream, cudaStreamCaptureModeThreadLocal, call) == kRefused);
        QVERIFY(emulation::allocationAt(block.at()));
        // Of the stream itself it is a fault in any mode.
        QVERIFY(outcomeOf(stream, cudaStreamCaptureModeRelaxed,
                          [&] { return cudaStreamSynchronize(stream); }) == kRefused);
    }
    void safeCallsAreLetThrough()
    {
        const StreamHandle stream, other;
        const DeviceBytes block(64);
        std::size_t free = 0, total = 0;
        int device = 0;
        cudaPointerAttributes attributes{};
        const EventHandle event;
        const std::function<cudaError_t()> calls[] = {
            [&] { return cudaMemGetInfo(&free, &total); },
            [&] { return cudaGetDevice(&device); },
            [&] { return cudaPointerGetAttributes(&attributes, block.at()); },
            [&] { return cudaEventRecord(event, other); },
            [&] { return cudaMemsetAsync(block.at(), 0, 64, other); },
            [&] { return cudaMemsetAsync(block.at(), 0, 64, nullptr); }};
        for (const auto& call : calls)
            QVERIFY(outcomeOf(stream, cudaStreamCaptureModeThreadLocal, call) == kAllowed);
    }
    void invalidatedCaptureTakesNothingMore()
    {
        const DeviceBytes block(64);
        const StreamHandle stream;
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        QCOMPARE(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
        QCOMPARE(statusOf(stream), cudaStreamCaptureStatusInvalidated);
        QCOMPARE(cudaMemsetAsync(block.at(), 0, 64, stream), cudaErrorStreamCaptureInvalidated);
        QCOMPARE(emulation::refusalOfLaunch(stream, "launch"),
                 int{cudaErrorStreamCaptureInvalidated});
        cudaGraph_t graph = reinterpret_cast<cudaGraph_t>(1);
        QCOMPARE(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
        QVERIFY(!graph);
        VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(block.at(), 0, 64, stream));
        QCOMPARE(block.read(), filled(64, 0));
    }
    void defaultStreamIsUnusableBesideABlockingCapture()
    {
        const DeviceBytes block(64);
        const StreamHandle stream(cudaStreamDefault);
        const Outcome outcome = outcomeOf(stream, cudaStreamCaptureModeRelaxed, [&] {
            cudaStreamCaptureStatus status{};
            const cudaError_t asked = cudaStreamIsCapturing(nullptr, &status);
            return asked == cudaErrorStreamCaptureImplicit
                       ? cudaMemsetAsync(block.at(), 0, 64, nullptr)
                       : asked;
        });
        QVERIFY(outcome ==
                (Outcome{cudaErrorStreamCaptureImplicit, cudaErrorStreamCaptureInvalidated}));
        QCOMPARE(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed),
                 cudaErrorStreamCaptureUnsupported);
    }

    void joinedStreamsAreCapturedToo()
    {
        const DeviceBytes block(2, 1);
        const StreamHandle stream, other;
        const EventHandle fork, join;
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        queueAddition(stream, block.at(), 1);
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(fork, stream));
        VERGENCE_EXPECT_SUCCESS(cudaStreamWaitEvent(other, fork, 0));
        QCOMPARE(statusOf(other), cudaStreamCaptureStatusActive);
        queueAddition(other, block.at(1), 2);
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(join, other));
        VERGENCE_EXPECT_SUCCESS(cudaStreamWaitEvent(stream, join, 0));
        queueAddition(stream, block.at(1), 3);
        Graph graph(stream);
        VERGENCE_EXPECT_SUCCESS(graph.error());
        QCOMPARE(statusOf(other), cudaStreamCaptureStatusNone);
        QCOMPARE(block.read(), filled(2, 1));
        VERGENCE_EXPECT_SUCCESS(graph.launch(stream));
        QCOMPARE(block.read(), (Bytes{2, 6}));
        QCOMPARE(cudaStreamWaitEvent(other, join, 0), cudaErrorCapturedEvent);
    }
    void unjoinedWorkIsAnError_data()
    {
        QTest::addColumn<bool>("joins");
        QTest::newRow("never joined") << false;
        QTest::newRow("works on after it was joined") << true;
    }
    void unjoinedWorkIsAnError()
    {
        QFETCH(bool, joins);
        const DeviceBytes block(1, 1);
        const StreamHandle stream, other;
        const EventHandle fork, join;
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        queueAddition(stream, block.at(), 1);
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(fork, stream));
        VERGENCE_EXPECT_SUCCESS(cudaStreamWaitEvent(other, fork, 0));
        if (joins) {
            VERGENCE_EXPECT_SUCCESS(cudaEventRecord(join, other));
            VERGENCE_EXPECT_SUCCESS(cudaStreamWaitEvent(stream, join, 0));
        }
        queueAddition(other, block.at(), 1);
        cudaGraph_t graph = nullptr;
        QCOMPARE(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureUnmatched);
        QVERIFY(!graph);
        QCOMPARE(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);

        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(fork, stream));
        VERGENCE_EXPECT_SUCCESS(cudaStreamWaitEvent(other, fork, 0));
        if (joins) {
            VERGENCE_EXPECT_SUCCESS(cudaEventRecord(join, other));
            VERGENCE_EXPECT_SUCCESS(cudaStreamWaitEvent(stream, join, 0));
        }
        queueAddition(other, block.at(), 1);
        QCOMPARE(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
        QVERIFY(!graph);
        QCOMPARE(statusOf(other), cudaStreamCaptureStatusNone);
    }
    void captureIsIsolatedFromOtherWork()
    {
        const StreamHandle stream, other;
        const EventHandle event;
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(event, other));
        const Outcome outcome = outcomeOf(stream, cudaStreamCaptureModeRelaxed,
                                          [&] { return cudaStreamWaitEvent(stream, event, 0); });
        QVERIFY(outcome ==
                (Outcome{cudaErrorStreamCaptureIsolation, cudaErrorStreamCaptureInvalidated}));
    }
    void capturesDoNotMerge()
    {
        const StreamHandle stream, other;
        const EventHandle event;
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(other, cudaStreamCaptureModeRelaxed));
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(event, other));
        const Outcome outcome = outcomeOf(stream, cudaStreamCaptureModeRelaxed,
                                          [&] { return cudaStreamWaitEvent(stream, event, 0); });
        QVERIFY(outcome ==
                (Outcome{cudaErrorStreamCaptureMerge, cudaErrorStreamCaptureInvalidated}));
        cudaGraph_t graph = nullptr;
        QCOMPARE(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureInvalidated);
    }
    void capturedEventsCannotBeAskedFor()
    {
        const StreamHandle stream;
        const EventHandle event;
        for (const auto ask : {cudaEventQuery, cudaEventSynchronize}) {
            const Outcome outcome = outcomeOf(stream, cudaStreamCaptureModeRelaxed, [&] {
                const cudaError_t recorded = cudaEventRecord(event, stream);
                return recorded == cudaSuccess ? ask(event) : recorded;
            });
            QVERIFY(outcome ==
                    (Outcome{cudaErrorCapturedEvent, cudaErrorStreamCaptureInvalidated}));
        }
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(event, stream)); // makes it one of work again
        VERGENCE_EXPECT_SUCCESS(cudaEventSynchronize(event));
    }
    void capturesEndInTheirThread()
    {
        const StreamHandle stream;
        for (const auto mode : {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
            VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, mode));
            cudaGraph_t graph = nullptr;
            cudaError_t error = cudaSuccess;
            std::thread([&] { error = cudaStreamEndCapture(stream, &graph); }).join();
            if (mode == cudaStreamCaptureModeThreadLocal) {
                QCOMPARE(error, cudaErrorStreamCaptureWrongThread);
                error = cudaStreamEndCapture(stream, &graph);
            }
            VERGENCE_EXPECT_SUCCESS(error);
            VERGENCE_EXPECT_SUCCESS(cudaGraphDestroy(graph));
        }
    }
    void badArgumentsAreRefused()
    {
        const StreamHandle stream;
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        QCOMPARE(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
        QCOMPARE(cudaStreamEndCapture(stream, nullptr), cudaErrorInvalidValue);
        QCOMPARE(cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(3)),
                 cudaErrorInvalidValue);
        QCOMPARE(cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue);
        QCOMPARE(cudaStreamIsCapturing(stream, nullptr), cudaErrorInvalidValue);
        QCOMPARE(cudaGraphInstantiate(&executable, nullptr, 0), cudaErrorInvalidValue);
        QCOMPARE(cudaGraphLaunch(nullptr, stream), cudaErrorInvalidValue);
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        QCOMPARE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed),
                 cudaErrorIllegalState);
        QCOMPARE(cudaStreamDestroy(stream), cudaErrorStreamCaptureUnsupported);
        QCOMPARE(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    }
    void staleGraphsAreFound()
    {
        const StreamHandle stream;
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        VERGENCE_EXPECT_SUCCESS(cudaStreamEndCapture(stream, &graph));
        VERGENCE_EXPECT_SUCCESS(cudaGraphInstantiate(&executable, graph, 0));
        VERGENCE_EXPECT_SUCCESS(cudaGraphExecDestroy(executable));
        VERGENCE_EXPECT_SUCCESS(cudaGraphDestroy(graph));
        const std::function<cudaError_t()> uses[] = {
            [&] { return cudaGraphDestroy(graph); },
            [&] { return cudaGraphInstantiate(&executable, graph, 0); },
            [&, gone = executable] { return cudaGraphLaunch(gone, stream); },
            [&, gone = executable] { return cudaGraphExecDestroy(gone); }};
        for (const auto& use : uses) {
            QCOMPARE(use(), cudaErrorInvalidResourceHandle);
            QVERIFY(tookFinding("stale-handle"));
        }
    }
};

VERGENCE_TEST(TestEmulatedGraphs)
#include "tst_emulated_graphs.moc"
