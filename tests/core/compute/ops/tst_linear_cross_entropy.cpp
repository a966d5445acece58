#include <cmath>

#include <QtTest>

#include "core/base/error.h"
#include "core/compute/half.h"
#include "core/compute/ops/loss.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::difference;
using vergence::test::gradientDifference;

namespace {

std::vector<double> numbers(std::size_t count, double phase)
{
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = std::sin(phase + 0.9 * static_cast<double>(i));
    return values;
}

struct Case {
    Index rows = 33, width = 20, classes = 77;
    std::vector<double> hidden, weight;
    std::vector<std::int32_t> labels;
    double gradLoss = 1;

    Case(Index r, Index h, Index v)
        : rows(r),
          width(h),
          classes(v),
          hidden(numbers(static_cast<std::size_t>(r * h), 0.5)),
          weight(numbers(static_cast<std::size_t>(v * h), 1.7))
    {
        for (Index i = 0; i < r; ++i)
            labels.push_back(i % 4 == 2 ? -100 : static_cast<std::int32_t>(i * 31 % v));
    }
};

struct Result {
    std::vector<double> rowLoss, gradHidden, gradWeight;
    double loss = 0;
    int counted = 0;
};

/// The formulas in double.
Result reference(const Case& c)
{
    Result r;
    r.gradHidden.assign(c.hidden.size(), 0);
    r.gradWeight.assign(c.weight.size(), 0);
    for (const std::int32_t label : c.labels)
        r.counted += label >= 0;
    const auto width = static_cast<std::size_t>(c.width);
    std::vector<double> z(static_cast<std::size_t>(c.classes));
    for (std::size_t i = 0; i < c.labels.size(); ++i) {
        r.rowLoss.push_back(0);
        if (c.labels[i] < 0)
            continue;
        double top = -HUGE_VAL, total = 0;
        for (std::size_t v = 0; v < z.size(); ++v) {
            z[v] = 0;
            for (std::size_t h = 0; h < width; ++h)
                z[v] += c.hidden[i * width + h] * c.weight[v * width + h];
            top = std::max(top, z[v]);
        }
        for (const double value : z)
            total += std::exp(value - top);
        const auto label = static_cast<std::size_t>(c.labels[i]);
        r.rowLoss.back() = top + std::log(total) - z[label];
        r.loss += r.rowLoss.back() / r.counted;
        for (std::size_t v = 0; v < z.size(); ++v) {
            const double grad =
                (std::exp(z[v] - top) / total - (v == label ? 1 : 0)) * c.gradLoss / r.counted;
            for (std::size_t h = 0; h < width; ++h) {
                r.gradHidden[i * width + h] += grad * c.weight[v * width + h];
                r.gradWeight[v * width + h] += grad * c.hidden[i * width + h];
            }
        }
    }
    return r;
}

/// Starts one number beyond an aligned place where `misaligned`.
template <class T>
Tensor tensorOf(Stream& stream, const std::shared_ptr<Device>& device,
                const std::vector<double>& values, Shape shape, bool misaligned)
{
    std::vector<T> data(misaligned ? 1 : 0);
    for (const double value : values) {
        if constexpr (sizeof(T) == 2)
            data.push_back(T(static_cast<float>(value)));
        else
            data.push_back(static_cast<T>(value));
    }
    const auto count = static_cast<Index>(data.size()), skipped = Index{misaligned};
    return Tensor::fromHost(stream, device, {count}, std::span<const T>(data))
        .narrow(0, skipped, count - skipped)
        .reshaped(std::move(shape));
}

template <class T>
Result run(const std::shared_ptr<Device>& device, const Case& c, Index chunkRows,
           bool wantsGradients = true, bool misaligned = false)
{
    using Real = Accumulator<T>;
    const auto stream = device->createStream();
    const std::vector<double> unset(c.hidden.size(), std::nan(""));
    const auto make = [&](const std::vector<double>& values, Shape shape) {
        return tensorOf<T>(*stream, device, values, std::move(shape), misaligned);
    };
    const auto makeWide = [&](const std::vector<double>& values, Shape shape) {
        return tensorOf<Real>(*stream, device, values, std::move(shape), misaligned);
    };
    const Tensor hidden = make(c.hidden, {c.rows, c.width});
    const Tensor weight = make(c.weight, {c.classes, c.width});
    const Tensor labels =
        Tensor::fromHost(*stream, device, {c.rows}, std::span<const std::int32_t>(c.labels));
    const Tensor rowLoss = makeWide(std::vector<double>(c.labels.size(), std::nan("")), {c.rows});
    const Tensor counted = Tensor::zeros(*stream, device, {1}, DType::I32);
    const Tensor loss = makeWide({std::nan("")}, {1});
    const Tensor logits = make(std::vector<double>(static_cast<std::size_t>(chunkRows * c.classes)),
                               {chunkRows, c.classes});
    const Tensor gradHidden = make(unset, {c.rows, c.width});
    const Tensor gradWeight = makeWide(std::vector<double>(c.weight.size()), {c.classes, c.width});
    const Tensor gradLoss = makeWide({c.gradLoss}, {1});
    LinearCrossEntropyArgs args;
    if (wantsGradients) {
        args.gradLoss = &gradLoss;
        args.gradHidden = &gradHidden;
        args.gradWeight = &gradWeight;
    }
    linearCrossEntropy(*stream, hidden, weight, labels, rowLoss, counted, loss, logits, args);
    const auto wide = [&](const Tensor& t) {
        const auto values = t.toHost<Real>(*stream);
        return std::vector<double>(values.begin(), values.end());
    };
    const auto narrow = gradHidden.toHost<T>(*stream);
    return {wide(rowLoss),
            {narrow.begin(), narrow.end()},
            wide(gradWeight),
            wide(loss)[0],
            counted.toHost<std::int32_t>(*stream)[0]};
}

} // namespace

class TestLinearCrossEntropy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void chunksGiveTheWhole_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("chunk");
        test::forEachDevice([&](const std::string& name, int device) {
            for (const int chunk : {1, 8, 32, 33, 64})
                QTest::addRow("%s, chunks of %d", name.c_str(), chunk) << device << chunk;
        });
    }
    void chunksGiveTheWhole()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, chunk);
        Case c(33, 20, 77);
        c.gradLoss = 1.5;
        const Result want = reference(c);
        const auto check = [&](const Result& got, double tolerance) -> std::string {
            if (got.counted != want.counted)
                return "counted " + std::to_string(got.counted);
            if (std::abs(got.loss - want.loss) > tolerance * 10)
                return "loss " + std::to_string(got.loss);
            for (const auto& text : {difference(got.rowLoss, want.rowLoss, tolerance * 20, 0),
                                     difference(got.gradHidden, want.gradHidden, tolerance, 0),
                                     difference(got.gradWeight, want.gradWeight, tolerance, 0)}) {
                if (!text.empty())
                    return text;
            }
            return {};
        };
        VERGENCE_AGREES(check(run<double>(device, c, chunk), 1e-13));
        VERGENCE_AGREES(check(run<float>(device, c, chunk), 1e-6));
        // inputs, logits and their derivative are rounded to 8 bits
        VERGENCE_AGREES(check(run<BFloat16>(device, c, chunk), 4e-3));
    }

    void everySizeAndPlace_data() { test::addDeviceRows(); }
    void everySizeAndPlace()
    {
        VERGENCE_ROW_DEVICE(device);
        for (const auto& [rows, width, classes] : {std::tuple(0, 4, 7),
                                                   {1, 1, 1},
                                                   {31, 33, 257},
                                                   {32, 32, 32},
                                                   {33, 257, 31},
                                                   {257, 31, 33}}) {
            for (const bool isMisaligned : {false, true}) {
                const Case c(rows, width, classes);
                const Result want = reference(c);
                const Result wide = run<double>(device, c, 32, true, isMisaligned);
                VERGENCE_AGREES(difference(wide.gradHidden, want.gradHidden, 1e-12, 0));
                VERGENCE_AGREES(difference(wide.gradWeight, want.gradWeight, 1e-12, 0));
                const Result fine = run<float>(device, c, 32, true, isMisaligned);
                VERGENCE_AGREES(difference(fine.rowLoss, want.rowLoss, 1e-4, 1e-5));
                VERGENCE_AGREES(difference(fine.gradHidden, want.gradHidden, 1e-5, 0));
                VERGENCE_AGREES(difference(fine.gradWeight, want.gradWeight, 1e-5, 0));
                QCOMPARE(fine.counted, want.counted);
            }
        }
    }

    void derivativesAgreeWithDifferences_data() { test::addDeviceRows(); }
    void derivativesAgreeWithDifferences()
    {
        VERGENCE_ROW_DEVICE(device);
        const Case c(9, 5, 13);
        const Result r = run<double>(device, c, 4);
        const auto lossWhere = [&](std::vector<double> Case::*part) {
            return [&, part](const std::vector<double>& x) {
                Case moved = c;
                moved.*part = x;
                return run<double>(device, moved, 4, false).loss;
            };
        };
        VERGENCE_AGREES(gradientDifference(lossWhere(&Case::hidden), c.hidden, r.gradHidden));
        VERGENCE_AGREES(gradientDifference(lossWhere(&Case::weight), c.weight, r.gradWeight));
    }

    void equalLogitsCostTheLogarithmOfTheirNumber_data() { test::addDeviceRows(); }
    void equalLogitsCostTheLogarithmOfTheirNumber()
    {
        VERGENCE_ROW_DEVICE(device);
        Case c(3, 4, 49152);
        std::fill(c.hidden.begin(), c.hidden.end(), 0.0);
        c.labels = {7, 49151, -1};
        QVERIFY(std::abs(run<double>(device, c, 2, false).loss - 10.80267282) < 1e-8);
        QVERIFY(std::abs(run<float>(device, c, 2, false).loss - 10.80267282) < 5e-6);
    }

    void nothingCountedIsNothingLost_data() { test::addDeviceRows(); }
    void nothingCountedIsNothingLost()
    {
        VERGENCE_ROW_DEVICE(device);
        Case c(5, 4, 11);
        std::fill(c.labels.begin(), c.labels.end(), -1);
        const Result r = run<float>(device, c, 2);
        QCOMPARE(r.loss, 0.0);
        QCOMPARE(r.counted, 0);
        for (const auto* values : {&r.rowLoss, &r.gradHidden, &r.gradWeight}) {
            for (const double value : *values)
                QCOMPARE(value, 0.0);
        }
    }

    void labelBeyondTheClassesIsNotANumber_data() { test::addDeviceRows(); }
    void labelBeyondTheClassesIsNotANumber()
    {
        VERGENCE_ROW_DEVICE(device);
        Case c(3, 4, 11);
        c.labels = {1, 11, 2};
        const Result r = run<float>(device, c, 2);
        QVERIFY(std::isnan(r.loss) && std::isnan(r.rowLoss[1]) && !std::isnan(r.rowLoss[0]));
    }

    void whatDoesNotFitIsNamed()
    {
        const auto device = makeCpuDevice(1);
        const auto stream = device->createStream();
        const auto zeros = [&](Shape shape, DType type = DType::F32) {
            return Tensor::zeros(*stream, device, std::move(shape), type);
        };
        const Tensor hidden = zeros({6, 4}), weight = zeros({9, 4}), one = zeros({1});
        const Tensor labels = zeros({6}, DType::I32), rowLoss = zeros({6});
        const Tensor counted = zeros({1}, DType::I32), logits = zeros({3, 9});
        const auto call = [&](const Tensor& w, const Tensor& l, const Tensor& z) {
            linearCrossEntropy(*stream, hidden, w, l, rowLoss, counted, one, z);
        };
        VERGENCE_THROWS(ContractError, "[9, 5]", call(zeros({9, 5}), labels, logits));
        VERGENCE_THROWS(ContractError, "[5]", call(weight, zeros({5}, DType::I32), logits));
        VERGENCE_THROWS(ContractError, "[3, 8]", call(weight, labels, zeros({3, 8})));
        VERGENCE_THROWS(ContractError, "F64", call(weight, labels, zeros({3, 9}, DType::F64)));
    }
};

VERGENCE_TEST(TestLinearCrossEntropy)
#include "tst_linear_cross_entropy.moc"
