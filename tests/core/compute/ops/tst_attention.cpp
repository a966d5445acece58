#include <QtTest>

#include "core/base/error.h"
#include "core/compute/arena.h"
#include "core/compute/half.h"
#include "core/compute/ops/attention.h"
#include "core/compute/ops/attention_kernels.h"
#include "core/compute/ops/structure.h"
#include "tests/core/compute/ops/attention_cases.h"
#include "tests/core/compute/ops/attention_reference.h"
#include "tests/support/device_table.h"
#include "tests/support/environment.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::AttentionCase;
using vergence::test::attentionReference;
using vergence::test::AttentionResult;
using vergence::test::difference;
using vergence::test::gradientDifference;

namespace {

const std::vector<DType> kTypes{DType::F32, DType::F64, DType::F16, DType::BF16};

DType accumulatorOf(DType type)
{
    return type == DType::F64 ? DType::F64 : DType::F32;
}

template <class T>
std::vector<T> converted(const std::vector<double>& values)
{
    std::vector<T> result;
    for (const double value : values) {
        if constexpr (sizeof(T) == 2)
            result.push_back(T(static_cast<float>(value)));
        else
            result.push_back(static_cast<T>(value));
    }
    return result;
}

/// Calls run(T{}) for the element type.
template <class Run>
auto withType(DType type, const Run& run)
{
    if (type == DType::F64)
        return run(double{});
    if (type == DType::F16)
        return run(Float16{});
    if (type == DType::BF16)
        return run(BFloat16{});
    return run(float{});
}

/// A device with its stream.
struct Machine {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    Arena arena;

    explicit Machine(std::shared_ptr<Device> of)
        : device(std::move(of)),
          stream(device->createStream()),
          arena(device)
    {
    }

    /// A tensor, `skip` elements into its memory so that its alignment is lost.
    Tensor tensor(const std::vector<double>& values, Shape shape, DType type, Index skip = 0)
    {
        return withType(type, [&](auto element) {
            auto data = converted<decltype(element)>(values);
            data.insert(data.begin(), static_cast<std::size_t>(skip), decltype(element){});
            const auto count = static_cast<Index>(data.size());
            using T = const decltype(element);
            return Tensor::fromHost(*stream, device, {count}, std::span<T>(data))
                .narrow(0, skip, count - skip)
                .reshaped(std::move(shape));
        });
    }
    Tensor wholeNumbers(const std::vector<std::int32_t>& values)
    {
        return Tensor::fromHost(*stream, device, {static_cast<Index>(values.size())},
                                std::span<const std::int32_t>(values));
    }
    /// Filled with not-a-number, so that what is left out is seen.
    Tensor unset(Shape shape, DType type, Index skip = 0)
    {
        const auto count = static_cast<std::size_t>(elementCount(shape));
        return tensor(std::vector<double>(count, std::nan("")), std::move(shape), type, skip);
    }
    std::vector<double> numbers(const Tensor& tensor)
    {
        return withType(tensor.dtype(), [&](auto element) {
            const Tensor dense = contiguous(*stream, arena, tensor);
            const auto values = dense.toHost<decltype(element)>(*stream);
            return std::vector<double>(values.begin(), values.end());
        });
    }
};

/// Rounds the inputs to what the type can hold, so that the reference sees the same numbers.
void roundTo(DType type, AttentionCase& c)
{
    for (auto* values : {&c.q, &c.k, &c.v, &c.gradO}) {
        withType(type, [&](auto element) {
            const auto rounded = converted<decltype(element)>(*values);
            values->assign(rounded.begin(), rounded.end());
        });
    }
}

struct Options {
    DType type = DType::F64;
    Index skip = 0; ///< elements by which all tensors are misaligned
    bool backward = true;
};

/// Runs both directions on a device.
AttentionResult run(Machine& m, const AttentionCase& c, const Options& options)
{
    const Shape queryShape{c.batches, c.queries, c.heads, c.size};
    const Shape keyShape{c.batches, c.keys, c.keyHeads, c.size};
    const Shape rowShape{c.batches, c.heads, c.queries};
    const DType type = options.type, wide = accumulatorOf(type);
    const Tensor q = m.tensor(c.q, queryShape, type, options.skip);
    const Tensor k = m.tensor(c.k, keyShape, type, options.skip);
    const Tensor v = m.tensor(c.v, keyShape, type, options.skip);
    const Tensor gradO = m.tensor(c.gradO, queryShape, type, options.skip);
    const Tensor o = m.unset(queryShape, type, options.skip);
    const Tensor gradQ = m.unset(queryShape, type, options.skip);
    const Tensor gradK = m.unset(keyShape, type, options.skip);
    const Tensor gradV = m.unset(keyShape, type, options.skip);
    const Tensor logSumExp = m.unset(rowShape, wide, options.skip), delta = m.unset(rowShape, wide);
    Tensor keyCounts, segmentStarts, bias;
    AttentionArgs args;
    args.scale = c.scale;
    args.causal = c.causal;
    args.cacheOffset = c.cacheOffset;
    if (!c.keyCounts.empty())
        args.keyCounts = &(keyCounts = m.wholeNumbers(c.keyCounts));
    if (!c.segmentStarts.empty())
        args.segmentStarts = &(segmentStarts = m.wholeNumbers(c.segmentStarts));
    if (!c.biasShape.empty())
        args.bias = &(bias = m.tensor(c.bias, c.biasShape, wide, options.skip));
    attention(*m.stream, q, k, v, o, &logSumExp, args);
    if (options.backward)
        attentionBackward(*m.stream, q, k, v, o, logSumExp, gradO, gradQ, gradK, gradV, delta,
                          args);
    return {m.numbers(o), m.numbers(logSumExp), m.numbers(gradQ), m.numbers(gradK),
            m.numbers(gradV)};
}

const AttentionCase& caseAt(int i)
{
    static const std::vector<AttentionCase> list = test::attentionCases();
    return list.at(static_cast<std::size_t>(i));
}

/// Shares of the largest number that results may be off: rounding of the type, kept in the output,
/// and 32-bit sums.
double toleranceOf(DType type)
{
    switch (type) {
    case DType::F64:
        return 1e-12;
    case DType::F16:
        return 2e-3;
    case DType::BF16:
        return 1.6e-2;
    default:
        return 4e-6;
    }
}

std::string compare(const AttentionResult& got, const AttentionResult& want, DType type,
                    double spread)
{
    const auto part = [&](const char* name, const std::vector<double>& a,
                          const std::vector<double>& b, double tolerance) -> std::string {
        double largest = 1e-2; // terms of about 1 that cancel leave their rounding
        for (const double value : b)
            largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
        const std::string text = difference(a, b, tolerance * largest, 0);
        return text.empty() ? text : std::string(name) + ": " + text;
    };
    // scores of size s are rounded by s · 2⁻²⁴ before the exponential
    const double wider = std::max(1.0, spread * spread / 10);
    const double fine = (type == DType::F64 ? 1e-12 : 4e-6) * wider;
    const double coarse = std::max(toleranceOf(type), fine);
    for (const std::string& text :
         {part("o", got.o, want.o, coarse), part("logSumExp", got.logSumExp, want.logSumExp, fine),
          part("gradQ", got.gradQ, want.gradQ, 2 * coarse),
          part("gradK", got.gradK, want.gradK, 2 * coarse),
          part("gradV", got.gradV, want.gradV, 2 * coarse)}) {
        if (!text.empty())
            return text;
    }
    return {};
}

} // namespace

class TestAttention : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void agreesWithTheFormula_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("index");
        QTest::addColumn<int>("type");
        const int count = static_cast<int>(test::attentionCases().size());
        test::forEachDevice([&](const std::string& name, int device) {
            for (int i = 0; i < count; ++i) {
                for (int type = 0; type < static_cast<int>(kTypes.size()); ++type)
                    QTest::addRow("%s, %s, %s", name.c_str(), caseAt(i).name.c_str(),
                                  nameOf(kTypes[static_cast<std::size_t>(type)]).data())
                        << device << i << type;
            }
        });
    }
    void agreesWithTheFormula()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, index);
        QFETCH(int, type);
        Options options;
        options.type = kTypes[static_cast<std::size_t>(type)];
        AttentionCase c = caseAt(index);
        roundTo(options.type, c);
        Machine machine(device);
        const AttentionResult want = attentionReference(c);
        VERGENCE_AGREES(compare(run(machine, c, options), want, options.type, c.spread));
        options.skip = 1;
        VERGENCE_AGREES(compare(run(machine, c, options), want, options.type, c.spread));
    }

    void oneThreadPerItemAgrees_data()
    {
        test::addDeviceAndSizeRows({0, 3, 8, 15, 17, 19, 21, 27});
    }
    void oneThreadPerItemAgrees()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, size);
        const AttentionCase& c = caseAt(size);
        Machine machine(device);
        AttentionProblem p;
        p.type = DType::F64;
        p.batches = c.batches, p.queries = c.queries, p.keys = c.keys, p.heads = c.heads;
        p.keyHeads = c.keyHeads, p.size = c.size;
        p.scale = c.scale != 0 ? c.scale : 1 / std::sqrt(static_cast<double>(c.size));
        p.mask.keys = c.keys, p.mask.causal = c.causal, p.mask.cacheOffset = c.cacheOffset;
        std::vector<Tensor> kept;
        const auto rows = [&](const std::vector<double>& values, Index length, Index heads) {
            const Shape shape{c.batches, length, heads, c.size};
            kept.push_back(values.empty() ? machine.unset(shape, DType::F64)
                                          : machine.tensor(values, shape, DType::F64));
            const Tensor& t = kept.back();
            return AttentionRows{t.data(), t.stride(0), t.stride(1), t.stride(2)};
        };
        kept.reserve(16);
        p.q = rows(c.q, c.queries, c.heads), p.k = rows(c.k, c.keys, c.keyHeads);
        p.v = rows(c.v, c.keys, c.keyHeads), p.gradO = rows(c.gradO, c.queries, c.heads);
        p.o = rows({}, c.queries, c.heads), p.gradQ = rows({}, c.queries, c.heads);
        p.gradK = rows({}, c.keys, c.keyHeads), p.gradV = rows({}, c.keys, c.keyHeads);
        const Shape rowShape{c.batches, c.heads, c.queries};
        const Tensor logSumExp = machine.unset(rowShape, DType::F64);
        const Tensor delta = machine.unset(rowShape, DType::F64);
        p.logSumExp = logSumExp.data(), p.delta = delta.data();
        Tensor counts, starts, bias;
        if (!c.keyCounts.empty()) {
            counts = machine.wholeNumbers(c.keyCounts);
            p.mask.keyCounts = static_cast<const std::int32_t*>(counts.data());
        }
        if (!c.segmentStarts.empty()) {
            starts = machine.wholeNumbers(c.segmentStarts);
            p.mask.segmentStarts = static_cast<const std::int32_t*>(starts.data());
            p.mask.segments = starts.size() - 1;
        }
        if (!c.biasShape.empty()) {
            bias = machine.tensor(c.bias, c.biasShape, DType::F64);
            p.bias = {bias.data(), bias.stride(0), bias.stride(1), bias.stride(2), 1};
        }
        attentionForwardPlain(*machine.stream, p);
        attentionBackwardPlain(*machine.stream, p);
        const AttentionResult got{machine.numbers(kept[4]), machine.numbers(logSumExp),
                                  machine.numbers(kept[5]), machine.numbers(kept[6]),
                                  machine.numbers(kept[7])};
        VERGENCE_AGREES(compare(got, attentionReference(c), DType::F64, c.spread));
    }

    void derivativesAgreeWithDifferences_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("queries");
        QTest::addColumn<int>("size");
        QTest::addColumn<int>("group");
        QTest::addColumn<bool>("causal");
        test::forEachDevice([&](const std::string& name, int device) {
            for (const int queries : {1, 5, 31, 33, 65}) {
                for (const int size : {4, 64}) {
                    for (const int group : {1, 3}) {
                        for (const bool causal : {false, true})
                            QTest::addRow("%s, N %d, d %d, group %d, %s", name.c_str(), queries,
                                          size, group, causal ? "causal" : "all")
                                << device << queries << size << group << causal;
                    }
                }
            }
        });
    }
    void derivativesAgreeWithDifferences()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, queries);
        QFETCH(int, size);
        QFETCH(int, group);
        QFETCH(bool, causal);
        AttentionCase c;
        c.queries = queries, c.keys = queries + 3, c.heads = group, c.size = size;
        c.causal = causal, c.cacheOffset = 3;
        c.fill();
        Machine machine(device);
        const AttentionResult result = run(machine, c, {});
        const auto lossWhere = [&](std::vector<double> AttentionCase::*part) {
            return [&, part](const std::vector<double>& x) {
                AttentionCase moved = c;
                moved.*part = x;
                Options options;
                options.backward = false;
                const AttentionResult r = run(machine, moved, options);
                double loss = 0;
                for (std::size_t i = 0; i < r.o.size(); ++i)
                    loss += r.o[i] * c.gradO[i];
                return loss;
            };
        };
        VERGENCE_AGREES(
            gradientDifference(lossWhere(&AttentionCase::q), c.q, result.gradQ, 1e-6, 24));
        VERGENCE_AGREES(
            gradientDifference(lossWhere(&AttentionCase::k), c.k, result.gradK, 1e-6, 24));
        VERGENCE_AGREES(
            gradientDifference(lossWhere(&AttentionCase::v), c.v, result.gradV, 1e-6, 24));
    }

    void everyInstructionSetAgrees_data()
    {
        QTest::addColumn<QByteArray>("set");
        for (const char* set : test::instructionSets())
            QTest::newRow(set) << QByteArray(set);
    }
    void everyInstructionSetAgrees()
    {
        QFETCH(QByteArray, set);
        const test::ScopedVariable isa("VERGENCE_ISA", set);
        Machine machine(makeCpuDevice());
        for (const int index : {2, 4, 6, 8, 9, 15, 16, 19, 21, 23}) {
            for (const DType type : kTypes) {
                AttentionCase c = caseAt(index);
                roundTo(type, c);
                Options options;
                options.type = type;
                VERGENCE_AGREES(
                    compare(run(machine, c, options), attentionReference(c), type, c.spread));
            }
        }
    }

    void resultsDoNotDependOnThreads()
    {
        Machine one(makeCpuDevice(1)), two(makeCpuDevice(2));
        for (const int index : {3, 8, 10, 15, 20}) {
            Options options;
            options.type = DType::F32;
            const AttentionResult a = run(one, caseAt(index), options);
            for (int repetition = 0; repetition < 3; ++repetition) {
                const AttentionResult b = run(two, caseAt(index), options);
                QVERIFY(a.o == b.o && a.logSumExp == b.logSumExp && a.gradQ == b.gradQ);
                QVERIFY(a.gradK == b.gradK && a.gradV == b.gradV);
            }
        }
    }

    void hiddenQueriesGiveZeroAndTakeNoGradient_data() { test::addDeviceRows(); }
    void hiddenQueriesGiveZeroAndTakeNoGradient()
    {
        VERGENCE_ROW_DEVICE(device);
        AttentionCase c;
        c.batches = 2, c.queries = 33, c.keys = 40, c.heads = 2, c.keyHeads = 1, c.size = 16;
        c.keyCounts = {0, 40};
        c.fill();
        Machine machine(device);
        for (const DType type : kTypes) {
            Options options;
            options.type = type;
            const AttentionResult r = run(machine, c, options);
            const std::size_t half = r.o.size() / 2, halfKeys = r.gradK.size() / 2;
            for (std::size_t i = 0; i < half; ++i)
                QVERIFY(r.o[i] == 0 && r.gradQ[i] == 0);
            for (std::size_t i = 0; i < halfKeys; ++i)
                QVERIFY(r.gradK[i] == 0 && r.gradV[i] == 0);
            for (std::size_t i = 0; i < 66; ++i)
                QVERIFY(r.logSumExp[i] == -HUGE_VAL);
            QVERIFY(r.o[half] != 0 && r.gradQ[half] != 0);
        }
    }

    void equalValuesComeThrough_data() { test::addDeviceRows(); }
    void equalValuesComeThrough()
    {
        VERGENCE_ROW_DEVICE(device);
        Machine machine(device);
        for (const int index : {3, 7, 8, 15, 21}) {
            AttentionCase c = caseAt(index);
            std::fill(c.v.begin(), c.v.end(), 0.75);
            const AttentionResult r = run(machine, c, {});
            for (const double value : r.o)
                QVERIFY(std::abs(value - 0.75) < 1e-14 || value == 0);
        }
    }

    void equalKeysSpreadEvenly_data() { test::addDeviceAndSizeRows({65, 257, 325}); }
    void equalKeysSpreadEvenly()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, size);
        AttentionCase c;
        c.queries = 3, c.keys = size, c.size = 8;
        c.fill();
        std::fill(c.k.begin(), c.k.end(), 0.0);
        Machine machine(device);
        // all scores are 0: the entropy of the weights is the log-sum-exp, ln N
        const double entropy = size == 65 ? 4.17438727 : size == 257 ? 5.54907608 : 5.78382518;
        for (const double value : run(machine, c, {}).logSumExp)
            QVERIFY(std::abs(value - entropy) < 1e-8);
    }

    void cachedKeysGiveTheSameAsOneCall_data() { test::addDeviceRows(); }
    void cachedKeysGiveTheSameAsOneCall()
    {
        VERGENCE_ROW_DEVICE(device);
        AttentionCase c;
        c.queries = c.keys = 77, c.heads = 6, c.keyHeads = 2, c.size = 32, c.causal = true;
        c.fill();
        Machine m(device);
        const Tensor q = m.tensor(c.q, {1, 77, 6, 32}, DType::F64);
        const Tensor k = m.tensor(c.k, {1, 77, 2, 32}, DType::F64);
        const Tensor v = m.tensor(c.v, {1, 77, 2, 32}, DType::F64);
        const std::vector<double> whole = run(m, c, {}).o;
        for (const Index step : {1, 5, 30, 64}) {
            const Tensor o = m.unset({1, 77, 6, 32}, DType::F64);
            for (Index first = 0; first < 77; first += step) {
                const Index count = std::min<Index>(step, 77 - first);
                AttentionArgs args;
                args.causal = true;
                args.cacheOffset = first;
                attention(*m.stream, q.narrow(1, first, count), k.narrow(1, 0, first + count),
                          v.narrow(1, 0, first + count), o.narrow(1, first, count), nullptr, args);
            }
            VERGENCE_AGREES(difference(m.numbers(o), whole, 1e-12, 0));
        }
    }

    void packedProjectionIsReadAndWrittenInPlace_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("type");
        test::forEachDevice([&](const std::string& name, int device) {
            for (int type = 0; type < 4; ++type)
                QTest::addRow("%s, %d", name.c_str(), type) << device << type;
        });
    }
    void packedProjectionIsReadAndWrittenInPlace()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, type);
        const DType kind = kTypes[static_cast<std::size_t>(type)], wide = accumulatorOf(kind);
        constexpr Index kBatches = 2, kLength = 70, kHeads = 3, kSize = 16;
        const Shape shape{kBatches, kLength, kHeads, kSize}, rows{kBatches, kHeads, kLength};
        const Shape packed{kBatches, kLength, 3 * kHeads, kSize};
        Machine m(device);
        const auto all = AttentionCase::numbers(kBatches * kLength * 3 * kHeads * kSize, 9, 1);
        AttentionCase c;
        c.batches = kBatches, c.queries = c.keys = kLength, c.heads = c.keyHeads = kHeads;
        c.size = kSize;
        c.fill();
        const Tensor qkv = m.tensor(all, packed, kind), gradQkv = m.unset(packed, kind);
        const auto part = [&](const Tensor& t, Index i) { return t.narrow(2, i * kHeads, kHeads); };
        c.q = m.numbers(part(qkv, 0));
        c.k = m.numbers(part(qkv, 1));
        c.v = m.numbers(part(qkv, 2));
        roundTo(kind, c);
        const Tensor o = m.unset(shape, kind), gradO = m.tensor(c.gradO, shape, kind);
        const Tensor logSumExp = m.unset(rows, wide), delta = m.unset(rows, wide);
        attention(*m.stream, part(qkv, 0), part(qkv, 1), part(qkv, 2), o, &logSumExp);
        attentionBackward(*m.stream, part(qkv, 0), part(qkv, 1), part(qkv, 2), o, logSumExp, gradO,
                          part(gradQkv, 0), part(gradQkv, 1), part(gradQkv, 2), delta);
        const AttentionResult got{m.numbers(o), m.numbers(logSumExp), m.numbers(part(gradQkv, 0)),
                                  m.numbers(part(gradQkv, 1)), m.numbers(part(gradQkv, 2))};
        VERGENCE_AGREES(compare(got, attentionReference(c), kind, 1));
    }

    void headsMayLieOutermost_data() { test::addDeviceRows(); }
    void headsMayLieOutermost()
    {
        VERGENCE_ROW_DEVICE(device);
        AttentionCase c;
        c.queries = 40, c.keys = 50, c.heads = 4, c.keyHeads = 2, c.size = 8;
        c.fill();
        Machine m(device);
        const auto outermost = [&](const std::vector<double>& values, Index s, Index h) {
            const Tensor t = m.tensor(values, {1, s, h, 8}, DType::F64).permuted({0, 2, 1, 3});
            return contiguous(*m.stream, m.arena, t)
                .permuted({0, 2, 1, 3}); // [1, S, H, d] over [1, H, S, d]
        };
        const Tensor o = m.unset({1, 40, 4, 8}, DType::F64);
        attention(*m.stream, outermost(c.q, 40, 4), outermost(c.k, 50, 2), outermost(c.v, 50, 2), o,
                  nullptr);
        VERGENCE_AGREES(difference(m.numbers(o), attentionReference(c).o, 1e-12, 0));
    }

    void whatDoesNotFitIsNamed()
    {
        Machine m(makeCpuDevice());
        const auto zeros = [&](Shape shape, DType type = DType::F32) {
            return Tensor::zeros(*m.stream, m.device, std::move(shape), type);
        };
        const Tensor q = zeros({2, 5, 4, 8}), k = zeros({2, 7, 2, 8}), o = zeros({2, 5, 4, 8});
        const auto message = [&](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
                                 const AttentionArgs& args = {}) {
            return test::thrown<ContractError>(
                [&] { attention(*m.stream, a, b, c, d, nullptr, args); });
        };
        QVERIFY(message(q, zeros({2, 7, 3, 8}), k, o).contains("4 query heads"));
        QVERIFY(message(q, zeros({3, 7, 2, 8}), k, o).contains("[3, 7, 2, 8]"));
        QVERIFY(message(q, k, zeros({2, 6, 2, 8}), o).contains("[2, 6, 2, 8]"));
        QVERIFY(message(q, k, k, zeros({2, 5, 4, 9})).contains("[2, 5, 4, 9]"));
        QVERIFY(message(zeros({1, 1, 1, 130}), zeros({1, 1, 1, 130}), zeros({1, 1, 1, 130}),
                        zeros({1, 1, 1, 130}))
                    .contains("130"));
        QVERIFY(message(q, zeros({2, 7, 2, 8}, DType::F64), k, o).contains("F64"));
        QVERIFY(
            message(q, k, k, zeros({2, 5, 8, 4}).permuted({0, 1, 3, 2})).contains("neighbours"));
        const Tensor counts = zeros({3}, DType::I32), bias = zeros({2, 4, 5, 6});
        AttentionArgs args;
        args.keyCounts = &counts;
        QVERIFY(message(q, k, k, o, args).contains("[3]"));
        args = {};
        args.bias = &bias;
        QVERIFY(message(q, k, k, o, args).contains("[2, 4, 5, 6]"));
    }
};

VERGENCE_TEST(TestAttention)
#include "tst_attention.moc"
