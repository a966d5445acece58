#include <array>
#include <numeric>

#include <QTest>

#include "core/compute/dense.h"
#include "tests/core/compute/dense/dense_fixture.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace {

struct Setup {
    Index images = 1, channels = 3, height = 5, width = 6, outChannels = 4, kernel = 3;
    int stride = 1, padding = 1;
    ImageLayout layout = ImageLayout::Nhwc;
    bool bias = false, residual = false, residualIsY = false, pre = false, packed = false;
    double factor = 1; ///< of all operands
    ConvAlgorithm algorithm = ConvAlgorithm::Direct;
    Activation activation = Activation::None;
    DType type = DType::F32, resultType = DType::F32;
    bool accumulate = false, misaligned = false;

    bool nhwc() const { return layout == ImageLayout::Nhwc; }
    Index outHeight() const { return (height + 2 * padding - kernel) / stride + 1; }
    Index outWidth() const { return (width + 2 * padding - kernel) / stride + 1; }
    Shape imageShape(Index c, Index h, Index w) const
    {
        return nhwc() ? Shape{images, h, w, c} : Shape{images, c, h, w};
    }
    Shape x() const { return imageShape(channels, height, width); }
    Shape y() const { return imageShape(outChannels, outHeight(), outWidth()); }
    Shape w() const
    {
        return nhwc() ? Shape{outChannels, kernel, kernel, channels}
                      : Shape{outChannels, channels, kernel, kernel};
    }
    std::size_t at(const Shape& shape, Index n, Index y, Index x, Index c) const
    {
        return static_cast<std::size_t>(nhwc()
                                            ? ((n * shape[1] + y) * shape[2] + x) * shape[3] + c
                                            : ((n * shape[1] + c) * shape[2] + y) * shape[3] + x);
    }
    std::string name() const
    {
        return fmt::format("{} {} with {} stride {} padding {}", nhwc() ? "NHWC" : "NCHW",
                           toString(x()), toString(w()), stride, padding);
    }
};

/// Calls visit(x index, w index, y index) for every product that the definition names.
template <class Visit>
void forEachProduct(const Setup& s, const Visit& visit)
{
    const Shape xs = s.x(), ys = s.y(), ws = s.w();
    for (Index n = 0; n < s.images; ++n)
        for (Index oy = 0; oy < s.outHeight(); ++oy)
            for (Index ox = 0; ox < s.outWidth(); ++ox)
                for (Index i = 0; i < s.kernel; ++i)
                    for (Index j = 0; j < s.kernel; ++j) {
                        const Index iy = oy * s.stride - s.padding + i;
                        const Index ix = ox * s.stride - s.padding + j;
                        if (iy < 0 || ix < 0 || iy >= s.height || ix >= s.width)
                            continue;
                        for (Index o = 0; o < s.outChannels; ++o)
                            for (Index c = 0; c < s.channels; ++c)
                                visit(s.at(xs, n, iy, ix, c), s.at(ws, o, i, j, c),
                                      s.at(ys, n, oy, ox, o));
                    }
}

struct Outcome {
    std::vector<double> y, pre, gradX, gradW, gradBias;
};

Outcome expected(const Setup& s)
{
    const auto x = numbers(elementCount(s.x()), 1), w = numbers(elementCount(s.w()), 2);
    const auto bias = numbers(s.outChannels, 3), residual = numbers(elementCount(s.y()), 4);
    const auto before = numbers(elementCount(s.y()), 5), g = numbers(elementCount(s.y()), 6);
    Outcome out;
    out.y.assign(residual.size(), 0);
    out.gradX.assign(x.size(), 0);
    out.gradW = s.accumulate ? numbers(elementCount(s.w()), 7) : std::vector<double>(w.size(), 0);
    out.gradBias = s.accumulate ? numbers(s.outChannels, 8)
                                : std::vector<double>(static_cast<std::size_t>(s.outChannels), 0);
    forEachProduct(s, [&](std::size_t xAt, std::size_t wAt, std::size_t yAt) {
        out.y[yAt] += x[xAt] * w[wAt];
        out.gradX[xAt] += g[yAt] * w[wAt];
        out.gradW[wAt] += g[yAt] * x[xAt];
    });
    const Index pixels = s.outHeight() * s.outWidth();
    for (std::size_t i = 0; i < out.y.size(); ++i) {
        const auto channel = s.nhwc() ? i % static_cast<std::size_t>(s.outChannels)
                                      : i / static_cast<std::size_t>(pixels) %
                                            static_cast<std::size_t>(s.outChannels);
        out.gradBias[channel] += g[i];
        if (s.bias)
            out.y[i] += bias[channel];
        out.pre.push_back(out.y[i]);
        out.y[i] = activated(s.activation, out.y[i]);
        if (s.residual)
            out.y[i] += s.residualIsY ? before[i] : residual[i];
    }
    return out;
}

Outcome computed(const std::shared_ptr<Device>& device, const Setup& s)
{
    const auto stream = device->createStream();
    const auto make = [&](const Shape& shape, DType type, std::uint64_t seed) {
        const auto values = numbers(elementCount(shape), seed, s.factor);
        return s.misaligned ? misalignedTensor(*stream, device, type, shape, values)
                            : tensorOf(*stream, device, type, shape, values);
    };
    const Tensor x = make(s.x(), s.type, 1), w = make(s.w(), s.type, 2);
    const Tensor bias = make({s.outChannels}, s.resultType, 3);
    const Tensor residual = make(s.y(), s.resultType, 4), y = make(s.y(), s.resultType, 5);
    const Tensor pre = make(s.y(), s.resultType, 9);
    Conv2dOptions options;
    options.layout = s.layout;
    options.stride = s.stride;
    options.padding = s.padding;
    options.bias = s.bias ? &bias : nullptr;
    options.residual = s.residual ? (s.residualIsY ? &y : &residual) : nullptr;
    options.activation = s.activation;
    options.preActivation = s.pre ? &pre : nullptr;
    options.algorithm = s.algorithm;
    DenseMath& dense = device->dense();
    std::shared_ptr<const PackedWeight> packed;
    if (s.packed)
        packed = dense.packConv2d(*stream, w, s.x(), options);
    options.packed = packed.get();
    // Packed weights are all that a windowed convolution reads.
    const bool needsNoPlain = packed && s.kernel > 1;
    dense.conv2d(*stream, x, needsNoPlain ? Tensor::wrap(device, nullptr, s.w(), s.type) : w, y,
                 options);

    Outcome out;
    out.y = valuesOf(*stream, y);
    if (s.pre)
        out.pre = valuesOf(*stream, pre);
    const Tensor g = make(s.y(), s.type, 6);
    const Tensor gradX = make(s.x(), s.resultType, 9);
    dense.conv2dBackwardData(*stream, g, w, gradX, options);
    out.gradX = valuesOf(*stream, gradX);
    const Tensor gradW = make(s.w(), s.resultType, 7);
    const Tensor gradBias = make({s.outChannels}, s.resultType, 8);
    dense.conv2dBackwardWeight(*stream, x, g, gradW, &gradBias, s.accumulate, options);
    out.gradW = valuesOf(*stream, gradW);
    out.gradBias = valuesOf(*stream, gradBias);
    return out;
}

std::string check(const std::shared_ptr<Device>& device, const Setup& s)
{
    const Outcome want = expected(s), got = computed(device, s);
    const auto compare = [&](const char* what, const std::vector<double>& a,
                             const std::vector<double>& b, Index k) -> std::string {
        const double tolerance =
            toleranceOf(s.type, s.resultType, k) * (std::sqrt(static_cast<double>(k)) + 1);
        const std::string text = difference(a, b, tolerance, tolerance);
        return text.empty() ? text : fmt::format("{}, {}: {}", s.name(), what, text);
    };
    const Index taps = s.kernel * s.kernel;
    const Index pixels = s.images * s.outHeight() * s.outWidth();
    std::string text = compare("y", got.y, want.y, taps * s.channels);
    if (text.empty() && s.pre)
        text = compare("preActivation", got.pre, want.pre, taps * s.channels);
    if (text.empty())
        text = compare("gradX", got.gradX, want.gradX, taps * s.outChannels);
    if (text.empty())
        text = compare("gradW", got.gradW, want.gradW, pixels);
    if (text.empty())
        text = compare("gradBias", got.gradBias, want.gradBias, pixels);
    return text;
}

const std::vector<std::pair<std::string, DType>> kTypes = {
    {"F32", DType::F32}, {"F64", DType::F64}, {"F16", DType::F16}, {"BF16", DType::BF16}};

std::vector<Setup> geometries()
{
    std::vector<Setup> all;
    for (const ImageLayout layout : {ImageLayout::Nhwc, ImageLayout::Nchw}) {
        // images, channels, height, width, outChannels, kernel, stride, padding
        for (const auto& g : std::vector<std::array<Index, 8>>{{1, 3, 5, 6, 4, 3, 1, 1},
                                                               {2, 16, 8, 8, 16, 3, 1, 1},
                                                               {1, 16, 9, 7, 32, 3, 2, 1},
                                                               {2, 5, 8, 8, 17, 3, 2, 1},
                                                               {1, 32, 7, 5, 8, 1, 1, 0},
                                                               {3, 4, 6, 6, 6, 1, 2, 0},
                                                               {1, 3, 14, 14, 20, 7, 7, 0},
                                                               {1, 2, 6, 5, 3, 5, 1, 2},
                                                               {1, 8, 4, 4, 8, 1, 1, 1},
                                                               {1, 1, 1, 1, 1, 1, 1, 0},
                                                               {1, 4, 3, 4, 5, 3, 1, 0},
                                                               {1, 3, 6, 6, 4, 2, 2, 0},
                                                               {1, 31, 4, 5, 33, 3, 1, 1},
                                                               {2, 33, 3, 4, 31, 1, 2, 0},
                                                               {1, 257, 3, 3, 32, 1, 1, 0},
                                                               {1, 32, 4, 3, 257, 3, 2, 1}}) {
            Setup s;
            s.images = g[0];
            s.channels = g[1];
            s.height = g[2];
            s.width = g[3];
            s.outChannels = g[4];
            s.kernel = g[5];
            s.stride = static_cast<int>(g[6]);
            s.padding = static_cast<int>(g[7]);
            s.layout = layout;
            all.push_back(s);
        }
    }
    return all;
}

/// Larger, so that work is cut into pieces.
std::vector<Setup> cutGeometries()
{
    std::vector<Setup> all;
    for (const ImageLayout layout : {ImageLayout::Nhwc, ImageLayout::Nchw}) {
        for (const auto& g : std::vector<std::array<Index, 7>>{{1, 32, 64, 64, 32, 3, 1},
                                                               {1, 64, 33, 40, 48, 3, 2},
                                                               {1, 160, 8, 8, 192, 3, 1},
                                                               {5, 24, 24, 20, 40, 3, 1},
                                                               {2, 64, 40, 32, 96, 1, 1}}) {
            Setup s;
            s.images = g[0];
            s.channels = g[1];
            s.height = g[2];
            s.width = g[3];
            s.outChannels = g[4];
            s.kernel = g[5];
            s.stride = static_cast<int>(g[6]);
            s.padding = static_cast<int>(s.kernel / 2);
            s.layout = layout;
            s.bias = s.accumulate = true;
            all.push_back(s);
        }
    }
    return all;
}

/// That the library's Winograd convolutions serve: with tiles of 2×2 and of 4×4 results, cut into
/// rows, into channels, whole; extents that end within a tile.
std::vector<Setup> winogradGeometries()
{
    std::vector<Setup> all;
    for (const ImageLayout layout : {ImageLayout::Nhwc, ImageLayout::Nchw}) {
        // images, channels, height, width, outChannels
        for (Setup s :
             {Setup{1, 32, 8, 8, 48}, Setup{2, 16, 13, 11, 32}, Setup{1, 32, 61, 64, 32},
              Setup{1, 128, 16, 16, 128}, Setup{1, 160, 8, 8, 192}, Setup{1, 64, 1, 1, 16}}) {
            s.layout = layout;
            s.packed = true;
            s.algorithm = ConvAlgorithm::Winograd;
            all.push_back(s);
        }
    }
    return all;
}

} // namespace

class TestConv2d : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void shapesAreRight()
    {
        Conv2dOptions options;
        options.padding = 1;
        QCOMPARE(conv2dShape({2, 8, 6, 3}, {5, 3, 3, 3}, options), (Shape{2, 8, 6, 5}));
        options.stride = 2;
        QCOMPARE(conv2dShape({2, 8, 7, 3}, {5, 3, 3, 3}, options), (Shape{2, 4, 4, 5}));
        options.layout = ImageLayout::Nchw;
        QCOMPARE(conv2dShape({2, 3, 8, 7}, {5, 3, 3, 3}, options), (Shape{2, 5, 4, 4}));
    }

    void anImpulseGivesTheKernelTurned_data() { addDeviceRows(); }
    void anImpulseGivesTheKernelTurned()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        std::vector<double> impulse(25, 0);
        impulse[12] = 1;
        std::vector<double> kernel(9);
        std::iota(kernel.begin(), kernel.end(), 1.0);
        const Tensor x = tensorOf(*stream, device, DType::F32, {1, 5, 5, 1}, impulse);
        const Tensor w = tensorOf(*stream, device, DType::F32, {1, 3, 3, 1}, kernel);
        const Tensor y = Tensor::empty(device, {1, 5, 5, 1});
        Conv2dOptions options;
        options.padding = 1;
        device->dense().conv2d(*stream, x, w, y, options);
        QCOMPARE(valuesOf(*stream, y), (std::vector<double>{0, 0, 0, 0, 0, 0, 9, 8, 7, 0, 0, 6, 5,
                                                            4, 0, 0, 3, 2, 1, 0, 0, 0, 0, 0, 0}));
    }

    void everyGeometryInEveryType_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("type");
        forEachDevice([](const std::string& name, int device) {
            for (const auto& [typeName, type] : kTypes)
                QTest::addRow("%s, %s", name.c_str(), typeName.c_str())
                    << device << static_cast<int>(type);
        });
    }
    void everyGeometryInEveryType()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, type);
        for (Setup s : geometries()) {
            s.type = s.resultType = static_cast<DType>(type);
            VERGENCE_AGREES(check(device, s));
            s.bias = s.accumulate = s.residual = true;
            VERGENCE_AGREES(check(device, s));
            if (s.type == DType::F16 || s.type == DType::BF16) {
                s.resultType = DType::F32;
                VERGENCE_AGREES(check(device, s));
            }
        }
    }

    void everyOption_data() { addDeviceRows(); }
    void everyOption()
    {
        VERGENCE_ROW_DEVICE(device);
        for (const Setup& geometry : geometries()) {
            for (int option = 0; option < 8; ++option) {
                Setup s = geometry;
                s.bias = option != 1;
                s.residual = option >= 2 && option != 4;
                s.residualIsY = option == 3 || option == 5 || option == 7;
                s.pre = option == 4 || option == 5;
                s.packed = option % 2 == 0 || option == 7;
                s.misaligned = option == 1;
                s.activation = option == 2   ? Activation::GeluErf
                               : option == 3 ? Activation::None
                               : option == 4 ? Activation::Silu
                               : option == 5 ? Activation::GeluTanh
                                             : Activation::None;
                VERGENCE_AGREES(check(device, s));
            }
        }
    }

    void piecesMeet_data() { addDeviceRows(); }
    void piecesMeet()
    {
        VERGENCE_ROW_DEVICE(device);
        for (Setup s : cutGeometries()) {
            VERGENCE_AGREES(check(device, s));
            s.activation = Activation::Silu;
            s.packed = s.residual = true;
            s.type = DType::BF16;
            VERGENCE_AGREES(check(device, s));
        }
    }

    void fewerMultiplicationsGiveTheSame()
    {
        const auto device = makeCpuDevice(2);
        for (const Setup& geometry : winogradGeometries()) {
            for (int option = 0; option < 5; ++option) {
                Setup s = geometry;
                s.bias = option > 0;
                s.residual = option >= 2;
                s.residualIsY = option == 3;
                s.pre = option == 4;
                s.activation = option == 4 ? Activation::Silu : Activation::None;
                VERGENCE_AGREES(check(device, s));
            }
        }
    }

    void winogradServesWhatTheLibraryHas()
    {
        const auto device = makeCpuDevice(2);
        const auto stream = device->createStream();
        const auto packed = [&](const Setup& s) {
            Conv2dOptions options;
            options.layout = s.layout;
            options.stride = s.stride;
            options.padding = s.padding;
            options.algorithm = s.algorithm;
            return device->dense().packConv2d(
                *stream, tensorOf(*stream, device, s.type, s.w(), numbers(elementCount(s.w()), 2)),
                s.x(), options);
        };
        Setup s;
        s.channels = s.outChannels = 32;
        s.height = s.width = 16;
        const auto direct = packed(s);
        s.algorithm = ConvAlgorithm::Winograd;
        const auto transformed = packed(s);
#if defined(__x86_64__)
        __builtin_cpu_init();
        const bool isWide = __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512vl");
#else
        const bool isWide = false;
#endif
        if (!qEnvironmentVariableIsSet("ONEDNN_MAX_CPU_ISA")) // narrows what the library takes
            QCOMPARE(transformed != nullptr, isWide);
        if (transformed)
            QVERIFY(transformed->bytes() > direct->bytes());
        for (const auto& [kernel, stride] : {std::pair<Index, int>{3, 2}, {5, 1}, {1, 1}}) {
            Setup other = s;
            other.kernel = kernel;
            other.stride = stride;
            other.padding = static_cast<int>(kernel / 2);
            QVERIFY2(!packed(other), other.name().c_str());
        }
    }

    void manyThreadsGiveTheSameBits()
    {
        for (Setup s : winogradGeometries()) {
            s.bias = s.residual = true;
            s.factor = factorOfThreadTests();
            const Outcome reference = computed(makeCpuDevice(1), s);
            for (const int threads : {2, 16})
                QVERIFY2(computed(makeCpuDevice(threads), s).y == reference.y, s.name().c_str());
        }
        for (const DType type : {DType::F32, DType::BF16}) {
            for (Setup s : cutGeometries()) {
                s.residual = true;
                s.factor = factorOfThreadTests();
                s.type = type;
                const Outcome reference = computed(makeCpuDevice(1), s);
                for (const int threads : {1, 2, 16}) {
                    const Outcome got = computed(makeCpuDevice(threads), s);
                    QVERIFY2(got.y == reference.y, s.name().c_str());
                    QVERIFY2(got.gradX == reference.gradX, s.name().c_str());
                    QVERIFY2(got.gradW == reference.gradW, s.name().c_str());
                    QVERIFY2(got.gradBias == reference.gradBias, s.name().c_str());
                }
                s.factor = 1 / 3.0;
                const auto device = makeCpuDevice(2);
                QVERIFY2(computed(device, s).gradW == computed(device, s).gradW, s.name().c_str());
                QVERIFY2(computed(device, s).y == computed(device, s).y, s.name().c_str());
            }
        }
    }

    void gradientsAreDerivatives_data() { addDeviceRows(); }
    void gradientsAreDerivatives()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        for (Setup s : geometries()) {
            s.type = s.resultType = DType::F64;
            s.bias = true;
            Conv2dOptions options;
            options.layout = s.layout;
            options.stride = s.stride;
            options.padding = s.padding;
            const auto g = numbers(elementCount(s.y()), 6);
            const auto loss = [&](const std::vector<double>& x, const std::vector<double>& w,
                                  const std::vector<double>& b) {
                const Tensor bias = tensorOf(*stream, device, DType::F64, {s.outChannels}, b);
                options.bias = &bias;
                const Tensor y = Tensor::empty(device, s.y(), DType::F64);
                device->dense().conv2d(*stream, tensorOf(*stream, device, DType::F64, s.x(), x),
                                       tensorOf(*stream, device, DType::F64, s.w(), w), y, options);
                const auto values = valuesOf(*stream, y);
                return std::inner_product(values.begin(), values.end(), g.begin(), 0.0);
            };
            const Outcome got = computed(device, s);
            const auto x = numbers(elementCount(s.x()), 1), w = numbers(elementCount(s.w()), 2);
            const auto b = numbers(s.outChannels, 3);
            VERGENCE_AGREES(gradientDifference([&](const auto& v) { return loss(v, w, b); }, x,
                                               got.gradX, 1e-6, 16));
            VERGENCE_AGREES(gradientDifference([&](const auto& v) { return loss(x, v, b); }, w,
                                               got.gradW, 1e-6, 16));
            VERGENCE_AGREES(gradientDifference([&](const auto& v) { return loss(x, w, v); }, b,
                                               got.gradBias, 1e-6, 4));
        }
    }

    void emptyExtents_data() { addDeviceRows(); }
    void emptyExtents()
    {
        VERGENCE_ROW_DEVICE(device);
        for (const ImageLayout layout : {ImageLayout::Nhwc, ImageLayout::Nchw}) {
            for (int which = 0; which < 3; ++which) {
                Setup s;
                s.layout = layout;
                s.bias = s.accumulate = true;
                (which == 0 ? s.images : which == 1 ? s.channels : s.outChannels) = 0;
                VERGENCE_AGREES(check(device, s));
                s.accumulate = false;
                s.type = s.resultType = DType::F64;
                VERGENCE_AGREES(check(device, s));
                s.kernel = 1;
                s.padding = 0;
                VERGENCE_AGREES(check(device, s));
            }
        }
    }

    void badOperandsAreNamed()
    {
        const auto device = makeCpuDevice(1);
        const auto stream = device->createStream();
        DenseMath& dense = device->dense();
        const auto zeros = [&](const Shape& shape, DType type = DType::F32) {
            return Tensor::zeros(*stream, device, shape, type);
        };
        Conv2dOptions options;
        const Tensor x = zeros({1, 4, 4, 3}), w = zeros({5, 3, 3, 3}), y = zeros({1, 2, 2, 5});
        VERGENCE_THROWS(ContractError, "images [1, 4, 4, 3] and weights [5, 3, 3, 2] do not fit",
                        dense.conv2d(*stream, x, zeros({5, 3, 3, 2}), y, options));
        VERGENCE_THROWS(ContractError, "exceeds images [1, 2, 2, 3]",
                        dense.conv2d(*stream, zeros({1, 2, 2, 3}), w, y, options));
        VERGENCE_THROWS(ContractError, "give [1, 2, 2, 5], not [1, 4, 4, 5]",
                        dense.conv2d(*stream, x, w, zeros({1, 4, 4, 5}), options));
        VERGENCE_THROWS(ContractError, "differ in type",
                        dense.conv2d(*stream, x, zeros({5, 3, 3, 3}, DType::F64), y, options));
        VERGENCE_THROWS(ContractError, "y is F16 but the operands are F32",
                        dense.conv2d(*stream, x, w, zeros({1, 2, 2, 5}, DType::F16), options));
        VERGENCE_THROWS(ContractError, "is strided",
                        dense.conv2d(*stream, zeros({1, 4, 4, 6}).narrow(3, 0, 3), w, y, options));
        const Tensor bias = zeros({4});
        options.bias = &bias;
        VERGENCE_THROWS(ContractError, "the bias is [4]", dense.conv2d(*stream, x, w, y, options));
        options = {};
        const auto packed = dense.packConv2d(*stream, w, {1, 8, 8, 3}, options);
        options.packed = packed.get();
        if (packed) { // not with SSE4.1 alone
            VERGENCE_THROWS(ContractError, "packed for other images",
                            dense.conv2d(*stream, x, w, y, options));
        }
        VERGENCE_THROWS(ContractError, "gradBias is [5]",
                        dense.conv2dBackwardWeight(
                            *stream, zeros({1, 4, 4, 3}), zeros({1, 2, 2, 4}), zeros({4, 3, 3, 3}),
                            std::make_unique<Tensor>(zeros({5})).get(), false, {}));
        options = {};
        options.stride = 0;
        VERGENCE_THROWS(ContractError, "stride 0", dense.conv2d(*stream, x, w, y, options));
    }
};

VERGENCE_TEST(TestConv2d)
#include "tst_conv2d.moc"
