#include <cmath>

#include <QtTest>

#include "core/base/error.h"
#include "core/compute/half.h"
#include "core/compute/ops/attention.h"
#include "core/compute/ops/rope_math.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::difference;

namespace {

std::vector<double> numbers(std::size_t count)
{
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = std::sin(0.5 + 0.9 * static_cast<double>(i));
    return values;
}

/// Rotates pairs (j, j + d/2) of [B, S, H, d] by position · theta^(−2j/d), in double.
std::vector<double> rotated(std::vector<double> x, const std::vector<double>& positions,
                            std::size_t heads, std::size_t size, double theta, double direction)
{
    const std::size_t half = size / 2;
    for (std::size_t place = 0; place < positions.size(); ++place) {
        for (std::size_t h = 0; h < heads; ++h) {
            for (std::size_t j = 0; j < half; ++j) {
                const double angle =
                    direction * positions[place] *
                    std::pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(size));
                double& a = x[(place * heads + h) * size + j];
                double& b = x[(place * heads + h) * size + j + half];
                const double before = a;
                a = before * std::cos(angle) - b * std::sin(angle);
                b = b * std::cos(angle) + before * std::sin(angle);
            }
        }
    }
    return x;
}

template <class T>
std::vector<double> widened(Stream& stream, const Tensor& tensor)
{
    const auto values = tensor.toHost<T>(stream);
    return {values.begin(), values.end()};
}

template <class T>
Tensor tensorOf(Stream& stream, const std::shared_ptr<Device>& device,
                const std::vector<double>& values, Shape shape)
{
    std::vector<T> data;
    for (const double value : values) {
        if constexpr (sizeof(T) == 2)
            data.push_back(T(static_cast<float>(value)));
        else
            data.push_back(static_cast<T>(value));
    }
    return Tensor::fromHost(stream, device, std::move(shape), std::span<const T>(data));
}

/// Starts one number beyond an aligned place.
template <class T>
Tensor misaligned(const std::shared_ptr<Device>& device, const Shape& shape)
{
    const Index count = elementCount(shape);
    return Tensor::empty(device, {count + 1}, DTypeOf<T>::value)
        .narrow(0, 1, count)
        .reshaped(shape);
}

} // namespace

class TestRope : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void publishedValues_data() { test::addDeviceRows(); }
    void publishedValues()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        // theta 1e5, 64 numbers, position 10: unit vectors show cosine and sine of each pair
        std::vector<double> x(64, 0.0);
        x[1] = 1;
        const Tensor t = tensorOf<double>(*stream, device, x, {1, 1, 1, 64});
        RopeArgs args;
        args.theta = 1e5;
        args.first = 10;
        rope(*stream, t, t, args);
        std::vector<double> y = widened<double>(*stream, t);
        QVERIFY(std::abs(y[1] - 0.76797650) < 1e-8);
        QVERIFY(std::abs(y[33] - 0.64047802) < 1e-8); // the partner is half a head away ...
        QVERIFY(y[0] == 0 && y[2] == 0);              // ... and no neighbour
        args.first = 1;
        for (const auto& [pair, frequency] : {std::pair(1, 0.69783058), {31, 1.43301257e-5}}) {
            std::fill(x.begin(), x.end(), 0.0);
            x[static_cast<std::size_t>(pair)] = 1;
            const Tensor u = tensorOf<double>(*stream, device, x, {1, 1, 1, 64});
            rope(*stream, u, u, args);
            y = widened<double>(*stream, u);
            const double angle = std::asin(y[static_cast<std::size_t>(pair) + 32]);
            QVERIFY(std::abs(angle - frequency) < 1e-8 * std::max(frequency, 1e-5));
        }
    }

    void agreesWithTheFormula_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("length");
        QTest::addColumn<int>("heads");
        QTest::addColumn<int>("size");
        test::forEachDevice([&](const std::string& name, int device) {
            for (const auto& [length, heads, size] : {std::tuple(0, 1, 4),
                                                      {1, 1, 2},
                                                      {31, 3, 64},
                                                      {32, 2, 32},
                                                      {33, 2, 6},
                                                      {257, 1, 128},
                                                      {5, 9, 254}})
                QTest::addRow("%s, %d, %d, %d", name.c_str(), length, heads, size)
                    << device << length << heads << size;
        });
    }
    void agreesWithTheFormula()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, length);
        QFETCH(int, heads);
        QFETCH(int, size);
        const auto stream = device->createStream();
        const auto x = numbers(static_cast<std::size_t>(2 * length * heads * size));
        std::vector<double> positions;
        for (int i = 0; i < 2 * length; ++i)
            positions.push_back(i % length + 7);
        const Shape shape{2, length, heads, size};
        RopeArgs args;
        args.first = 7;
        const auto check = [&](auto element, double tolerance) {
            using T = decltype(element);
            const Tensor input = tensorOf<T>(*stream, device, x, shape);
            const Tensor output = Tensor::empty(device, shape, DTypeOf<T>::value);
            rope(*stream, input, output, args);
            // Between aligned places the same bits come out.
            const Tensor from = misaligned<T>(device, shape), to = misaligned<T>(device, shape);
            stream->copy(from.data(), input.data(), input.bytes());
            rope(*stream, from, to, args);
            if (widened<T>(*stream, to) != widened<T>(*stream, output))
                return std::string("misaligned operands give other numbers");
            return difference(widened<T>(*stream, output),
                              rotated(widened<T>(*stream, input), positions,
                                      static_cast<std::size_t>(heads),
                                      static_cast<std::size_t>(size), 10000, 1),
                              tolerance, 0);
        };
        VERGENCE_AGREES(check(double{}, 1e-13));
        VERGENCE_AGREES(check(float{}, 4e-7));
        VERGENCE_AGREES(check(Float16{}, 1e-3));
        VERGENCE_AGREES(check(BFloat16{}, 8e-3));
    }

    void distantPositionsKeepTheirAccuracy()
    {
        for (const double angle : {0.0, 1e-9, 0.7853981, 1.5707963267948966, 3.0, 100.0, 4096.5,
                                   131071.25, 1048575.5, -2.5, -70000.125}) {
            const auto fine = rotationBy<double>(angle);
            const auto coarse = rotationBy<float>(angle);
            const double tolerance = 3e-16 + 1e-16 * std::abs(angle);
            QVERIFY(std::abs(fine.cosine - std::cos(angle)) <= tolerance);
            QVERIFY(std::abs(fine.sine - std::sin(angle)) <= tolerance);
            QVERIFY(std::abs(static_cast<double>(coarse.cosine) - std::cos(angle)) <= 1.2e-7);
            QVERIFY(std::abs(static_cast<double>(coarse.sine) - std::sin(angle)) <= 1.2e-7);
        }
    }

    void positionsMayBeGiven_data() { test::addDeviceRows(); }
    void positionsMayBeGiven()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        const auto x = numbers(2 * 3 * 2 * 8);
        const std::vector<std::int32_t> shared{5, 0, 90}, own{5, 0, 90, 1, 1, 4000};
        const Tensor input = tensorOf<double>(*stream, device, x, {2, 3, 2, 8});
        const Tensor output = Tensor::empty(device, {2, 3, 2, 8}, DType::F64);
        const Tensor sharedTensor =
            Tensor::fromHost(*stream, device, {3}, std::span<const std::int32_t>(shared));
        const Tensor ownTensor =
            Tensor::fromHost(*stream, device, {2, 3}, std::span<const std::int32_t>(own));
        RopeArgs args;
        args.positions = &sharedTensor;
        rope(*stream, input, output, args);
        VERGENCE_AGREES(difference(widened<double>(*stream, output),
                                   rotated(x, {5, 0, 90, 5, 0, 90}, 2, 8, 10000, 1), 1e-13, 0));
        args.positions = &ownTensor;
        rope(*stream, input, output, args);
        VERGENCE_AGREES(difference(widened<double>(*stream, output),
                                   rotated(x, {5, 0, 90, 1, 1, 4000}, 2, 8, 10000, 1), 1e-12, 0));
    }

    void theOtherDirectionTurnsBackInPlace_data() { test::addDeviceRows(); }
    void theOtherDirectionTurnsBackInPlace()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        const auto x = numbers(1 * 40 * 3 * 16);
        const Tensor t = tensorOf<double>(*stream, device, x, {1, 40, 3, 16});
        rope(*stream, t, t);
        QVERIFY(!difference(widened<double>(*stream, t), x, 1e-3, 0).empty());
        RopeArgs back;
        back.direction = -1;
        rope(*stream, t, t, back);
        VERGENCE_AGREES(difference(widened<double>(*stream, t), x, 1e-14, 0));
    }

    void windowsOfAProjectionAreTurnedInPlace_data() { test::addDeviceRows(); }
    void windowsOfAProjectionAreTurnedInPlace()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        const auto x = numbers(2 * 5 * 4 * 6);
        const Tensor all = tensorOf<float>(*stream, device, x, {2, 5, 4, 6});
        rope(*stream, all.narrow(2, 1, 2), all.narrow(2, 1, 2));
        const auto want = rotated(x, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4}, 4, 6, 10000, 1);
        const auto got = all.toHost<float>(*stream);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const bool isTurned = i / 6 % 4 == 1 || i / 6 % 4 == 2;
            QVERIFY(std::abs(static_cast<double>(got[i]) - (isTurned ? want[i] : x[i])) < 4e-7);
        }
    }

    void whatDoesNotFitIsNamed()
    {
        const auto device = makeCpuDevice(1);
        const auto stream = device->createStream();
        const Tensor x = Tensor::zeros(*stream, device, {2, 3, 1, 8});
        const Tensor odd = Tensor::zeros(*stream, device, {2, 3, 1, 7});
        const Tensor wide = Tensor::zeros(*stream, device, {2, 3, 1, 8}, DType::F64);
        const Tensor places = Tensor::zeros(*stream, device, {4}, DType::I32);
        RopeArgs args;
        args.positions = &places;
        VERGENCE_THROWS(ContractError, "[2, 3, 1, 7]", rope(*stream, odd, odd));
        VERGENCE_THROWS(ContractError, "F64", rope(*stream, x, wide));
        VERGENCE_THROWS(ContractError, "[4]", rope(*stream, x, x, args));
        args = {};
        args.direction = 2;
        VERGENCE_THROWS(ContractError, "direction", rope(*stream, x, x, args));
    }
};

VERGENCE_TEST(TestRope)
#include "tst_rope.moc"
