#include <set>
#include <thread>

#include <QTest>

#include "core/base/error.h"
#include "cuda/backend/memory_pool.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;

namespace {

/// Memory of a card with little of it; hands out numbers.
class FakeBlocks final : public BlockSource {
public:
    struct State {
        std::size_t capacity = 1 << 20, taken = 0;
        std::map<void*, std::size_t> blocks;
        std::size_t takes = 0, givenBack = 0, settled = 0;
        bool isBroken = false;
    };
    explicit FakeBlocks(State& state) : m_state(state) {}

    void* take(std::size_t bytes) override
    {
        ++m_state.takes;
        if (m_state.isBroken)
            throw DeviceError("an earlier kernel failed");
        if (m_state.taken + bytes > m_state.capacity)
            return nullptr;
        m_state.taken += bytes;
        void* block = reinterpret_cast<void*>(256 * m_state.takes);
        m_state.blocks[block] = bytes;
        return block;
    }
    void giveBack(void* block) noexcept override
    {
        ++m_state.givenBack;
        m_state.taken -= m_state.blocks.at(block);
        m_state.blocks.erase(block);
    }
    void settle() override { ++m_state.settled; }
    std::string room() const override { return "none is free"; }

private:
    State& m_state;
};

struct Bench {
    FakeBlocks::State state;
    MemoryPool pool{std::make_unique<FakeBlocks>(state)};
};

} // namespace

/// The pool of the CUDA device over a source that needs no GPU.
class TestMemoryPool : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void sizeClassesWasteAtMostAnEighth_data()
    {
        QTest::addColumn<quint64>("bytes");
        for (const quint64 bytes :
             {0ull, 1ull, 255ull, 256ull, 257ull, 4095ull, 4096ull, 4097ull, 1000003ull,
              (1ull << 31) - 1, 1ull << 31, (1ull << 31) + 1, (1ull << 40) + 12345, ~0ull})
            QTest::addRow("%llu", bytes) << bytes;
    }
    void sizeClassesWasteAtMostAnEighth()
    {
        QFETCH(quint64, bytes);
        const std::size_t size = MemoryPool::sizeClass(bytes);
        QVERIFY(size >= bytes);
        if (bytes < (1ull << 60)) {
            QCOMPARE(size % 256, std::size_t{0});
            QCOMPARE(MemoryPool::sizeClass(size), size);
            QVERIFY(size <= std::max<quint64>(256, bytes + bytes / 8 + 256));
        }
    }

    void returnedBlocksAreHandedOutAgain()
    {
        Bench bench;
        void* first = bench.pool.allocate(1000);
        QCOMPARE(bench.pool.used(), std::size_t{1024});
        bench.pool.deallocate(first, 1000);
        QCOMPARE(bench.pool.allocate(1020), first);
        QVERIFY(bench.pool.allocate(1000) != first);
        QCOMPARE(bench.state.takes, std::size_t{2});
        QCOMPARE(bench.pool.peak(), std::size_t{2048});
    }

    void nothingIsARequestToo()
    {
        Bench bench;
        void* first = bench.pool.allocate(0);
        QVERIFY(first != nullptr);
        QVERIFY(bench.pool.allocate(0) != first);
    }

    void keptBlocksMakeRoomForOtherSizes()
    {
        Bench bench;
        for (const std::size_t bytes : {600 << 10, 700 << 10, 800 << 10})
            bench.pool.deallocate(bench.pool.allocate(bytes), bytes);
        QCOMPARE(bench.state.givenBack, std::size_t{2});
        QCOMPARE(bench.pool.used(), std::size_t{0});
    }

    void exhaustionIsOutOfMemory_data()
    {
        QTest::addColumn<quint64>("bytes");
        QTest::newRow("twice the card") << (2ull << 20);
        QTest::newRow("more than exists") << (~0ull - 5);
    }
    void exhaustionIsOutOfMemory()
    {
        QFETCH(quint64, bytes);
        Bench bench;
        try {
            bench.pool.allocate(bytes);
            QFAIL("must throw");
        } catch (const DeviceError& error) {
            QCOMPARE(error.exitCode(), ExitCode::OutOfMemory);
            QVERIFY(QString(error.what()).contains("none is free"));
        }
        QCOMPARE(bench.pool.used(), std::size_t{0});
        QVERIFY(bench.pool.allocate(1000) != nullptr);
    }

    void otherFaultsKeepTheirName()
    {
        Bench bench;
        bench.state.isBroken = true;
        VERGENCE_THROWS(DeviceError, "an earlier kernel failed", bench.pool.allocate(1000));
        QCOMPARE(bench.pool.used(), std::size_t{0});
    }

    void blocksOfAGraphStayItsOwn()
    {
        Bench bench;
        void* before = bench.pool.allocate(1000);
        const auto recorder = bench.pool.beginRecording();
        void* temporary = bench.pool.allocate(1000);
        bench.pool.deallocate(temporary, 1000);
        QCOMPARE(bench.pool.allocate(1000), temporary); // within the recording addresses repeat
        bench.pool.deallocate(temporary, 1000);
        bench.pool.deallocate(before, 1000); // the graph may have read it
        auto reserved = bench.pool.endRecording(recorder);
        const std::set<void*> graph{before, temporary};
        for (int i = 0; i < 4; ++i)
            QVERIFY(!graph.contains(bench.pool.allocate(1000)));
        reserved.reset();
        QVERIFY(graph.contains(bench.pool.allocate(1000)));
        QVERIFY(graph.contains(bench.pool.allocate(1000)));
    }

    void recordingBeginsWithWhatIsKept()
    {
        Bench bench;
        void* kept = bench.pool.allocate(1000);
        bench.pool.deallocate(kept, 1000);
        const auto recorder = bench.pool.beginRecording();
        QCOMPARE(bench.pool.allocate(1000), kept);
        QCOMPARE(bench.state.takes, std::size_t{1});
        bench.pool.deallocate(kept, 1000);
        bench.pool.endRecording(recorder); // an abandoned recording keeps nothing
        QCOMPARE(bench.pool.allocate(1000), kept);
    }

    void otherThreadsAreNotRecorded()
    {
        Bench bench;
        const auto recorder = bench.pool.beginRecording();
        void* block = nullptr;
        std::thread([&] {
            block = bench.pool.allocate(1000);
            bench.pool.deallocate(block, 1000);
        }).join();
        const auto reserved = bench.pool.endRecording(recorder);
        QVERIFY(bench.pool.allocate(1000) != block); // work of that thread may still use it
        VERGENCE_THROWS(ContractError, "this thread records another launch graph",
                        (bench.pool.beginRecording(), bench.pool.beginRecording()));
    }

    void recordingsOfTwoThreadsStayApart()
    {
        Bench bench;
        const auto mine = bench.pool.beginRecording();
        void* own = bench.pool.allocate(1000);
        bench.pool.deallocate(own, 1000);
        void* other = nullptr;
        std::unique_ptr<MemoryPool::Reserved> theirs;
        std::thread([&] {
            const auto recorder = bench.pool.beginRecording();
            other = bench.pool.allocate(1000);
            bench.pool.deallocate(other, 1000);
            theirs = bench.pool.endRecording(recorder);
        }).join();
        QVERIFY(other != own);
        QCOMPARE(bench.pool.allocate(1000), own); // still recording
        bench.pool.deallocate(own, 1000);
        const auto reserved = bench.pool.endRecording(mine);
        QVERIFY(bench.pool.allocate(1000) != own);
    }

    void blocksOfOtherThreadsAreTakenLastAndAfterTheirWork()
    {
        Bench bench;
        constexpr std::size_t kBytes = 400 << 10;
        void* block = bench.pool.allocate(kBytes);
        bench.pool.deallocate(block, kBytes);
        void *fresh = nullptr, *again = nullptr;
        std::thread([&] {
            fresh = bench.pool.allocate(kBytes);
            QCOMPARE(bench.state.settled, std::size_t{0});
            again = bench.pool.allocate(kBytes); // there is no room for a third
        }).join();
        QVERIFY(fresh != block);
        QCOMPARE(again, block);
        QCOMPARE(bench.state.settled, std::size_t{1});
        QCOMPARE(bench.state.givenBack, std::size_t{0});
    }

    /// As live rebuilds do: one thread makes a network, the one that draws returns it.
    void blocksThatAnotherThreadReturnsDoNotPileUp()
    {
        Bench bench;
        bench.state.capacity = std::size_t{1} << 40;
        constexpr std::size_t kBytes = 40 << 20, kBlocks = 4;
        std::map<void*, std::size_t> settledBefore; // when a block was returned
        for (int round = 0; round < 50; ++round) {
            std::vector<void*> network;
            for (std::size_t i = 0; i < kBlocks; ++i) {
                network.push_back(bench.pool.allocate(kBytes));
                if (const auto returned = settledBefore.find(network.back());
                    returned != settledBefore.end())
                    QVERIFY(bench.state.settled > returned->second); // its work is done
            }
            std::thread([&] {
                for (void* block : network) {
                    bench.pool.deallocate(block, kBytes);
                    settledBefore[block] = bench.state.settled;
                }
            }).join();
        }
        QVERIFY2(bench.state.taken <= 2 * kBlocks * kBytes + MemoryPool::kMostKeptApart,
                 qPrintable(QString("%1 MiB taken").arg(bench.state.taken >> 20)));
        QVERIFY(bench.state.settled < 50); // not for each network, let alone block
    }

    void whatWasSettledIsEverybodys()
    {
        Bench bench;
        bench.state.capacity = std::size_t{1} << 40;
        constexpr std::size_t kBytes = MemoryPool::kMostKeptApart / 2 + 1;
        void *first = bench.pool.allocate(kBytes), *second = bench.pool.allocate(kBytes);
        bench.pool.deallocate(first, kBytes);
        bench.pool.deallocate(second, kBytes);
        std::thread([&] { bench.pool.allocate(kBytes); }).join();
        std::thread([&] { bench.pool.allocate(kBytes); }).join();
        QCOMPARE(bench.state.takes, std::size_t{2});
        QCOMPARE(bench.state.settled, std::size_t{1});
    }

    void nothingIsWaitedForWhileRecording()
    {
        Bench bench;
        bench.state.capacity = std::size_t{1} << 40;
        constexpr std::size_t kBytes = MemoryPool::kMostKeptApart + 1;
        void* block = bench.pool.allocate(kBytes);
        bench.pool.deallocate(block, kBytes);
        const auto recorder = bench.pool.beginRecording();
        std::thread([&] { QVERIFY(bench.pool.allocate(kBytes) != block); }).join();
        bench.pool.endRecording(recorder);
        QCOMPARE(bench.state.settled, std::size_t{0});
    }

    /// Numbers of threads are used again, their streams are not.
    void aThreadInheritsNothing()
    {
        Bench bench;
        void *block = nullptr, *next = nullptr;
        std::thread([&] {
            block = bench.pool.allocate(1000);
            bench.pool.deallocate(block, 1000);
        }).join();
        std::thread([&] { next = bench.pool.allocate(1000); }).join();
        QVERIFY(next != block);
    }

    void nothingIsGivenBackWhileRecording()
    {
        Bench bench;
        void* large = bench.pool.allocate(900 << 10);
        bench.pool.deallocate(large, 900 << 10);
        const auto recorder = bench.pool.beginRecording();
        VERGENCE_THROWS(DeviceError, "out of memory", bench.pool.allocate(500 << 10));
        QCOMPARE(bench.state.givenBack, std::size_t{0});
        bench.pool.endRecording(recorder);
        QVERIFY(bench.pool.allocate(500 << 10) != nullptr);
    }

    void everythingIsGivenBackAtTheEnd()
    {
        FakeBlocks::State state;
        {
            MemoryPool pool(std::make_unique<FakeBlocks>(state));
            for (const std::size_t bytes : {10, 1000, 100'000})
                pool.deallocate(pool.allocate(bytes), bytes);
            pool.beginRecording();
            pool.deallocate(pool.allocate(1000), 1000);
        }
        QVERIFY(state.blocks.empty());
    }
};

VERGENCE_TEST(TestMemoryPool)
#include "tst_memory_pool.moc"
