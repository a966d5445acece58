#include <algorithm>

#include <QTest>

#include "core/compute/graph/parameter.h"
#include "core/compute/half.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

class TestParameterSet : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void groupsAreNeighboursAndFrozenOnesComeLast();
    void everyParameterStartsAligned();
    void windowsStandForRows();
    void fileEntriesNameWindowsInsteadOfWholes();
    void startValuesFollowTheirDeclaration();
    void shadowsAreRoundedValues();
    void frozenSetsMayHaveSixteenBitMasters();
    void declarationsThatContradictAreNamed();
};

namespace {
const std::shared_ptr<Device>& cpu()
{
    return devices().devices.front();
}
} // namespace

void TestParameterSet::groupsAreNeighboursAndFrozenOnesComeLast()
{
    const auto stream = cpu()->createStream();
    ParameterSet set(cpu());
    const int frozen = set.addGroup({"backbone", 0, true});
    const int head = set.addGroup({"head", 0.01, false});
    const int tokens = set.addGroup({"tokens", 0, false});
    set.add("a", {10}, frozen);
    set.add("b", {70}, head);
    set.add("c", {3}, tokens);
    set.add("d", {64}, head);
    set.allocate(*stream);
    QCOMPARE(set.range(head), (std::pair<Index, Index>{0, 192}));
    QCOMPARE(set.range(tokens), (std::pair<Index, Index>{192, 256}));
    QCOMPARE(set.range(frozen), (std::pair<Index, Index>{256, 320}));
    QCOMPARE(set.trained(), Index{256});
    QCOMPARE(set.values().size(), Index{320});
    QCOMPARE(set.gradients().size(), Index{256});
    QVERIFY(set[0].gradient.isEmpty());
    QCOMPARE(set[3].gradient.data(),
             static_cast<void*>(static_cast<float*>(set.gradients().data()) + 128));
}

void TestParameterSet::everyParameterStartsAligned()
{
    const auto stream = cpu()->createStream();
    ParameterSet set(cpu());
    for (const Index size : {Index{1}, Index{63}, Index{64}, Index{65}})
        set.add(std::to_string(size), {size});
    set.allocate(*stream);
    for (int i = 0; i < set.count(); ++i)
        QCOMPARE(reinterpret_cast<std::uintptr_t>(set[i].value.data()) % 256, std::uintptr_t{0});
}

void TestParameterSet::windowsStandForRows()
{
    const auto stream = cpu()->createStream();
    ParameterSet set(cpu());
    const int qkv = set.add("qkv", {6, 4});
    set.addWindow("key", qkv, 2, 2);
    set.allocate(*stream);
    const Tensor key = set.named("key");
    QCOMPARE(key.shape(), (Shape{2, 4}));
    QCOMPARE(key.data(), static_cast<void*>(static_cast<float*>(set[qkv].value.data()) + 8));
    QVERIFY(set.named("nothing").isEmpty());
    QCOMPARE(set.find("qkv"), qkv);
    QCOMPARE(set.find("key"), -1);
}

void TestParameterSet::fileEntriesNameWindowsInsteadOfWholes()
{
    ParameterSet set(cpu());
    set.add("first", {3});
    const int qkv = set.add("joined", {6, 4});
    set.addWindow("query", qkv, 0, 3);
    set.addWindow("key", qkv, 3, 3);
    std::vector<std::string> names;
    for (const auto& [name, window] : set.fileEntries())
        names.push_back(name);
    QCOMPARE(names, (std::vector<std::string>{"first", "key", "query"}));
}

void TestParameterSet::startValuesFollowTheirDeclaration()
{
    const auto stream = cpu()->createStream();
    ParameterSet set(cpu());
    const int one = set.add("norm", {5}, 0, {1, 0});
    const int normal = set.add("matrix", {100, 100}, 0, {0, 0.02});
    const int uniform = set.add("connector", {100, 100}, 0, {0, 0.1, true});
    set.allocate(*stream);
    set.initialise(*stream, 9);
    QCOMPARE(set[one].value.toHost<float>(*stream), std::vector<float>(5, 1.0f));
    const auto statistics = [&](int index) {
        double sum = 0, squares = 0, largest = 0;
        for (const float value : set[index].value.toHost<float>(*stream)) {
            sum += value;
            squares += static_cast<double>(value) * value;
            largest = std::max(largest, std::abs(static_cast<double>(value)));
        }
        return std::array{sum / 1e4, std::sqrt(squares / 1e4), largest};
    };
    QVERIFY(std::abs(statistics(normal)[0]) < 1e-3);
    QVERIFY(std::abs(statistics(normal)[1] - 0.02) < 1e-3);
    QVERIFY(statistics(uniform)[2] <= 0.1);
    QVERIFY(std::abs(statistics(uniform)[1] - 0.1 / std::sqrt(3.0)) < 2e-3);
    const auto first = set.values().toHost<float>(*stream);
    set.initialise(*stream, 9);
    QVERIFY(set.values().toHost<float>(*stream) == first);
    set.initialise(*stream, 10);
    QVERIFY(set.values().toHost<float>(*stream) != first);
    int questions = 0;
    set.initialise(*stream, 9, [&] { return ++questions == 3; }); // before the last of them
    const auto stopped = [&](int index) { return set[index].value.toHost<float>(*stream); };
    QCOMPARE(questions, 3);
    QVERIFY(std::ranges::equal(stopped(normal), std::span(first).subspan(64, 10'000)));
    QVERIFY(stopped(uniform)[7] != first[64 + 10'048 + 7]);
}

void TestParameterSet::shadowsAreRoundedValues()
{
    const auto stream = cpu()->createStream();
    ParameterSet set(cpu(), DType::F32, DType::BF16);
    const int index = set.add("w", {33}, 0, {0, 1});
    set.allocate(*stream);
    set.initialise(*stream, 1);
    const auto values = set[index].value.toHost<float>(*stream);
    const auto shadows = set[index].computed().toHost<BFloat16>(*stream);
    for (std::size_t i = 0; i < values.size(); ++i)
        QCOMPARE(shadows[i].bits, BFloat16(values[i]).bits);
}

void TestParameterSet::frozenSetsMayHaveSixteenBitMasters()
{
    const auto stream = cpu()->createStream();
    ParameterSet set(cpu(), DType::F16, DType::F16);
    set.addGroup({"all", 0, true});
    set.add("w", {4});
    set.allocate(*stream);
    QVERIFY(set.shadows().isEmpty() && set.gradients().isEmpty());
    QCOMPARE(set[0].computed().dtype(), DType::F16);
    ParameterSet trained(cpu(), DType::F16, DType::F16);
    trained.add("w", {4});
    VERGENCE_THROWS(ContractError, "frozen", trained.allocate(*stream));
}

void TestParameterSet::declarationsThatContradictAreNamed()
{
    const auto stream = cpu()->createStream();
    ParameterSet set(cpu());
    set.add("w", {4, 3});
    VERGENCE_THROWS(ContractError, "w is declared twice", set.add("w", {4}));
    VERGENCE_THROWS(ContractError, "group 7", set.add("v", {4}, 7));
    VERGENCE_THROWS(ContractError, "[4, 0]", set.add("v", {4, 0}));
    VERGENCE_THROWS(ContractError, "rows 2 to 5 of [4, 3]", set.addWindow("x", 0, 2, 3));
    VERGENCE_THROWS(ContractError, "F64", ParameterSet(cpu(), DType::F64, DType::BF16));
    set.allocate(*stream);
    VERGENCE_THROWS(ContractError, "before allocate", set.add("late", {4}));
    VERGENCE_THROWS(ContractError, "once", set.allocate(*stream));
}

VERGENCE_TEST(TestParameterSet)
#include "tst_parameter_set.moc"
