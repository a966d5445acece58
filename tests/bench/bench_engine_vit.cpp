// A transformer block, a whole ViT-S/14 and the optimizer, each beside what the computer could do
// at best: FLOPs by the fastest large product, bytes by the fastest copy, both measured here. The
// same rows for a peer: torch_engine.py.

#include <chrono>
#include <memory>

#include <benchmark/benchmark.h>

#include "core/compute/backend.h"
#include "core/compute/nn/dino.h"
#include "core/compute/optim/adam.h"

namespace {
using namespace vergence;

constexpr Index kBatch = 8, kTokens = 257, kWidth = 384;

std::shared_ptr<Device> device()
{
    static const DeviceList list = openDevices();
    return list.devices.back();
}

template <class Body>
double bestSeconds(Stream& stream, int runs, const Body& body)
{
    double best = 1e9;
    for (int i = 0; i < runs; ++i) {
        const auto start = std::chrono::steady_clock::now();
        body();
        stream.synchronize();
        best = std::min(
            best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

/// FLOP/s of a product of 2048 × 2048 matrices.
double peakFlops()
{
    static const double peak = [] {
        const auto stream = device()->createStream();
        const Tensor a = Tensor::zeros(*stream, device(), {2048, 2048});
        const Tensor b = Tensor::zeros(*stream, device(), {2048, 2048});
        const Tensor y = Tensor::empty(device(), {2048, 2048});
        return 2.0 * 2048 * 2048 * 2048 /
               bestSeconds(*stream, 8, [&] { device()->dense().matmul(*stream, a, b, y); });
    }();
    return peak;
}

/// Bytes per second, read and written, of a sum of two arrays of 128 MiB.
double peakBytes()
{
    static const double peak = [] {
        const auto stream = device()->createStream();
        const Index n = Index{1} << 25;
        ParameterSet parameters(device());
        parameters.add("all", {n});
        parameters.allocate(*stream);
        MovingAverage average(parameters, *stream, 0.5);
        return 3.0 * 4 * static_cast<double>(n) /
               bestSeconds(*stream, 8, [&] { average.update(*stream); });
    }();
    return peak;
}

/// Runs `body` over and over; `best_ms` is its fastest call, as the peer gives it.
template <class Body>
void repeat(benchmark::State& state, Stream& stream, const Body& body)
{
    double best = 1e9;
    for (auto _ : state)
        best = std::min(best, bestSeconds(stream, 1, body));
    state.counters["best_ms"] = 1e3 * best;
}

/// The time of a row is to be compared with `bound_ms`.
void addBounds(benchmark::State& state, double flops, double bytes)
{
    state.counters["GFLOP"] = flops / 1e9;
    state.counters["bound_ms"] = 1e3 * std::max(flops / peakFlops(), bytes / peakBytes());
}

double blockFlops()
{
    const double rows = kBatch * kTokens;
    return 2 * rows * 12 * kWidth * kWidth + 4 * rows * kTokens * kWidth;
}

/// One block of ViT-S/14 (LayerScale, erf-GELU) on [8, 257, 384].
struct BlockBench {
    std::unique_ptr<Stream> stream = device()->createStream();
    ParameterSet parameters{device()};
    TransformerBlock block;
    Tensor x = Tensor::empty(device(), {kBatch, kTokens, kWidth});
    Tensor gradY = Tensor::empty(device(), {kBatch, kTokens, kWidth});

    BlockBench() : block({parameters, {}}, config(), kDinoNames)
    {
        parameters.allocate(*stream);
        parameters.initialise(*stream, 1);
        fillNormal(*stream, x, 0, 1, 2, 0);
        fillNormal(*stream, gradY, 0, 1, 2, 1);
    }
    static BlockConfig config()
    {
        BlockConfig config;
        config.width = kWidth;
        config.heads = 6;
        config.hidden = 4 * kWidth;
        config.layerScale = true;
        return config;
    }
};

void blockForward(benchmark::State& state)
{
    BlockBench bench;
    Graph graph(*bench.stream, device(), {false, DType::F32});
    PackedWeights packed;
    const ForwardPass pass{graph, bench.parameters, &packed, false, {}};
    repeat(state, *bench.stream, [&] {
        graph.reset();
        bench.block(pass, graph.constant(bench.x), 0, bench.block.attention());
    });
    addBounds(state, blockFlops(), 0);
}

void blockForwardBackward(benchmark::State& state)
{
    BlockBench bench;
    Graph graph(*bench.stream, device(), {});
    const ForwardPass pass{graph, bench.parameters, nullptr, false, {}};
    repeat(state, *bench.stream, [&] {
        graph.reset();
        bench.parameters.zeroGradients(*bench.stream);
        const Value x = graph.variable(bench.x);
        const Value y = bench.block(pass, x, 0, bench.block.attention());
        graph.backward(weightedSum(graph, y, bench.gradY));
    });
    addBounds(state, 3 * blockFlops(), 0);
}

void towerForward(benchmark::State& state)
{
    const auto stream = device()->createStream();
    ParameterSet parameters(device());
    const DinoTower tower({parameters, {}}, [] {
        DinoConfig config;
        config.grid = 16;
        return config;
    }());
    parameters.allocate(*stream);
    parameters.initialise(*stream, 1);
    const Tensor pixels = Tensor::empty(device(), {kBatch, 3, 224, 224});
    fillNormal(*stream, pixels, 0, 1, 2, 0);
    Graph graph(*stream, device(), {false, DType::F32});
    PackedWeights packed;
    const ForwardPass pass{graph, parameters, &packed, true, {}};
    repeat(state, *stream, [&] {
        graph.reset();
        tower(pass, graph.constant(pixels));
    });
    addBounds(state, 12 * blockFlops() + 2.0 * kBatch * 256 * 588 * kWidth, 0);
}

/// `clips`: with the global norm, clipping and the check for numbers that are not finite.
void adamW(benchmark::State& state, bool clips)
{
    const auto stream = device()->createStream();
    const Index n = 25'000'000;
    ParameterSet parameters(device());
    parameters.addGroup({"all", 0.01, false});
    parameters.add("all", {n}, 0, {0, 1});
    parameters.allocate(*stream);
    parameters.initialise(*stream, 1);
    fillNormal(*stream, parameters.gradients(), 0, 1e-3, 1, 1);
    AdamOptions options;
    options.measuresNorm = clips;
    options.clipNorm = clips ? 1 : 0;
    Adam adam(parameters, *stream, options);
    adam.setRates(*stream, {1e-3});
    repeat(state, *stream, [&] { adam.step(*stream); });
    // Gradient, two moments and value are read, three are written; the norm reads once more.
    addBounds(state, 0, 4.0 * (clips ? 8 : 7) * static_cast<double>(n));
}

BENCHMARK(blockForward)
    ->Name("ViT-S/14 block forward [8,257,384]")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(blockForwardBackward)
    ->Name("ViT-S/14 block forward+backward [8,257,384]")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(towerForward)
    ->Name("ViT-S/14 forward [8,3,224,224]")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(adamW, plain, false)
    ->Name("AdamW on 25 M parameters")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(adamW, clipped, true)
    ->Name("AdamW on 25 M parameters, clipped")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
} // namespace

BENCHMARK_MAIN();
