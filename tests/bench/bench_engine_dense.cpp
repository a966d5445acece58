// Products and convolutions of the tensor engine on the CPU. Rows have the names of
// torch_engine.py; best_us is the fastest single call, GFLOP/s follows from it. --threads=N caps
// the threads; a name or a part of it as --benchmark_filter selects rows.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "core/compute/dense.h"
#include "core/compute/tensor.h"

namespace {

using namespace vergence;

std::shared_ptr<Device> device;
std::unique_ptr<Stream> stream;

Tensor filled(const Shape& shape, DType type)
{
    std::vector<float> values(static_cast<std::size_t>(elementCount(shape)));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i * 7919 % 251) / 251.0f - 0.5f;
    if (type == DType::F32)
        return Tensor::fromHost<float>(*stream, device, shape, values);
    std::vector<BFloat16> half(values.begin(), values.end());
    return Tensor::fromHost<BFloat16>(*stream, device, shape, half);
}

void measure(benchmark::State& state, double flops, const std::function<void()>& call)
{
    using Clock = std::chrono::steady_clock;
    call();
    double best = 1e9;
    for (auto _ : state) {
        const auto start = Clock::now();
        call();
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        best = std::min(best, seconds);
        state.SetIterationTime(seconds);
    }
    state.counters["best_us"] = best * 1e6;
    state.counters["GFLOP/s"] = flops / best * 1e-9;
}

void add(const std::string& name, double flops, std::function<std::function<void()>()> prepare)
{
    benchmark::RegisterBenchmark(name.c_str(),
                                 [=](benchmark::State& state) { measure(state, flops, prepare()); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->MinTime(0.3);
}

constexpr int kChains = 10;

/// Multiply-adds in registers: the bound of all other rows. Chains start apart, else the compiler
/// works out one for all.
template <class Lanes>
[[gnu::always_inline]] inline void multiplyAdds(Index count)
{
    const Lanes x = Lanes{} + 0.999f, y = Lanes{} + 1e-6f;
    Lanes chains[kChains];
    for (int i = 0; i < kChains; ++i)
        chains[i] = Lanes{} + static_cast<float>(i);
    for (Index step = 0; step < count; ++step) {
#pragma GCC unroll 10
        for (int i = 0; i < kChains; ++i)
            chains[i] = chains[i] * x + y;
    }
    benchmark::DoNotOptimize(&chains);
    benchmark::ClobberMemory();
}

[[gnu::target("avx512f")]] void multiplyAdds512(Index count)
{
    typedef float Lanes __attribute__((vector_size(64)));
    multiplyAdds<Lanes>(count);
}

[[gnu::target("avx2,fma")]] void multiplyAdds256(Index count)
{
    typedef float Lanes __attribute__((vector_size(32)));
    multiplyAdds<Lanes>(count);
}

void addPeak()
{
    constexpr Index kTasks = 64, kCount = 20000;
    const bool wide = __builtin_cpu_supports("avx512f");
    const double flops = 2.0 * kChains * (wide ? 16 : 8) * kTasks * kCount;
    add("peak multiply-add f32", flops, [wide] {
        return [wide] {
            stream->parallelFor(
                kTasks, 1,
                [](const void* context, Index first, Index last) {
                    const Index count = (last - first) * kCount;
                    *static_cast<const bool*>(context) ? multiplyAdds512(count)
                                                       : multiplyAdds256(count);
                },
                &wide);
        };
    });
}

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
    add(nameOfProduct("matmul", p), flopsOf(p), [p] {
        const auto o = operandsOf(p);
        return [o] { device->dense().matmul(*stream, o->a, o->b, o->y, o->options); };
    });
}

void addLinear(const Product& p, Activation activation, bool isPacked)
{
    const std::string kind = std::string("linear ") + (isPacked ? "packed " : "") +
                             (activation == Activation::None ? "bias" : "bias gelu");
    add(nameOfProduct(kind.c_str(), p), flopsOf(p), [=] {
        const auto o = operandsOf(p);
        o->options.bias = &o->bias;
        o->options.activation = activation;
        if (isPacked)
            o->packed = device->dense().packLinear(*stream, o->b, p.m);
        o->options.packedB = o->packed.get();
        return [o] { device->dense().matmul(*stream, o->a, o->b, o->y, o->options); };
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
    return device->dense().packConv2d(*stream, filled({16, 3, 3, 16}, DType::F32), {1, 8, 8, 16},
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
        add(kind + name, flops, [=] {
            const auto o = operandsOf(c);
            o->options.bias = &o->bias;
            o->options.algorithm = algorithm;
            if (isPacked)
                o->packed = device->dense().packConv2d(*stream, o->w, o->x.shape(), o->options);
            o->options.packed = o->packed.get();
            return [o] { device->dense().conv2d(*stream, o->x, o->w, o->y, o->options); };
        });
    };
    addForward("conv ", false, ConvAlgorithm::Direct);
    addForward("conv packed ", true, ConvAlgorithm::Direct);
    if (c.kernel == 3 && c.stride == 1 && c.type == DType::F32 && hasWinograd())
        addForward("conv packed winograd ", true, ConvAlgorithm::Winograd);
    add("conv backward " + name, 2 * flops, [=] {
        const auto o = operandsOf(c);
        return [o] {
            DenseMath& dense = device->dense();
            dense.conv2dBackwardData(*stream, o->y, o->w, o->gradX, o->options);
            dense.conv2dBackwardWeight(*stream, o->x, o->y, o->gradW, &o->gradBias, false,
                                       o->options);
        };
    });
}

void addRows()
{
    constexpr auto kBf16 = DType::BF16;
    addPeak();
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
    int threads = 0, kept = 1;
    for (int i = 1; i < argc; ++i) {
        if (std::strncmp(argv[i], "--threads=", 10) == 0)
            threads = std::atoi(argv[i] + 10);
        else
            argv[kept++] = argv[i];
    }
    argc = kept;
    device = makeCpuDevice(threads);
    stream = device->createStream();
    addRows();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
    stream.reset();
    device.reset();
    return 0;
}
