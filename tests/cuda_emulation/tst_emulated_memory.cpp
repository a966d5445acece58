#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "tests/cuda_emulation/runtime_bench.h"
#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

struct ChildEnd {
    int code = 0;
    QByteArray errors;
};

/// Runs `body` in a process of its own, which shares nothing that is opened later.
ChildEnd inChild(const std::function<void()>& body)
{
    int ends[2];
    if (pipe(ends) != 0)
        qFatal("no pipe");
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(ends[1]);
    QFile file;
    ChildEnd end;
    if (file.open(ends[0], QIODevice::ReadOnly, QFileDevice::AutoCloseHandle))
        end.errors = file.readAll();
    int status = 0;
    waitpid(child, &status, 0);
    end.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return end;
}

} // namespace

/// Memory of the emulated device, pinned memory of the host, and copies.
class TestEmulatedMemory : public QObject {
    Q_OBJECT
private:
    RuntimeBench m_bench;

private Q_SLOTS:
    void init() { m_bench.begin(); }
    void cleanup() { QVERIFY2(m_bench.endsWell(), "findings that no test expected"); }

    // --- memory --------------------------------------------------------------------------------

    void memoryIsAlignedAndHoldsNoNumbers()
    {
        for (const std::size_t bytes : {1ul, 7ul, 256ul, 4096ul, 1000003ul}) {
            const DeviceBytes block(bytes);
            QVERIFY(block.at());
            QCOMPARE(reinterpret_cast<std::uintptr_t>(block.at()) % 256, 0ul);
            QCOMPARE(block.read(), filled(bytes, 0xff));
        }
    }
    void onlyAllocatedBytesAreUsable()
    {
        const emulation::Arena& arena = emulation::arena();
        std::size_t offset = 0;
        {
            const DeviceBytes block(19);
            offset = arena.offsetOf(block.at());
            QCOMPARE(int{arena.usable[offset / 8 - 1]}, 0);
            QCOMPARE(int{arena.usable[offset / 8]}, 8);
            QCOMPARE(int{arena.usable[offset / 8 + 1]}, 8);
            QCOMPARE(int{arena.usable[offset / 8 + 2]}, 3);
            QCOMPARE(int{arena.usable[offset / 8 + 3]}, 0);
        }
        QCOMPARE(int{arena.usable[offset / 8]}, 0);
    }
    void allocationsAreFoundByAddress()
    {
        const DeviceBytes block(100);
        QVERIFY(emulation::allocationAt(block.at(99)));
        QVERIFY(!emulation::allocationAt(block.at(100)));
        QCOMPARE(emulation::allocationBefore(block.at(100))->bytes, 100ul);
        QVERIFY(!emulation::allocationAt(&block));
    }
    void memoryEndsWhereTheSettingSays()
    {
        emulation::settings().bytesPerDevice = 1 << 20;
        std::size_t free = 0, total = 0;
        {
            const DeviceBytes most((1 << 20) - 1000);
            QVERIFY(most.at());
            VERGENCE_EXPECT_SUCCESS(cudaMemGetInfo(&free, &total));
            QCOMPARE(free, 1000ul);
            QCOMPARE(total, 1ul << 20);
            void* more = &free;
            QCOMPARE(cudaMalloc(&more, 1001), cudaErrorMemoryAllocation);
            QVERIFY(!more);
            QCOMPARE(cudaGetLastError(), cudaErrorMemoryAllocation);
            QCOMPARE(cudaMalloc(&more, ~std::size_t{0}), cudaErrorMemoryAllocation);
            VERGENCE_EXPECT_SUCCESS(cudaMalloc(&more, 1000));
            VERGENCE_EXPECT_SUCCESS(cudaFree(more));
        }
        VERGENCE_EXPECT_SUCCESS(cudaMemGetInfo(&free, &total));
        QCOMPARE(free, total);
    }
    void freedMemoryComesAgainInOtherSizes()
    {
        constexpr std::size_t kMiB = 1 << 20;
        for (std::size_t round = 0; round < 40; ++round) { // 320 MiB in all
            std::vector<std::unique_ptr<DeviceBytes>> blocks;
            for (int i = 0; i < 4; ++i) {
                blocks.push_back(std::make_unique<DeviceBytes>(2 * kMiB + 4096 * round));
                QVERIFY(blocks.back()->at());
                QVERIFY(emulation::arena().offsetOf(blocks.back()->at()) < 160 * kMiB);
            }
            std::swap(blocks[1], blocks[2]);
        }
    }
    void freedMemoryIsNotGivenAgainAtOnce()
    {
        void *first = nullptr, *second = nullptr;
        VERGENCE_EXPECT_SUCCESS(cudaMalloc(&first, 4096));
        VERGENCE_EXPECT_SUCCESS(cudaFree(first));
        VERGENCE_EXPECT_SUCCESS(cudaMalloc(&second, 4096));
        QVERIFY(first != second);
        Bytes host(16);
        QCOMPARE(cudaMemcpy(host.data(), first, 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
        QVERIFY(tookFinding("outside"));
        VERGENCE_EXPECT_SUCCESS(cudaFree(second));
    }
    void freeRefusesWhatIsNoAllocation()
    {
        const DeviceBytes block(100);
        int host = 0;
        VERGENCE_EXPECT_SUCCESS(cudaFree(nullptr));
        for (void* wrong : {static_cast<void*>(block.at(8)), static_cast<void*>(&host)}) {
            QCOMPARE(cudaFree(wrong), cudaErrorInvalidValue);
            QVERIFY(tookFinding("free"));
        }
    }
    void hostAccessEndsTheProcess_data()
    {
        QTest::addColumn<bool>("writes");
        QTest::newRow("reads") << false;
        QTest::newRow("writes") << true;
    }
    void hostAccessEndsTheProcess()
    {
        QFETCH(bool, writes);
        const DeviceBytes block(64, 1);
        const QTemporaryDir folder;
        const QString report = folder.filePath("report.txt");
        const ChildEnd end = inChild([&] {
            emulation::settings().reportFile = report.toStdString();
            volatile unsigned char* at = block.at(5);
            if (writes)
                *at = 1;
            else
                _exit(*at);
        });
        QCOMPARE(end.code, 86);
        QVERIFY(end.errors.startsWith("EMULATED host-access at "));
        QVERIFY(end.errors.contains("byte 5 of an allocation of 64"));
        QFile file(report);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().startsWith("EMULATED host-access at "));
    }
    void memoryIsOpenWhileAskedFor()
    {
        const DeviceBytes block(3 * 4096, 1), other(4096, 2);
        {
            const emulation::Open outer(block.at(), 1);
            {
                const emulation::Open inner(block.at(), block.bytes()), second(other.at(), 1);
                *block.at(2 * 4096) = *other.at();
            }
            *block.at() = 3; // still open when the inner one has ended
        }
        const emulation::Open all;
        const DeviceBytes later(64);
        *later.at() = *block.at();
        QCOMPARE(int{*later.at()}, 3);
        QCOMPARE(int{*block.at(2 * 4096)}, 2);
    }
    void memoryIsOpenToOneThread()
    {
        const DeviceBytes block(64, 1);
        const ChildEnd end = inChild([&] {
            const emulation::Open open;
            std::thread([&] { _exit(*block.at()); }).join();
        });
        QCOMPARE(end.code, 86);
        QVERIFY(end.errors.startsWith("EMULATED host-access at "));
    }
    void memoryIsClosedAgain()
    {
        const DeviceBytes near(64, 1), far(4 << 20, 1);
        const ChildEnd end = inChild([&] {
            const emulation::Open range(near.at(), 1);
            {
                const emulation::Open all;
                *near.at() = *far.at(4 << 19);
            }
            *near.at() = 2; // its own opening goes on
            _exit(*far.at(4 << 19));
        });
        QCOMPARE(end.code, 86);
        QVERIFY(end.errors.contains("byte 2097152 of an allocation of 4194304"));
    }
    void otherFaultsAreLeftAlone_data()
    {
        QTest::addColumn<bool>("isSent");
        QTest::newRow("access") << false;
        QTest::newRow("signal sent") << true;
    }
    void otherFaultsAreLeftAlone()
    {
        QFETCH(bool, isSent);
        const ChildEnd end = inChild([&] {
            emulation::arena();
            volatile int* nothing = nullptr;
            if (isSent)
                std::raise(SIGSEGV);
            else
                *nothing = 1;
        });
        QCOMPARE(end.code, -SIGSEGV);
        QVERIFY(!end.errors.contains("EMULATED"));
    }

    // --- copies --------------------------------------------------------------------------------

    void copiesBeyondABlockAreRefused_data()
    {
        QTest::addColumn<int>("from");
        QTest::addColumn<int>("bytes");
        QTest::newRow("one byte more") << 0 << 101;
        QTest::newRow("behind") << 100 << 1;
        QTest::newRow("before") << -1 << 1;
        QTest::newRow("far more") << 99 << (1 << 20);
    }
    void copiesBeyondABlockAreRefused()
    {
        QFETCH(int, from);
        QFETCH(int, bytes);
        const DeviceBytes block(100);
        Bytes host(static_cast<std::size_t>(bytes));
        const StreamHandle stream;
        unsigned char* const device = block.at() + from;
        QCOMPARE(cudaMemcpyAsync(device, host.data(), host.size(), cudaMemcpyDefault, stream),
                 cudaErrorInvalidValue);
        QVERIFY(tookFinding("outside"));
        QCOMPARE(cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost),
                 cudaErrorInvalidValue);
        QVERIFY(tookFinding("outside"));
        QCOMPARE(cudaMemsetAsync(device, 0, host.size(), stream), cudaErrorInvalidValue);
        QVERIFY(tookFinding("outside"));
        QCOMPARE(block.read(), filled(100, 0xff));
    }
    void wrongKindsOfCopiesAreRefused()
    {
        const DeviceBytes block(16);
        Bytes host(16);
        const std::pair<void*, void*> ends[] = {{block.at(), host.data()},
                                                {host.data(), block.at()}};
        const cudaMemcpyKind kinds[] = {cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice};
        for (int i = 0; i < 2; ++i) {
            for (const cudaMemcpyKind kind :
                 {kinds[i], cudaMemcpyHostToHost, cudaMemcpyDeviceToDevice}) {
                QCOMPARE(cudaMemcpy(ends[i].first, ends[i].second, 16, kind),
                         cudaErrorInvalidValue);
                QVERIFY(tookFinding("copy-kind"));
            }
            QCOMPARE(cudaMemcpy(ends[i].first, ends[i].second, 16, static_cast<cudaMemcpyKind>(9)),
                     cudaErrorInvalidMemcpyDirection);
        }
        QCOMPARE(cudaMemcpy(nullptr, host.data(), 16, cudaMemcpyDefault), cudaErrorInvalidValue);
        VERGENCE_EXPECT_SUCCESS(cudaMemcpy(nullptr, host.data(), 0, cudaMemcpyDefault));
        QCOMPARE(cudaMemset(host.data(), 0, 16), cudaErrorInvalidValue);
        QVERIFY(tookFinding("host-memory"));
        VERGENCE_EXPECT_SUCCESS(cudaMemcpy(block.at(8), block.at(4), 8, cudaMemcpyDeviceToDevice));
        QVERIFY(tookFinding("overlap"));
    }
    void pageableSourceIsTakenAtTheCall()
    {
        const DeviceBytes block(64, 0);
        const StreamHandle stream;
        Bytes host = filled(64, 1);
        VERGENCE_EXPECT_SUCCESS(
            cudaMemcpyAsync(block.at(), host.data(), 64, cudaMemcpyHostToDevice, stream));
        host = filled(64, 2);
        QCOMPARE(block.read(), filled(64, 1));
    }
    void pinnedSourceIsReadLate()
    {
        const DeviceBytes block(64, 0);
        const StreamHandle stream;
        Bytes host = filled(64, 1);
        VERGENCE_EXPECT_SUCCESS(cudaHostRegister(host.data(), 64, cudaHostRegisterPortable));
        VERGENCE_EXPECT_SUCCESS(
            cudaMemcpyAsync(block.at(), host.data(), 64, cudaMemcpyHostToDevice, stream));
        std::fill(host.begin(), host.end(), 2);
        QCOMPARE(block.read(), filled(64, 2));
        emulation::settings().seed = 0; // at once
        VERGENCE_EXPECT_SUCCESS(
            cudaMemcpyAsync(block.at(), host.data(), 64, cudaMemcpyHostToDevice, stream));
        std::fill(host.begin(), host.end(), 3);
        QCOMPARE(block.read(), filled(64, 2));
        VERGENCE_EXPECT_SUCCESS(cudaHostUnregister(host.data()));
    }
    void copyToPageableMemoryReturnsWhenDone()
    {
        const DeviceBytes block(64, 0);
        const StreamHandle stream;
        Bytes pageable(64), registered(64);
        void* pinned = nullptr;
        VERGENCE_EXPECT_SUCCESS(cudaMallocHost(&pinned, 64));
        VERGENCE_EXPECT_SUCCESS(cudaMemsetAsync(block.at(), 7, 64, stream));
        VERGENCE_EXPECT_SUCCESS(
            cudaMemcpyAsync(pageable.data(), block.at(), 64, cudaMemcpyDeviceToHost, stream));
        QCOMPARE(pageable, filled(64, 7));
        std::memset(pinned, 0, 64);
        VERGENCE_EXPECT_SUCCESS(
            cudaMemcpyAsync(pinned, block.at(), 64, cudaMemcpyDeviceToHost, stream));
        QCOMPARE(std::memcmp(pinned, registered.data(), 64), 0);
        VERGENCE_EXPECT_SUCCESS(cudaStreamSynchronize(stream));
        QCOMPARE(std::memcmp(pinned, pageable.data(), 64), 0);
        VERGENCE_EXPECT_SUCCESS(cudaFreeHost(pinned));
    }
    void pinnedRangesAreKnown()
    {
        Bytes host(4096);
        VERGENCE_EXPECT_SUCCESS(cudaHostRegister(host.data() + 100, 100, cudaHostRegisterDefault));
        QCOMPARE(cudaHostRegister(host.data() + 199, 10, cudaHostRegisterDefault),
                 cudaErrorHostMemoryAlreadyRegistered);
        QCOMPARE(cudaHostRegister(host.data() + 90, 11, cudaHostRegisterDefault),
                 cudaErrorHostMemoryAlreadyRegistered);
        QCOMPARE(cudaHostUnregister(host.data() + 101), cudaErrorHostMemoryNotRegistered);
        QCOMPARE(cudaFreeHost(host.data() + 100), cudaErrorInvalidValue);
        QCOMPARE(cudaHostRegister(nullptr, 10, 0), cudaErrorInvalidValue);
        const DeviceBytes block(256);
        QCOMPARE(cudaMemcpy(block.at(), host.data() + 150, 51, cudaMemcpyHostToDevice),
                 cudaErrorInvalidValue);
        QVERIFY(tookFinding("outside"));
        cudaPointerAttributes attributes{};
        VERGENCE_EXPECT_SUCCESS(cudaPointerGetAttributes(&attributes, host.data() + 199));
        QCOMPARE(attributes.type, cudaMemoryTypeHost);
        VERGENCE_EXPECT_SUCCESS(cudaPointerGetAttributes(&attributes, host.data() + 200));
        QCOMPARE(attributes.type, cudaMemoryTypeUnregistered);
        VERGENCE_EXPECT_SUCCESS(cudaPointerGetAttributes(&attributes, block.at(255)));
        QCOMPARE(attributes.type, cudaMemoryTypeDevice);
        QCOMPARE(attributes.device, 0);
        QCOMPARE(cudaPointerGetAttributes(&attributes, nullptr), cudaErrorInvalidValue);
        VERGENCE_EXPECT_SUCCESS(cudaHostUnregister(host.data() + 100));
    }
};

VERGENCE_TEST(TestEmulatedMemory)
#include "tst_emulated_memory.moc"
