#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <QTest>

#include "core/compute/device.h"
#include "core/compute/huge_page_heap.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

constexpr std::size_t kSmall = 16 << 10, kLarge = kHugePage - 1;

struct Block {
    std::byte* place;
    std::size_t bytes;
    std::byte mark;
};

/// Takes and gives back blocks in random order; false where two of them shared a byte.
bool churn(HugePageHeap& heap, unsigned seed, int rounds)
{
    std::mt19937 random(seed);
    std::vector<Block> held;
    bool isSound = true;
    const auto giveBack = [&](std::size_t at) {
        const Block block = held[at];
        isSound = isSound && std::all_of(block.place, block.place + block.bytes,
                                         [&](std::byte b) { return b == block.mark; });
        heap.deallocate(block.place, block.bytes);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    };
    for (int round = 0; round < rounds; ++round) {
        if (held.size() > 30 || (!held.empty() && random() % 3 == 0)) {
            giveBack(random() % held.size());
            continue;
        }
        const std::size_t bytes = kSmall + random() % (kLarge - kSmall);
        auto* place = static_cast<std::byte*>(heap.allocate(bytes));
        isSound = isSound && place != nullptr && reinterpret_cast<std::uintptr_t>(place) % 256 == 0;
        const auto mark = static_cast<std::byte>(random() % 256);
        std::memset(place, std::to_integer<int>(mark), bytes);
        held.push_back({place, bytes, mark});
    }
    while (!held.empty())
        giveBack(held.size() - 1);
    return isSound;
}

} // namespace

class TestHugePageHeap : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void blocksShareNothing()
    {
        HugePageHeap heap;
        for (unsigned seed = 1; seed <= 4; ++seed)
            QVERIFY(churn(heap, seed, 400));
        QCOMPARE(heap.chunks(), std::size_t{1}); // everything has joined again
    }
    void threadsMayShareIt()
    {
        HugePageHeap heap;
        std::vector<char> sound(4);
        {
            std::vector<std::jthread> threads;
            for (unsigned i = 0; i < sound.size(); ++i)
                threads.emplace_back([&, i] { sound[i] = churn(heap, 10 + i, 200); });
        }
        QVERIFY(std::ranges::all_of(sound, [](char one) { return one != 0; }));
        QCOMPARE(heap.chunks(), std::size_t{1});
    }
    void whatIsFreeIsTakenAgain()
    {
        HugePageHeap heap;
        QVERIFY(!HugePageHeap::serves(kSmall - 1) && HugePageHeap::serves(kSmall));
        QVERIFY(HugePageHeap::serves(kLarge) && !HugePageHeap::serves(kHugePage));
        void* first = heap.allocate(kSmall);
        void* second = heap.allocate(kSmall);
        void* third = heap.allocate(kSmall);
        heap.deallocate(second, kSmall);
        QCOMPARE(heap.allocate(kSmall), second); // the best fit
        heap.deallocate(first, kSmall);
        heap.deallocate(second, kSmall);
        QCOMPARE(heap.allocate(2 * kSmall), first); // both together
        heap.deallocate(first, 2 * kSmall);
        heap.deallocate(third, kSmall);
        QCOMPARE(heap.allocate(kLarge), first);
        heap.deallocate(first, kLarge);
    }
    void chunksComeAndGo()
    {
        HugePageHeap heap;
        std::vector<void*> blocks;
        while (heap.chunks() < 3)
            blocks.push_back(heap.allocate(kLarge));
        for (void* block : blocks)
            heap.deallocate(block, kLarge);
        QCOMPARE(heap.chunks(), std::size_t{1}); // a spare one stays
    }
    void knowsItsOwn()
    {
        HugePageHeap heap;
        auto* block = static_cast<std::byte*>(heap.allocate(kSmall));
        const std::byte other{};
        QVERIFY(heap.contains(block) && heap.contains(block + kSmall - 1));
        QVERIFY(!heap.contains(&other));
        heap.deallocate(block, kSmall);
    }
    void onlyLastingBlocksShareHugePages()
    {
        QVERIFY(!LastingBlocks::areTaken());
        {
            const LastingBlocks lasting, within;
            QVERIFY(LastingBlocks::areTaken());
            std::jthread([] { QVERIFY(!LastingBlocks::areTaken()); });
        }
        QVERIFY(!LastingBlocks::areTaken());
        // What was taken as lasting goes back where it came from, whenever that is.
        const auto device = makeCpuDevice(1);
        void* lastingBlock = nullptr;
        {
            const LastingBlocks lasting;
            lastingBlock = device->allocate(kSmall);
        }
        void* other = device->allocate(kSmall);
        device->deallocate(lastingBlock, kSmall);
        {
            const LastingBlocks lasting;
            device->deallocate(other, kSmall);
        }
    }
    void theDeviceCountsWhatIsAsked()
    {
        const auto device = makeCpuDevice(1);
        const std::size_t before = device->memory().usedByUs;
        for (const std::size_t bytes : {std::size_t{1}, kSmall, kLarge, kHugePage, 3 * kHugePage}) {
            void* block = device->allocate(bytes);
            std::memset(block, 1, bytes);
            QCOMPARE(device->memory().usedByUs, before + bytes);
            device->deallocate(block, bytes);
        }
        QCOMPARE(device->memory().usedByUs, before);
    }
};

VERGENCE_TEST(TestHugePageHeap)
#include "tst_huge_page_heap.moc"
