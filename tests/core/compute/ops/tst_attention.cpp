#include <bit>
#include <cstdlib>

#include <QtTest>

#include "core/base/error.h"
#include "core/compute/half.h"
#include "core/compute/ops/attention.h"
#include "core/compute/ops/attention_kernels.h"
#include "tests/core/compute/ops/attention_reference.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
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

    explicit Machine(std::shared_ptr<Device> of)
        : device(std::move(of)),
          stream(device->createStream())
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
            const auto values = tensor.toHost<decltype(element)>(*stream);
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
    Index skip = 0;     ///< elements by which all tensors are misaligned
    bool plain = false; ///< the one-thread-per-item kernels
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

/// Sizes around every block border, all masks, groups of 1 and 3.
std::vector<AttentionCase> cases()
{
    std::vector<AttentionCase> list;
    const auto add = [&](const char* name, Index b, Index sq, Index sk, Index h, Index hkv,
                         Index d) -> AttentionCase& {
        AttentionCase c;
        c.name = name;
        c.batches = b, c.queries = sq, c.keys = sk, c.heads = h, c.keyHeads = hkv, c.size = d;
        list.push_back(c);
        return list.back();
    };
    add("one of all", 1, 1, 1, 1, 1, 4);
    add("N 5, d 4", 2, 5, 5, 2, 2, 4);
    add("N 65, d 64", 1, 65, 65, 3, 1, 64);
    add("N 325, d 64", 1, 325, 325, 1, 1, 64);
    add("N 31, d 72", 1, 31, 31, 2, 1, 72);
    add("N 33, d 128", 1, 33, 33, 2, 2, 128);
    add("d 7", 1, 20, 40, 3, 3, 7);
    add("d 24, 257 keys", 1, 32, 257, 2, 2, 24);
    add("one query", 2, 1, 700, 6, 2, 64);
    add("one query, d 20", 1, 1, 37, 3, 1, 20);
    add("two queries, 1030 keys", 1, 2, 1030, 1, 1, 32);
    add("1030 keys", 1, 17, 1030, 1, 1, 8);
    add("no key", 2, 3, 0, 2, 1, 8);
    add("no query", 1, 0, 3, 2, 1, 8);
    add("causal 130", 1, 130, 130, 3, 1, 16).causal = true;
    add("causal 325, d 64", 1, 325, 325, 1, 1, 64).causal = true;
    AttentionCase& cached = add("causal with cache", 2, 40, 103, 3, 3, 32);
    cached.causal = true, cached.cacheOffset = 63;
    AttentionCase& token = add("causal single with cache", 1, 1, 103, 9, 3, 64);
    token.causal = true, token.cacheOffset = 60;
    AttentionCase& tall = add("causal, more queries than keys", 1, 90, 30, 2, 2, 16);
    tall.causal = true;
    add("padding", 3, 37, 70, 2, 2, 32).keyCounts = {70, 0, 33};
    AttentionCase& padded = add("causal and padding", 2, 70, 70, 2, 1, 16);
    padded.causal = true, padded.keyCounts = {64, 5};
    add("segments", 1, 150, 150, 2, 1, 16).segmentStarts = {0, 1, 1, 40, 129, 140};
    AttentionCase& packed = add("causal segments", 1, 150, 150, 2, 2, 32);
    packed.causal = true, packed.segmentStarts = {0, 60, 64, 150};
    add("bias of all", 2, 20, 33, 3, 1, 16).biasShape = {2, 3, 20, 33};
    add("bias per key", 2, 40, 100, 4, 2, 16).biasShape = {1, 1, 1, 100};
    add("bias per head and key, one query", 2, 1, 100, 4, 4, 16).biasShape = {1, 4, 1, 100};
    AttentionCase& hidden = add("bias that hides", 1, 20, 33, 2, 2, 16);
    hidden.biasShape = {1, 2, 20, 33}, hidden.hidesByBias = true;
    AttentionCase& dark = add("causal with bias", 1, 70, 70, 1, 1, 64);
    dark.causal = true, dark.biasShape = {1, 1, 70, 70};
    add("large scores", 1, 40, 90, 1, 1, 32).spread = 20;
    add("own scale", 1, 20, 20, 1, 1, 8).scale = 0.7;
    for (AttentionCase& c : list)
        c.fill();
    return list;
}

const AttentionCase& caseAt(int i)
{
    static const std::vector<AttentionCase> list = cases();
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
        double largest = 1e-3;
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
        const int count = static_cast<int>(cases().size());
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
};

QTEST_GUILESS_MAIN(TestAttention)
#include "tst_attention.moc"
