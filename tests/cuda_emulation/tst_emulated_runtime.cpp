#include <cstring>
#include <functional>
#include <set>
#include <thread>

#include <QTest>

#include "tests/cuda_emulation/runtime_bench.h"
#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

constexpr unsigned kSeeds = 40;

/// Work that a kernel would do: one byte of the device from another.
void queueByteCopy(cudaStream_t stream, unsigned char* to, const unsigned char* from)
{
    emulation::issue(emulation::streamOf(stream), [=] {
        const emulation::Open open;
        *to = *from;
    });
}

/// What came out under the seeds with which work is late.
std::set<int> valuesBySeed(const std::function<int()>& run)
{
    std::set<int> values;
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
        emulation::settings().seed = seed;
        values.insert(run());
    }
    return values;
}

} // namespace

/// Streams, events, devices and errors of the emulated libcudart.
class TestEmulatedRuntime : public QObject {
    Q_OBJECT
private:
    RuntimeBench m_bench;

private Q_SLOTS:
    void init() { m_bench.begin(); }
    void cleanup() { QVERIFY2(m_bench.endsWell(), "findings that no test expected"); }

    // --- streams -------------------------------------------------------------------------------

    void missingWaitShowsUnderSomeSeed()
    {
        const auto values = valuesBySeed([] {
            const DeviceBytes source(1, 1), target(1, 0);
            const StreamHandle writer, reader;
            cudaMemsetAsync(source.at(), 2, 1, writer);
            queueByteCopy(reader, target.at(), source.at());
            cudaStreamSynchronize(reader);
            return int{target.read()[0]};
        });
        QCOMPARE(values, (std::set<int>{1, 2}));
    }
    void lateWriterMayComeFirst()
    {
        const auto values = valuesBySeed([] {
            const DeviceBytes source(1, 1), target(1, 0);
            const StreamHandle writer, reader;
            queueByteCopy(reader, target.at(), source.at());
            cudaMemsetAsync(source.at(), 2, 1, writer); // after the reader, as its author thinks
            cudaStreamSynchronize(writer);
            return int{target.read()[0]};
        });
        QCOMPARE(values, (std::set<int>{1, 2}));
    }
    void workOfOthersComesBeforeAfterAndBetween()
    {
        constexpr int kSteps = 4;
        const auto othersDone = valuesBySeed([] {
            const StreamHandle stream, other;
            int done = 0, doneAtEnd = 0;
            for (int step = 0; step < kSteps; ++step) {
                emulation::issue(emulation::streamOf(other), [&] { ++done; });
                emulation::issue(emulation::streamOf(stream), [&] { doneAtEnd = done; });
            }
            cudaStreamSynchronize(stream);
            emulation::finishAll();
            return doneAtEnd;
        });
        QVERIFY(othersDone.contains(0));
        QVERIFY(othersDone.contains(kSteps));
        QVERIFY(othersDone.size() > 2);
    }
    void waitsAreHonouredUnderAllSeeds()
    {
        const auto values = valuesBySeed([] {
            const DeviceBytes source(1, 1), between(1, 0), target(1, 0);
            const StreamHandle writer, middle, reader;
            const EventHandle written, copied;
            cudaMemsetAsync(source.at(), 2, 1, writer);
            cudaEventRecord(written, writer);
            cudaStreamWaitEvent(middle, written, 0);
            queueByteCopy(middle, between.at(), source.at());
            cudaEventRecord(copied, middle);
            cudaStreamWaitEvent(reader, copied, 0);
            queueByteCopy(reader, target.at(), between.at());
            cudaStreamSynchronize(reader);
            return int{target.read()[0]};
        });
        QCOMPARE(values, (std::set<int>{2}));
    }
    void waitIsForTheRecordAndNotForMore()
    {
        const auto values = valuesBySeed([] {
            const DeviceBytes source(1, 1), target(1, 0);
            const StreamHandle writer, reader;
            const EventHandle event;
            cudaEventRecord(event, writer);
            cudaStreamWaitEvent(reader, event, 0);
            cudaMemsetAsync(source.at(), 2, 1, writer); // not waited for
            cudaEventRecord(event, writer);             // nor is this, which came after the wait
            queueByteCopy(reader, target.at(), source.at());
            cudaStreamSynchronize(reader);
            return int{target.read()[0]};
        });
        QCOMPARE(values, (std::set<int>{1, 2}));
    }
    void streamsKeepTheirOwnOrder()
    {
        for (unsigned seed = 0; seed < kSeeds; ++seed) {
            emulation::settings().seed = seed;
            const StreamHandle streams[3];
            std::vector<int> ran[3];
            for (int step = 0; step < 20; ++step) {
                for (int s = 0; s < 3; ++s)
                    emulation::issue(emulation::streamOf(streams[s]),
                                     [&ran, s, step] { ran[s].push_back(step); });
            }
            VERGENCE_EXPECT_SUCCESS(cudaDeviceSynchronize());
            for (const std::vector<int>& steps : ran) {
                QCOMPARE(steps.size(), 20ul);
                QVERIFY(std::is_sorted(steps.begin(), steps.end()));
            }
        }
    }
    void defaultStreamWaitsForBlockingStreams_data()
    {
        QTest::addColumn<unsigned>("flags");
        QTest::addColumn<bool>("isFirst");
        QTest::addColumn<bool>("isOrdered");
        QTest::newRow("blocking before") << unsigned{cudaStreamDefault} << true << true;
        QTest::newRow("blocking after") << unsigned{cudaStreamDefault} << false << true;
        QTest::newRow("non-blocking before") << unsigned{cudaStreamNonBlocking} << true << false;
        QTest::newRow("non-blocking after") << unsigned{cudaStreamNonBlocking} << false << false;
    }
    void defaultStreamWaitsForBlockingStreams()
    {
        QFETCH(unsigned, flags);
        QFETCH(bool, isFirst);
        QFETCH(bool, isOrdered);
        const auto values = valuesBySeed([&] {
            const DeviceBytes source(1, 1), target(1, 0);
            const StreamHandle other(flags);
            const cudaStream_t with = other, writer = isFirst ? with : nullptr;
            const cudaStream_t reader = isFirst ? nullptr : with;
            cudaMemsetAsync(source.at(), 2, 1, writer);
            queueByteCopy(reader, target.at(), source.at());
            cudaStreamSynchronize(reader);
            return int{target.read()[0]};
        });
        QCOMPARE(values, isOrdered ? (std::set<int>{2}) : (std::set<int>{1, 2}));
    }
    void destroyedStreamFinishesItsWork()
    {
        const DeviceBytes block(1, 0);
        StreamHandle stream;
        VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(block.at(), 9, 1, stream));
        const EventHandle event;
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(event, stream));
        VERGENCE_EXPECT_SUCCESS(cudaStreamDestroy(stream.release()));
        VERGENCE_EXPECT_SUCCESS(cudaEventSynchronize(event));
        QCOMPARE(block.read(), filled(1, 9));
    }
    void queriesComeToTheirEnd()
    {
        const DeviceBytes block(1, 0);
        const StreamHandle stream;
        const EventHandle event;
        VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(block.at(), 9, 1, stream));
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(event, stream));
        QCOMPARE(cudaEventQuery(event), cudaErrorNotReady);
        QCOMPARE(cudaGetLastError(), cudaErrorNotReady);
        VERGENCE_EXPECT_SUCCESS(cudaEventQuery(event));
        VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(block.at(), 9, 1, stream));
        QCOMPARE(cudaStreamQuery(stream), cudaErrorNotReady);
        VERGENCE_EXPECT_SUCCESS(cudaStreamQuery(stream));
    }
    void staleHandlesAreFound()
    {
        StreamHandle stream;
        EventHandle event;
        const cudaStream_t gone = stream.release();
        const cudaEvent_t goneEvent = event.release();
        VERGENCE_EXPECT_SUCCESS(cudaStreamDestroy(gone));
        VERGENCE_EXPECT_SUCCESS(cudaEventDestroy(goneEvent));
        const StreamHandle live, second;
        const EventHandle liveEvent;
        QVERIFY(live != gone && second != gone);
        const DeviceBytes block(1);
        int host = 0;
        const std::function<cudaError_t()> uses[] = {
            [&] { return cudaStreamSynchronize(gone); },
            [&] { return cudaStreamDestroy(gone); },
            [&] { return cudaMemsetAsync(block.at(), 0, 1, gone); },
            [&] { return cudaEventRecord(liveEvent, gone); },
            [&] { return cudaEventRecord(goneEvent, live); },
            [&] { return cudaStreamWaitEvent(live, goneEvent, 0); },
            [&] { return cudaEventSynchronize(goneEvent); },
            [&] { return cudaEventDestroy(goneEvent); },
            [&] { return cudaStreamQuery(reinterpret_cast<cudaStream_t>(&host)); }};
        for (const auto& use : uses) {
            QCOMPARE(use(), cudaErrorInvalidResourceHandle);
            QVERIFY(tookFinding("stale-handle"));
        }
        emulation::issue(emulation::streamOf(gone), [&] { host = 1; });
        emulation::finishAll();
        QCOMPARE(host, 0);
        QVERIFY(tookFinding("stale-handle"));
    }
    void badArgumentsOfStreamsAreRefused()
    {
        cudaStream_t stream = nullptr;
        QCOMPARE(cudaStreamCreateWithFlags(&stream, 8), cudaErrorInvalidValue);
        QCOMPARE(cudaStreamCreateWithFlags(nullptr, 0), cudaErrorInvalidValue);
        QCOMPARE(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
        const EventHandle event;
        QCOMPARE(cudaStreamWaitEvent(nullptr, event, 8), cudaErrorInvalidValue);
        QCOMPARE(cudaStreamWaitEvent(nullptr, nullptr, 0), cudaErrorInvalidResourceHandle);
        VERGENCE_EXPECT_SUCCESS(cudaStreamWaitEvent(nullptr, event, 0)); // never recorded: no work
    }

    // --- events --------------------------------------------------------------------------------

    void timesAreThoseOfTheWork()
    {
        const StreamHandle stream;
        cudaEvent_t before = nullptr, after = nullptr;
        VERGENCE_EXPECT_SUCCESS(cudaEventCreate(&before));
        VERGENCE_EXPECT_SUCCESS(cudaEventCreate(&after));
        float milliseconds = -1;
        QCOMPARE(cudaEventElapsedTime(&milliseconds, before, after),
                 cudaErrorInvalidResourceHandle); // never recorded
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(before, stream));
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(after, stream));
        QCOMPARE(cudaEventElapsedTime(&milliseconds, before, after), cudaErrorNotReady);
        VERGENCE_EXPECT_SUCCESS(cudaEventSynchronize(after));
        VERGENCE_EXPECT_SUCCESS(cudaEventElapsedTime(&milliseconds, before, after));
        QVERIFY(milliseconds > 0);
        float back = 0;
        VERGENCE_EXPECT_SUCCESS(cudaEventElapsedTime(&back, after, before));
        QCOMPARE(back, -milliseconds);
        const EventHandle untimed(cudaEventDisableTiming);
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(untimed, stream));
        VERGENCE_EXPECT_SUCCESS(cudaEventSynchronize(untimed));
        QCOMPARE(cudaEventElapsedTime(&milliseconds, before, untimed),
                 cudaErrorInvalidResourceHandle);
        QCOMPARE(cudaEventElapsedTime(nullptr, before, after), cudaErrorInvalidValue);
        VERGENCE_EXPECT_SUCCESS(cudaEventDestroy(before));
        VERGENCE_EXPECT_SUCCESS(cudaEventDestroy(after));
    }
    void badArgumentsOfEventsAreRefused()
    {
        cudaEvent_t event = nullptr;
        QCOMPARE(cudaEventCreateWithFlags(&event, 64), cudaErrorInvalidValue);
        QCOMPARE(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue);
        QCOMPARE(cudaEventCreate(nullptr), cudaErrorInvalidValue);
        QCOMPARE(cudaEventDestroy(nullptr), cudaErrorInvalidResourceHandle);
        QCOMPARE(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
        const EventHandle fresh;
        VERGENCE_EXPECT_SUCCESS(cudaEventQuery(fresh));
        VERGENCE_EXPECT_SUCCESS(cudaEventSynchronize(fresh));
    }

    // --- devices -------------------------------------------------------------------------------

    void noDeviceIsAnError()
    {
        emulation::settings().devices = 0;
        int count = 7;
        QCOMPARE(cudaGetDeviceCount(&count), cudaErrorNoDevice);
        void* memory = nullptr;
        QCOMPARE(cudaMalloc(&memory, 1), cudaErrorNoDevice);
        VERGENCE_EXPECT_SUCCESS(cudaDriverGetVersion(&count));
        QCOMPARE(count, CUDART_VERSION);
    }
    void twoDevicesHaveTheirOwnMemory()
    {
        emulation::settings().devices = 2;
        emulation::settings().bytesPerDevice = 1 << 20;
        int count = 0;
        VERGENCE_EXPECT_SUCCESS(cudaGetDeviceCount(&count));
        QCOMPARE(count, 2);
        const DeviceBytes first(1 << 20, 1);
        VERGENCE_EXPECT_SUCCESS(cudaSetDevice(1));
        std::size_t free = 0, total = 0;
        VERGENCE_EXPECT_SUCCESS(cudaMemGetInfo(&free, &total));
        QCOMPARE(free, total);
        const DeviceBytes second(1 << 20, 2);
        QCOMPARE(emulation::arena().deviceOf(first.at()), 0);
        QCOMPARE(emulation::arena().deviceOf(second.at()), 1);
        VERGENCE_EXPECT_SUCCESS(
            cudaMemcpy(second.at(), first.at(), 1 << 20, cudaMemcpyDeviceToDevice));
        QCOMPARE(second.read(), filled(1 << 20, 1));
        cudaDeviceProp properties[2];
        for (int device = 0; device < 2; ++device)
            VERGENCE_EXPECT_SUCCESS(cudaGetDeviceProperties(&properties[device], device));
        QVERIFY(std::memcmp(&properties[0].uuid, &properties[1].uuid, 16) != 0);
        QCOMPARE(cudaSetDevice(2), cudaErrorInvalidDevice);
        QCOMPARE(cudaSetDevice(-1), cudaErrorInvalidDevice);
        QCOMPARE(cudaGetDeviceProperties(properties, 2), cudaErrorInvalidDevice);
        int current = -1;
        VERGENCE_EXPECT_SUCCESS(cudaGetDevice(&current));
        QCOMPARE(current, 1);
    }
    void currentDeviceIsOfTheThread()
    {
        emulation::settings().devices = 2;
        VERGENCE_EXPECT_SUCCESS(cudaSetDevice(1));
        int other = -1, mine = -1;
        std::thread([&] { cudaGetDevice(&other); }).join();
        VERGENCE_EXPECT_SUCCESS(cudaGetDevice(&mine));
        QCOMPARE(other, 0);
        QCOMPARE(mine, 1);
    }
    void lastErrorIsOfTheThread()
    {
        QCOMPARE(cudaSetDevice(99), cudaErrorInvalidDevice);
        cudaError_t other = cudaErrorUnknown;
        std::thread([&] { other = cudaGetLastError(); }).join();
        VERGENCE_EXPECT_SUCCESS(other);
        QCOMPARE(cudaPeekAtLastError(), cudaErrorInvalidDevice);
        QCOMPARE(cudaGetLastError(), cudaErrorInvalidDevice);
        VERGENCE_EXPECT_SUCCESS(cudaGetLastError());
    }
    void streamsBelongToTheirDevice()
    {
        emulation::settings().devices = 2;
        const StreamHandle first;
        const EventHandle event;
        VERGENCE_EXPECT_SUCCESS(cudaSetDevice(1));
        const StreamHandle second;
        const DeviceBytes block(1, 0);
        QCOMPARE(emulation::refusalOfLaunch(first, "launch"), int{cudaErrorInvalidResourceHandle});
        QCOMPARE(emulation::refusalOfLaunch(second, "launch"), 0);
        QCOMPARE(cudaEventRecord(event, second), cudaErrorInvalidResourceHandle);
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(event, first));
        VERGENCE_EXPECT_SUCCESS(cudaStreamWaitEvent(second, event, 0));
        VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(block.at(), 3, 1, first)); // CUDA lets copies pass
        QCOMPARE(block.read(), filled(1, 3));
    }
    void deviceSynchronizeIsForOneDevice()
    {
        emulation::settings().devices = 2;
        emulation::settings().seed = 1;
        const StreamHandle first;
        bool hasRun = false;
        emulation::issue(emulation::streamOf(first), [&] { hasRun = true; });
        VERGENCE_EXPECT_SUCCESS(cudaDeviceSynchronize());
        QVERIFY(hasRun);
    }
    void propertiesFollowTheCapability_data()
    {
        QTest::addColumn<int>("capability");
        QTest::addColumn<int>("shared");
        QTest::newRow("Turing") << 75 << 65536;
        QTest::newRow("Ampere") << 80 << 166912;
        QTest::newRow("Ada") << 89 << 101376;
        QTest::newRow("Hopper") << 90 << 232448;
        QTest::newRow("Blackwell") << 120 << 101376;
    }
    void propertiesFollowTheCapability()
    {
        QFETCH(int, capability);
        QFETCH(int, shared);
        emulation::settings().capability = capability;
        int value = 0;
        const auto attribute = [&](cudaDeviceAttr which) {
            return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? value : -1;
        };
        QCOMPARE(attribute(cudaDevAttrComputeCapabilityMajor), capability / 10);
        QCOMPARE(attribute(cudaDevAttrComputeCapabilityMinor), capability % 10);
        QCOMPARE(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), shared);
        QCOMPARE(attribute(cudaDevAttrMaxGridDimY), 65535);
        QCOMPARE(attribute(cudaDevAttrPageableMemoryAccess), 0);
        QCOMPARE(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(0), 0),
                 cudaErrorInvalidValue);
        QCOMPARE(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1), cudaErrorInvalidDevice);
    }

    // --- errors --------------------------------------------------------------------------------

    void failuresComeAtTheirCall()
    {
        emulation::settings().failure = "cudaMalloc:3:2";
        void* memory[4] = {};
        for (int i = 0; i < 4; ++i) {
            const cudaError_t error = cudaMalloc(&memory[i], 64);
            QCOMPARE(error, i == 2 ? cudaErrorMemoryAllocation : cudaSuccess);
        }
        for (void* block : memory)
            VERGENCE_EXPECT_SUCCESS(cudaFree(block));
        QCOMPARE(cudaGetLastError(), cudaErrorMemoryAllocation);
    }
    void otherLibrariesAskByTheirOwnNames()
    {
        emulation::settings().failure = "cublasLtMatmul:2:14";
        QVERIFY(!emulation::injectedFailure("cublasLtMatmul"));
        QVERIFY(!emulation::injectedFailure("cublasLtCreate"));
        QCOMPARE(emulation::injectedFailure("cublasLtMatmul"), 14);
        QVERIFY(!emulation::injectedFailure("cublasLtMatmul"));
    }
    void badSettingsOfFailuresAreFound_data()
    {
        QTest::addColumn<QString>("setting");
        for (const char* setting : {"cudaMalloc", "cudaMalloc:1", "cudaMalloc:x:2",
                                    "cudaMalloc:0:2", ":1:2", "cudaMalloc:1:2x", "cudaMalloc:-1:2"})
            QTest::newRow(setting) << setting;
    }
    void badSettingsOfFailuresAreFound()
    {
        QFETCH(QString, setting);
        emulation::settings().failure = setting.toStdString();
        const DeviceBytes block(64);
        QVERIFY(block.at());
        QVERIFY(tookFinding("setting"));
    }
    void faultsOfKernelsStay()
    {
        const DeviceBytes block(1, 0);
        const StreamHandle stream;
        emulation::issue(emulation::streamOf(stream),
                         [] { emulation::setStickyError(cudaErrorIllegalAddress); });
        VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(block.at(), 1, 1, stream));
        VERGENCE_EXPECT_SUCCESS(cudaGetLastError());
        QCOMPARE(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
        void* memory = nullptr;
        QCOMPARE(cudaMalloc(&memory, 1), cudaErrorIllegalAddress);
        QCOMPARE(cudaGetLastError(), cudaErrorIllegalAddress);
        QCOMPARE(cudaGetLastError(), cudaErrorIllegalAddress);
        QCOMPARE(emulation::refusalOf(stream, "launch"), int{cudaErrorIllegalAddress});
        emulation::setStickyError(0);
        QCOMPARE(block.read(), filled(1, 0)); // what came behind the fault was not done
    }
    void injectedFaultsStay()
    {
        emulation::settings().failure = "cudaStreamSynchronize:1:700";
        QCOMPARE(cudaStreamSynchronize(nullptr), cudaErrorIllegalAddress);
        QCOMPARE(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    }
    void errorsHaveNamesAndTexts()
    {
        QCOMPARE(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
        QCOMPARE(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
        QCOMPARE(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
    }
};

VERGENCE_TEST(TestEmulatedRuntime)
#include "tst_emulated_runtime.moc"
