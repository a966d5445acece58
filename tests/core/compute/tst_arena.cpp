#include <QTest>

#include "core/compute/arena.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

class TestArena : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tensorsAreAlignedAndApart_data() { addDeviceRows(); }
    void tensorsAreAlignedAndApart();
    void addressesRepeatAfterReset_data() { addDeviceRows(); }
    void addressesRepeatAfterReset();
    void chunksBecomeOneAndStay_data() { addDeviceRows(); }
    void chunksBecomeOneAndStay();
    void rewindGivesBackWhatWasTakenSince();
    void rewindReachesBackOverChunks();
    void tensorsOutliveTheArenaTheyCameFrom();
    void emptyTensorsTakeNothing();
    void deviceIsNeeded();
};

void TestArena::tensorsAreAlignedAndApart()
{
    VERGENCE_ROW_DEVICE(device);
    Arena arena(device);
    std::uintptr_t end = 0;
    for (const Index size : {Index{1}, Index{31}, Index{64}, Index{65}, Index{1000}}) {
        const Tensor tensor = arena.take({size}, DType::F32);
        const auto begin = reinterpret_cast<std::uintptr_t>(tensor.data());
        QCOMPARE(begin % 256, std::uintptr_t{0});
        QVERIFY(begin >= end);
        end = begin + tensor.bytes();
    }
}

void TestArena::addressesRepeatAfterReset()
{
    VERGENCE_ROW_DEVICE(device);
    Arena arena(device);
    const auto addresses = [&arena] {
        std::vector<void*> taken;
        for (const Index size : {Index{10}, Index{300000}, Index{7}, Index{900000}})
            taken.push_back(arena.take({size}).data());
        return taken;
    };
    addresses();
    arena.reset();
    const auto second = addresses();
    arena.reset();
    QVERIFY(addresses() == second);
}

void TestArena::chunksBecomeOneAndStay()
{
    VERGENCE_ROW_DEVICE(device);
    Arena arena(device);
    for (int i = 0; i < 20; ++i)
        arena.take({1 << 18});
    QVERIFY(arena.allocations() > 1);
    const std::size_t peak = arena.peakBytes();
    QCOMPARE(peak, std::size_t{20} << 20);
    arena.reset();
    const auto allocations = arena.allocations();
    const auto used = device->memory().usedByUs;
    for (int step = 0; step < 3; ++step) {
        for (int i = 0; i < 20; ++i)
            arena.take({1 << 18});
        arena.reset();
    }
    QCOMPARE(arena.allocations(), allocations);
    QCOMPARE(device->memory().usedByUs, used);
    QCOMPARE(arena.peakBytes(), peak);
}

void TestArena::rewindGivesBackWhatWasTakenSince()
{
    Arena arena(devices().devices.front());
    arena.take({100});
    const auto mark = arena.mark();
    void* const first = arena.take({200}).data();
    arena.take({300});
    arena.rewind(mark);
    QCOMPARE(arena.take({200}).data(), first);
}

void TestArena::rewindReachesBackOverChunks()
{
    Arena arena(devices().devices.front());
    const auto empty = arena.mark();
    arena.take({100});
    const auto mark = arena.mark();
    const std::size_t used = arena.usedBytes();
    for (int i = 0; i < 10; ++i)
        arena.take({1 << 18});
    const auto chunks = arena.allocations();
    QVERIFY(chunks > 1);
    arena.rewind(mark);
    QCOMPARE(arena.usedBytes(), used);
    for (int i = 0; i < 10; ++i)
        arena.take({1 << 18});
    QCOMPARE(arena.allocations(), chunks);
    arena.rewind(empty);
    QCOMPARE(arena.usedBytes(), std::size_t{0});
}

void TestArena::tensorsOutliveTheArenaTheyCameFrom()
{
    const auto device = devices().devices.front();
    const auto stream = device->createStream();
    Tensor tensor;
    {
        Arena arena(device);
        tensor = arena.take({3});
        const float values[] = {1, 2, 3};
        stream->copy(tensor.data(), values, sizeof(values));
    }
    QCOMPARE(tensor.toHost<float>(*stream), (std::vector<float>{1, 2, 3}));
}

void TestArena::emptyTensorsTakeNothing()
{
    Arena arena(devices().devices.front());
    const Tensor tensor = arena.take({4, 0, 2});
    QVERIFY(tensor.isEmpty());
    QCOMPARE(tensor.shape(), (Shape{4, 0, 2}));
    QCOMPARE(arena.usedBytes(), std::size_t{0});
    arena.reset();
    arena.rewind(arena.mark());
}

void TestArena::deviceIsNeeded()
{
    VERGENCE_THROWS(ContractError, "no device", Arena(nullptr));
}

VERGENCE_TEST(TestArena)
#include "tst_arena.moc"
