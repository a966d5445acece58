#include <cstring>
#include <string>

#include <QCoreApplication>
#include <QProcess>
#include <QTest>

#include "tests/cuda_emulation/runtime_bench.h"
#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/runtime/events.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

constexpr std::size_t kBytes = 1000; ///< as in ipc_child.cpp
constexpr unsigned kShared = cudaEventInterprocess | cudaEventDisableTiming;

template <class Handle>
QString hexOf(const Handle& handle)
{
    return QString::fromLatin1(QByteArray(handle.reserved, sizeof(handle.reserved)).toHex());
}

template <class Handle>
Handle handleOf(const QByteArray& hex)
{
    Handle handle{};
    const QByteArray bytes = QByteArray::fromHex(hex);
    std::memcpy(handle.reserved, bytes.data(), qMin<qsizetype>(bytes.size(), sizeof(handle)));
    return handle;
}

/// The other process.
class Child {
public:
    explicit Child(const QStringList& arguments)
    {
        m_process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
        m_process.start(QCoreApplication::applicationDirPath() + "/emulated_ipc_child", arguments);
    }
    ~Child() { end(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    QByteArray answer()
    {
        while (!m_process.canReadLine()) {
            if (!m_process.waitForReadyRead(-1))
                return "no answer";
        }
        return m_process.readLine().trimmed();
    }
    QByteArray ask(const QByteArray& command)
    {
        m_process.write(command + "\n");
        return answer();
    }
    void end()
    {
        m_process.closeWriteChannel();
        m_process.waitForFinished(-1);
    }

private:
    QProcess m_process;
};

/// A child that has exported memory full of ones and an event.
struct Exporter {
    Child child{{"export"}};
    cudaIpcMemHandle_t memory{};
    cudaIpcEventHandle_t event{};

    Exporter()
    {
        const QList<QByteArray> handles = child.answer().split(' ');
        if (handles.size() != 2)
            return;
        memory = handleOf<cudaIpcMemHandle_t>(handles[0]);
        event = handleOf<cudaIpcEventHandle_t>(handles[1]);
    }
};

cudaError_t openMemory(void** memory, const cudaIpcMemHandle_t& handle)
{
    return cudaIpcOpenMemHandle(memory, handle, cudaIpcMemLazyEnablePeerAccess);
}

Bytes bytesOf(const void* memory)
{
    Bytes host(kBytes);
    cudaMemcpy(host.data(), memory, kBytes, cudaMemcpyDeviceToHost);
    return host;
}

} // namespace

/// Memory and events of one process in another.
class TestEmulatedIpc : public QObject {
    Q_OBJECT
private:
    RuntimeBench m_bench;

    struct Exported {
        DeviceBytes memory{kBytes, 3};
        EventHandle event{kShared};
        cudaIpcMemHandle_t memoryHandle{};
        cudaIpcEventHandle_t eventHandle{};

        Exported()
        {
            cudaIpcGetMemHandle(&memoryHandle, memory.at());
            cudaIpcGetEventHandle(&eventHandle, event);
        }
        QStringList arguments(const QString& command) const
        {
            return {command, hexOf(memoryHandle), hexOf(eventHandle)};
        }
    };

private Q_SLOTS:
    void init() { m_bench.begin(); }
    void cleanup() { QVERIFY2(m_bench.endsWell(), "findings that no test expected"); }

    void otherProcessReadsWhatWasWritten()
    {
        const Exported exported;
        const StreamHandle stream;
        VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(exported.memory.at(), 77, kBytes, stream));
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(exported.event, stream));
        QCOMPARE(Child(exported.arguments("read")).answer(), "byte 77 77");
    }
    void otherProcessWrites()
    {
        const Exported exported;
        Child child(exported.arguments("write"));
        QCOMPARE(child.answer(), "written");
        VERGENCE_EXPECT_SUCCESS(cudaEventSynchronize(exported.event));
        QCOMPARE(exported.memory.read(), filled(kBytes, 0x5a));
    }
    void openedMemoryIsTheSame()
    {
        Exporter exporter;
        void *memory = nullptr, *again = nullptr;
        VERGENCE_EXPECT_SUCCESS(openMemory(&memory, exporter.memory));
        VERGENCE_EXPECT_SUCCESS(openMemory(&again, exporter.memory));
        QCOMPARE(again, memory);
        QCOMPARE(bytesOf(memory), filled(kBytes, 1));
        QCOMPARE(exporter.child.ask("fill 9"), "done");
        QCOMPARE(bytesOf(memory), filled(kBytes, 9));
        QVERIFY(emulation::allocationAt(memory)->isImported);
        QCOMPARE(emulation::bytesInUse(0), 0ul); // it is the other's memory
        VERGENCE_EXPECT_SUCCESS(cudaIpcCloseMemHandle(memory));
        QCOMPARE(bytesOf(memory), filled(kBytes, 9)); // open once more
        VERGENCE_EXPECT_SUCCESS(cudaIpcCloseMemHandle(memory));
        QCOMPARE(cudaIpcCloseMemHandle(memory), cudaErrorInvalidValue);
        QVERIFY(!emulation::allocationAt(memory));
    }
    void openedMemoryHasItsLimits()
    {
        Exporter exporter;
        void* memory = nullptr;
        VERGENCE_EXPECT_SUCCESS(openMemory(&memory, exporter.memory));
        QCOMPARE(cudaMemset(memory, 0, kBytes + 1), cudaErrorInvalidValue);
        QVERIFY(tookFinding("outside"));
        QCOMPARE(cudaFree(memory), cudaErrorInvalidValue);
        QVERIFY(tookFinding("free"));
        cudaIpcMemHandle_t handle{};
        QCOMPARE(cudaIpcGetMemHandle(&handle, memory), cudaErrorInvalidValue);
        VERGENCE_EXPECT_SUCCESS(cudaIpcCloseMemHandle(memory));
    }
    void openedMemoryOutlivesTheOtherProcess()
    {
        void* memory = nullptr;
        Exporter exporter;
        VERGENCE_EXPECT_SUCCESS(openMemory(&memory, exporter.memory));
        exporter.child.end();
        QCOMPARE(bytesOf(memory), filled(kBytes, 1));
        VERGENCE_EXPECT_SUCCESS(cudaIpcCloseMemHandle(memory));
    }
    void whatIsGoneIsNotOpened_data()
    {
        QTest::addColumn<bool>("frees");
        QTest::newRow("the process") << false;
        QTest::newRow("the memory and the event") << true;
    }
    void whatIsGoneIsNotOpened()
    {
        QFETCH(bool, frees);
        Exporter exporter;
        if (frees)
            QCOMPARE(exporter.child.ask("free"), "done");
        else
            exporter.child.end();
        void* memory = nullptr;
        cudaEvent_t event = nullptr;
        QCOMPARE(openMemory(&memory, exporter.memory), cudaErrorMapBufferObjectFailed);
        QCOMPARE(cudaIpcOpenEventHandle(&event, exporter.event), cudaErrorMapBufferObjectFailed);
        QVERIFY(!memory && !event);
    }
    void ownHandlesAreRefused()
    {
        const Exported exported;
        void* memory = nullptr;
        cudaEvent_t event = nullptr;
        QCOMPARE(openMemory(&memory, exported.memoryHandle), cudaErrorDeviceUninitialized);
        QCOMPARE(cudaIpcOpenEventHandle(&event, exported.eventHandle),
                 cudaErrorDeviceUninitialized);
    }
    void handlesAreOfTheAllocation()
    {
        cudaIpcMemHandle_t first{}, inner{}, next{};
        {
            const DeviceBytes block(kBytes);
            VERGENCE_EXPECT_SUCCESS(cudaIpcGetMemHandle(&first, block.at()));
            VERGENCE_EXPECT_SUCCESS(cudaIpcGetMemHandle(&inner, block.at(5)));
            QCOMPARE(std::memcmp(&first, &inner, sizeof(first)), 0);
        }
        const DeviceBytes block(kBytes);
        VERGENCE_EXPECT_SUCCESS(cudaIpcGetMemHandle(&next, block.at()));
        QVERIFY(std::memcmp(&first, &next, sizeof(first)) != 0);
    }
    void recordFinishesTheStream()
    {
        const Exported exported;
        const StreamHandle stream;
        bool hasRun = false;
        emulation::issue(emulation::streamOf(stream), [&] { hasRun = true; });
        QVERIFY(!hasRun);
        VERGENCE_EXPECT_SUCCESS(cudaEventRecord(exported.event, stream));
        QVERIFY(hasRun);
        VERGENCE_EXPECT_SUCCESS(cudaEventQuery(exported.event));
    }
    void otherProcessSeesUnfinishedRecords()
    {
        const Exported exported;
        const QStringList query{"query", hexOf(exported.eventHandle)};
        QCOMPARE(Child(query).answer(), "0");
        const auto counter = emulation::events().find(exported.event, "test")->counter;
        counter->begin();
        QCOMPARE(Child(query).answer(), QByteArray::number(cudaErrorNotReady));
        QCOMPARE(cudaEventQuery(exported.event), cudaErrorNotReady);
        counter->end();
        QCOMPARE(Child(query).answer(), "0");
    }
    void nobodyWaitsForTheDead()
    {
        Exporter exporter;
        cudaEvent_t event = nullptr;
        VERGENCE_EXPECT_SUCCESS(cudaIpcOpenEventHandle(&event, exporter.event));
        VERGENCE_EXPECT_SUCCESS(cudaEventSynchronize(event));
        QCOMPARE(exporter.child.ask("begin"), "done");
        QCOMPARE(cudaEventQuery(event), cudaErrorNotReady);
        const StreamHandle stream;
        VERGENCE_EXPECT_SUCCESS(cudaStreamWaitEvent(stream, event, 0));
        exporter.child.end();
        VERGENCE_EXPECT_SUCCESS(cudaEventSynchronize(event));
        VERGENCE_EXPECT_SUCCESS(cudaStreamSynchronize(stream));
        VERGENCE_EXPECT_SUCCESS(cudaEventDestroy(event));
    }
    void badArgumentsAreRefused()
    {
        const Exported exported;
        const EventHandle ordinary;
        void* memory = nullptr;
        cudaEvent_t event = nullptr;
        cudaIpcMemHandle_t memoryHandle{};
        cudaIpcEventHandle_t eventHandle{};
        int host = 0;
        QCOMPARE(openMemory(&memory, memoryHandle), cudaErrorInvalidValue);
        QCOMPARE(openMemory(nullptr, exported.memoryHandle), cudaErrorInvalidValue);
        QCOMPARE(cudaIpcOpenMemHandle(&memory, exported.memoryHandle, 0), cudaErrorInvalidValue);
        QCOMPARE(cudaIpcOpenEventHandle(&event, eventHandle), cudaErrorInvalidValue);
        QCOMPARE(cudaIpcGetMemHandle(&memoryHandle, &host), cudaErrorInvalidValue);
        QCOMPARE(cudaIpcGetMemHandle(nullptr, exported.memory.at()), cudaErrorInvalidValue);
        QCOMPARE(cudaIpcGetEventHandle(&eventHandle, ordinary), cudaErrorInvalidResourceHandle);
        QCOMPARE(cudaIpcCloseMemHandle(exported.memory.at()), cudaErrorInvalidValue);
    }
};

VERGENCE_TEST(TestEmulatedIpc)
#include "tst_emulated_ipc.moc"
