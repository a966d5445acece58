// Products and convolutions of the tensor engine; rows and options as engine_rows.h says.

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/compute/dense.h"
#include "tests/bench/engine_rows.h"

namespace {

using namespace vergence;
using bench::addRow;
using bench::device;
using bench::filled;
using bench::stream;

struct Product {
    Index batch, m, n, k;
    bool transposeA, transposeB;
    DType type = DType::F32;
};

std::string nameOfProduct(const char* kind, const Product& p)
{
    return fmt::format("{} {}x{}x{}x{} {}{} {}", kind, p.batch, p.m, p.n, p.k,
                       p.transposeA ? 'T' : 'N', p.transposeB ? 'T' : 'N',
                       p.type == DType::F32 ? "f32" : "bf16");
}

double flopsOf(const Product& p)
{
    return 2.0 * static_cast<double>(p.batch * p.m) * static_cast<double>(p.n * p.k);
}

struct Operands {
    Tensor a, b, y;
    std::shared_ptr<const PackedWeight> packed;
    Tensor bias;
    MatmulOptions options;
};

std::shared_ptr<Operands> operandsOf(const Product& p)
{
    const auto shape = [&](Index rows, Index columns) {
        return p.batch == 1 ? Shape{rows, columns} : Shape{p.batch, rows, columns};
    };
    auto o = std::make_shared<Operands>();
    o->a = filled(p.transposeA ? shape(p.k, p.m) : shape(p.m, p.k), p.type);
    o->b = filled(p.transposeB ? shape(p.n, p.k) : shape(p.k, p.n), p.type);
    o->y = filled(shape(p.m, p.n), p.type);
    o->bias = filled({p.n}, p.type);
    o->options.transposeA = p.transposeA;
    o->options.transposeB = p.transposeB;
    return o;
}

void addProduct(const Product& p)
{
    addRow(nameOfProduct("matmul", p), {flopsOf(p), 0, p.type}, [p] {
        const auto o = operandsOf(p);
        return [o] { device()->dense().matmul(stream(), o->a, o->b, o->y, o->options); };
    });
}

void addLinear(const Product& p, Activation activation, bool isPacked)
{
    const std::string kind = std::string("linear ") + (isPacked ? "packed " : "") +
                             (activation == Activation::None ? "bias" : "bias gelu");
    addRow(nameOfProduct(kind.c_str(), p), {flopsOf(p), 0, p.type}, [=] {
        const auto o = operandsOf(p);
        o->options.bias = &o->bias;
        o->options.activation = activation;
        if (isPacked)
            o->packed = device()->dense().packLinear(stream(), o->b, p.m);
        o->options.packedB = o->packed.get();
        return [o] { device()->dense().matmul(stream(), o->a, o->b, o->y, o->options); };
    });
}

struct Convolution {
    Index images, channels, side, outChannels, kernel;
    int stride;
    ImageLayout layout = ImageLayout::Nhwc;
    DType type = DType::F32;
};

struct ConvOperands {
    Tensor x, w, y, bias, gradX, gradW, gradBias;
    Conv2dOptions options;
    std::shared_ptr<const PackedWeight> packed;
};

std::shared_ptr<ConvOperands> operandsOf(const Convolution& c)
{
    const bool nhwc = c.layout == ImageLayout::Nhwc;
    auto o = std::make_shared<ConvOperands>();
    o->options.layout = c.layout;
    o->options.stride = c.stride;
    o->options.padding = static_cast<int>(c.kernel / 2);
    const Shape x = nhwc ? Shape{c.images, c.side, c.side, c.channels}
                         : Shape{c.images, c.channels, c.side, c.side};
    const Shape w = nhwc ? Shape{c.outChannels, c.kernel, c.kernel, c.channels}
                         : Shape{c.outChannels, c.channels, c.kernel, c.kernel};
    o->x = filled(x, c.type);
    o->w = filled(w, c.type);
    o->y = filled(conv2dShape(x, w, o->options), c.type);
    o->bias = filled({c.outChannels}, c.type);
    o->gradX = filled(x, c.type);
    o->gradW = filled(w, c.type);
    o->gradBias = filled({c.outChannels}, c.type);
    return o;
}

/// Whether the library has such convolutions for this processor.
bool hasWinograd()
{
    Conv2dOptions options;
    options.padding = 1;
    options.algorithm = ConvAlgorithm::Winograd;
    return device()->dense().packConv2d(stream(), filled({16, 3, 3, 16}, DType::F32), {1, 8, 8, 16},
                                        options) != nullptr;
}

void addConvolution(const Convolution& c)
{
    const Index outSide = (c.side + 2 * (c.kernel / 2) - c.kernel) / c.stride + 1;
    const double flops = 2.0 * static_cast<double>(c.images * outSide * outSide) *
                         static_cast<double>(c.outChannels * c.channels * c.kernel * c.kernel);
    const std::string name =
        fmt::format("{}->{} {}x{} k{} s{} n{} {} {}", c.channels, c.outChannels, c.side, c.side,
                    c.kernel, c.stride, c.images, c.layout == ImageLayout::Nhwc ? "nhwc" : "nchw",
                    c.type == DType::F32 ? "f32" : "bf16");
    const auto addForward = [&](const char* kind, bool isPacked, ConvAlgorithm algorithm) {
        addRow(kind + name, {flops, 0, c.type}, [=] {
            const auto o = operandsOf(c);
            o->options.bias = &o->bias;
            o->options.algorithm = algorithm;
            if (isPacked)
                o->packed = device()->dense().packConv2d(stream(), o->w, o->x.shape(), o->options);
            o->options.packed = o->packed.get();
            return [o] { device()->dense().conv2d(stream(), o->x, o->w, o->y, o->options); };
        });
    };
    addForward("conv ", false, ConvAlgorithm::Direct);
    addForward("conv packed ", true, ConvAlgorithm::Direct);
    if (c.kernel == 3 && c.stride == 1 && c.type == DType::F32 && hasWinograd())
        addForward("conv packed winograd ", true, ConvAlgorithm::Winograd);
    addRow("conv backward " + name, {2 * flops, 0, c.type}, [=] {
        const auto o = operandsOf(c);
        return [o] {
            DenseMath& dense = device()->dense();
            dense.conv2dBackwardData(stream(), o->y, o->w, o->gradX, o->options);
            dense.conv2dBackwardWeight(stream(), o->x, o->y, o->gradW, &o->gradBias, false,
                                       o->options);
        };
    });
}

void addRows()
{
    constexpr auto kBf16 = DType::BF16;
    for (const Product& p : std::vector<Product>{{1, 257, 1536, 384, false, true},
                                                 {1, 257, 384, 1536, false, true},
                                                 {1, 257, 384, 1536, false, false},
                                                 {1, 1536, 384, 257, true, false},
                                                 {1, 1024, 1024, 1024, false, false},
                                                 {1, 1024, 1024, 1024, false, true},
                                                 {1, 1024, 1024, 1024, true, false},
                                                 {1, 384, 1536, 2056, true, false},
                                                 {6, 257, 257, 64, false, true},
                                                 {6, 257, 64, 257, false, false},
                                                 {96, 50, 50, 32, false, true},
                                                 {1, 1, 1536, 384, false, true},
                                                 {1, 4, 1536, 384, false, true},
                                                 {1, 16, 16, 16, false, false},
                                                 {1, 64, 64, 64, false, true},
                                                 {1, 257, 1536, 384, false, true, kBf16},
                                                 {1, 257, 384, 1536, false, true, kBf16},
                                                 {1, 1024, 1024, 1024, false, false, kBf16},
                                                 {1, 1024, 1024, 1024, true, false, kBf16},
                                                 {1, 384, 1536, 2056, true, false, kBf16},
                                                 {6, 257, 257, 64, false, true, kBf16}})
        addProduct(p);
    for (const DType type : {DType::F32, kBf16}) {
        for (const bool isPacked : {false, true}) {
            addLinear({1, 257, 1536, 384, false, true, type}, Activation::GeluErf, isPacked);
            addLinear({1, 257, 384, 1536, false, true, type}, Activation::None, isPacked);
            addLinear({1, 32, 1536, 384, false, true, type}, Activation::GeluErf, isPacked);
            addLinear({1, 1, 1536, 384, false, true, type}, Activation::GeluErf, isPacked);
        }
    }
    // Levels of the image generator's sizes Pico (32, 64, 128 channels) and S (64, 128, 256).
    for (const Convolution& c :
         std::vector<Convolution>{{1, 32, 64, 32, 3, 1},
                                  {1, 64, 32, 64, 3, 1},
                                  {1, 128, 16, 128, 3, 1},
                                  {1, 64, 64, 64, 3, 1},
                                  {1, 128, 32, 128, 3, 1},
                                  {1, 256, 16, 256, 3, 1},
                                  {1, 256, 8, 256, 3, 1},
                                  {1, 64, 64, 64, 3, 2},
                                  {1, 256, 16, 128, 1, 1},
                                  {8, 32, 32, 64, 3, 1},
                                  {1, 64, 64, 64, 3, 1, ImageLayout::Nchw},
                                  {1, 256, 16, 256, 3, 1, ImageLayout::Nchw},
                                  {1, 64, 64, 64, 3, 1, ImageLayout::Nhwc, kBf16}})
        addConvolution(c);
}

} // namespace

int main(int argc, char** argv)
{
    return bench::runRows(argc, argv, addRows);
}
