#include <numeric>

#include "core/compute/ops/structure.h"
#include "tests/core/compute/ops/ops_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

Numbers counting(Index count)
{
    Numbers numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0.0);
    return numbers;
}

/// What a window of a dense tensor that counts its numbers contains, in order.
Numbers placesOf(const Tensor& window, const Tensor& base)
{
    Numbers places{0};
    for (int d = 0; d < window.rank(); ++d) {
        Numbers next;
        for (const double place : places) {
            for (Index i = 0; i < window.extent(d); ++i)
                next.push_back(place + static_cast<double>(i * window.stride(d)));
        }
        places = next;
    }
    const auto bytes =
        static_cast<const std::byte*>(window.data()) - static_cast<const std::byte*>(base.data());
    const double first = static_cast<double>(bytes) / static_cast<double>(sizeOf(base.dtype()));
    return mapped(places, [&](double place) { return place + first; });
}

struct WindowCase {
    const char* name;
    Shape base;
    std::function<Tensor(const Tensor&)> window;
};

const std::vector<WindowCase>& windowCases()
{
    static const std::vector<WindowCase> cases{
        {"whole", {5, 7}, [](const Tensor& t) { return t; }},
        {"one number", {1}, [](const Tensor& t) { return t; }},
        {"no number", {3, 0}, [](const Tensor& t) { return t; }},
        {"inner slice", {9, 31}, [](const Tensor& t) { return t.narrow(1, 3, 17); }},
        {"transposed",
         {33, 31},
         [](const Tensor& t) {
             return t.permuted({1, 0});
         }},
        {"large transposed",
         {257, 65},
         [](const Tensor& t) {
             return t.permuted({1, 0});
         }},
        {"heads",
         {2, 5, 3, 8},
         [](const Tensor& t) {
             return t.permuted({0, 2, 1, 3});
         }},
        {"channels first",
         {2, 17, 18, 33},
         [](const Tensor& t) {
             return t.permuted({0, 3, 1, 2});
         }},
        {"channels last",
         {2, 33, 17, 18},
         [](const Tensor& t) {
             return t.permuted({0, 2, 3, 1});
         }},
        {"all turned",
         {2, 3, 4, 5, 6, 7},
         [](const Tensor& t) {
             return t.permuted({5, 3, 1, 4, 2, 0}).narrow(0, 1, 5);
         }},
        {"column", {64, 16}, [](const Tensor& t) { return t.narrow(1, 5, 1); }},
        {"wide slice", {64, 48}, [](const Tensor& t) { return t.narrow(1, 16, 16); }},
        {"long", {3, 40000}, [](const Tensor& t) { return t.narrow(1, 0, 32768); }}};
    return cases;
}

const std::vector<DType> kAllTypes{DType::F32, DType::F64, DType::F16, DType::BF16,
                                   DType::I32, DType::I64, DType::U8,  DType::U16};

void addWindowRows()
{
    QTest::addColumn<int>("place");
    QTest::addColumn<int>("window");
    forEachPlace([](const std::string& name, int place) {
        for (int i = 0; i < static_cast<int>(windowCases().size()); ++i)
            QTest::addRow("%s, %s", name.c_str(), windowCases()[static_cast<std::size_t>(i)].name)
                << place << i;
    });
}

} // namespace

class TestStructure : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void windowsAreCopiedThereAndBack_data() { addWindowRows(); }
    void windowsAreCopiedThereAndBack()
    {
        QFETCH(int, place);
        QFETCH(int, window);
        const auto device = placeOrSkip(place);
        if (!device)
            return;
        const WindowCase& c = windowCases()[static_cast<std::size_t>(window)];
        for (const DType type : kAllTypes) {
            Bench bench(device, type);
            bench.misaligned = type == DType::F64;
            // Small numbers, so that every type holds them.
            const Numbers values =
                mapped(counting(elementCount(c.base)), [](double v) { return std::fmod(v, 127); });
            const Tensor base = bench.tensor(c.base, values);
            const Tensor view = c.window(base);
            const Tensor copy = bench.result(view.shape());
            copyStrided(bench.stream(), view, copy);
            const Numbers want =
                mapped(placesOf(view, base), [](double place2) { return std::fmod(place2, 127); });
            QCOMPARE(bench.numbers(copy), want);
            // Back into an untouched base: only the window changes.
            const Tensor target = bench.result(c.base);
            copyStrided(bench.stream(), copy, c.window(target));
            Numbers expected(values.size(), 77);
            for (const double at : placesOf(view, base))
                expected[static_cast<std::size_t>(at)] = values[static_cast<std::size_t>(at)];
            QCOMPARE(bench.numbers(target), expected);
        }
    }

    void windowsAreAdded_data() { addWindowRows(); }
    void windowsAreAdded()
    {
        QFETCH(int, place);
        QFETCH(int, window);
        const auto device = placeOrSkip(place);
        if (!device)
            return;
        const WindowCase& c = windowCases()[static_cast<std::size_t>(window)];
        for (const TypeCase& kind : kTypeCases) {
            const Bench bench(device, kind.type);
            const Numbers a = roundedTo(kind.type, randomNumbers(elementCount(c.base), 1));
            const Tensor base = bench.tensor(c.base, a), view = c.window(base);
            const Numbers b = roundedTo(kind.type, randomNumbers(view.size(), 2));
            addStrided(bench.stream(), bench.tensor(view.shape(), b), view);
            Numbers want = a;
            const Numbers places = placesOf(view, base);
            for (std::size_t i = 0; i < places.size(); ++i)
                want[static_cast<std::size_t>(places[i])] += b[i];
            VERGENCE_AGREES(difference(bench.numbers(base), want, kind.accuracy, kind.accuracy));
        }
    }

    void contiguousCopiesOnlyWhatIsStrided()
    {
        const auto device = makeCpuDevice(1);
        const Bench bench(device);
        Arena arena(device);
        const Tensor x = bench.tensor({2, 3}, counting(6));
        QCOMPARE(contiguous(bench.stream(), arena, x).data(), x.data());
        const Tensor turned = contiguous(bench.stream(), arena, x.permuted({1, 0}));
        QVERIFY(turned.isContiguous());
        QCOMPARE(bench.numbers(turned), (Numbers{0, 3, 1, 4, 2, 5}));
    }

    void rowsAreGatheredAndScattered_data() { addPlaceAndTypeRows(); }
    void rowsAreGatheredAndScattered()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        std::vector<std::pair<Index, std::vector<int>>> sizes{{64, {}}};
        for (const int columns : kSizes)
            sizes.push_back({columns, {3, 0, 8, 3, -1, 9, 3, 1}});
        for (const auto& [columns, ids] : sizes) {
            bench.misaligned = columns % 2 == 1;
            const Index entries = 9;
            const auto n = static_cast<Index>(ids.size());
            const Numbers table = roundedTo(kind.type, randomNumbers(entries * columns, 1));
            const Numbers g = roundedTo(kind.type, randomNumbers(n * columns, 2));
            const Tensor tt = bench.tensor({entries, columns}, table), ti = bench.integers(ids);
            const Tensor y = bench.result({n, columns});
            gatherRows(bench.stream(), tt, ti, y);
            Numbers want, sums = table, wideSums = Numbers(table.size(), 1);
            for (std::size_t i = 0; i < ids.size(); ++i) {
                for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c) {
                    const bool isThere = ids[i] >= 0 && ids[i] < entries;
                    const std::size_t at = static_cast<std::size_t>(isThere ? ids[i] : 0) *
                                               static_cast<std::size_t>(columns) +
                                           c;
                    want.push_back(isThere ? table[at] : 0);
                    sums[at] += isThere ? g[i * static_cast<std::size_t>(columns) + c] : 0;
                    wideSums[at] += isThere ? g[i * static_cast<std::size_t>(columns) + c] : 0;
                }
            }
            QCOMPARE(bench.numbers(y), want);
            const Tensor tg = bench.tensor({n, columns}, g);
            scatterAddRows(bench.stream(), tg, ti, tt);
            VERGENCE_AGREES(
                difference(bench.numbers(tt), sums, 4 * kind.accuracy, 2 * kind.accuracy));
            const Tensor wide =
                bench.tensor({entries, columns}, Numbers(table.size(), 1), bench.sumType());
            scatterAddRows(bench.stream(), tg, ti, wide);
            VERGENCE_AGREES(difference(bench.numbers(wide), wideSums, 2e-6, 2e-6));
        }
    }

    void leadingDimensionIsRepeated_data() { addPlaceAndTypeRows(); }
    void leadingDimensionIsRepeated()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const Index size : kSizes) {
            bench.misaligned = size % 2 == 1;
            const Numbers x = roundedTo(kind.type, randomNumbers(size, 1));
            const Tensor y = bench.result({3, size});
            broadcastLeading(bench.stream(), bench.tensor({size}, x), y);
            Numbers want;
            for (int i = 0; i < 3; ++i)
                want.insert(want.end(), x.begin(), x.end());
            QCOMPARE(bench.numbers(y), want);
        }
    }

    void badOperandsAreNamed()
    {
        const Bench bench(makeCpuDevice(1));
        Stream& stream = bench.stream();
        const Tensor a = bench.result({2, 3});
        VERGENCE_THROWS(ContractError, "[2, 3] and [3, 2]",
                        copyStrided(stream, a, bench.result({3, 2})));
        VERGENCE_THROWS(ContractError, "F32 and F16",
                        copyStrided(stream, a, bench.result({2, 3}, DType::F16)));
        VERGENCE_THROWS(
            ContractError, "I32",
            addStrided(stream, bench.result({2}, DType::I32), bench.result({2}, DType::I32)));
        VERGENCE_THROWS(ContractError, "the tensor of rows is [2, 2] instead of [2, 3]",
                        gatherRows(stream, a, bench.integers({0, 1}), bench.result({2, 2})));
        VERGENCE_THROWS(ContractError, "F32 instead of I32",
                        gatherRows(stream, a, bench.result({2}), a));
        VERGENCE_THROWS(
            ContractError, "rows of type F32 into a table of type F64",
            scatterAddRows(stream, a, bench.integers({0, 1}), bench.result({2, 3}, DType::F64)));
        VERGENCE_THROWS(ContractError, "the result is [2, 2] instead of [2, 3]",
                        broadcastLeading(stream, bench.result({3}), bench.result({2, 2})));
    }
};

VERGENCE_TEST(TestStructure)
#include "tst_structure.moc"
