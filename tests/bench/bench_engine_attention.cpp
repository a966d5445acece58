// How long attention takes, beside its bound: 4 · pairs · d floating-point operations forward and
// 10 · pairs · d backward, where pairs counts the query-key pairs that the mask lets through. The
// counter FLOPS is what was reached; the peak of the machine is lanes · 4 (two fused multiply-adds
// a cycle) · clock · cores. The peer's rows: torch_engine.py beside this file.

#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/compute/device.h"
#include "core/compute/ops/attention.h"

namespace vergence {

namespace {

/// Shapes [B, Sq, Sk, H, Hkv, causal] with heads of 64 numbers.
struct Problem {
    std::shared_ptr<Device> device = makeCpuDevice();
    std::unique_ptr<Stream> stream = device->createStream();
    Tensor q, k, v, o, logSumExp, gradO, gradQ, gradK, gradV, delta;
    AttentionArgs args;
    double pairs = 0;

    explicit Problem(const benchmark::State& state)
    {
        const Index b = state.range(0), queries = state.range(1), keys = state.range(2);
        const Index heads = state.range(3), keyHeads = state.range(4), size = 64;
        args.causal = state.range(5) != 0;
        args.cacheOffset = keys - queries;
        pairs = static_cast<double>(b * heads * queries) * static_cast<double>(keys);
        if (args.causal)
            pairs -= static_cast<double>(b * heads) * 0.5 * static_cast<double>(queries) *
                     static_cast<double>(queries - 1);
        q = filled({b, queries, heads, size});
        gradO = filled({b, queries, heads, size});
        k = filled({b, keys, keyHeads, size});
        v = filled({b, keys, keyHeads, size});
        o = filled(q.shape()), gradQ = filled(q.shape());
        gradK = filled(k.shape()), gradV = filled(k.shape());
        logSumExp = filled({b, heads, queries}), delta = filled({b, heads, queries});
    }

    void forward() { attention(*stream, q, k, v, o, &logSumExp, args); }
    void backward()
    {
        attentionBackward(*stream, q, k, v, o, logSumExp, gradO, gradQ, gradK, gradV, delta, args);
    }

private:
    Tensor filled(Shape shape)
    {
        std::vector<float> values(static_cast<std::size_t>(elementCount(shape)));
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>((i * 2654435761u >> 8) % 2000) * 1e-3f - 1;
        return Tensor::fromHost(*stream, device, std::move(shape), std::span<const float>(values));
    }
};

void count(benchmark::State& state, double flops)
{
    state.counters["FLOPS"] = benchmark::Counter(
        flops, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void forward(benchmark::State& state)
{
    Problem problem(state);
    for (auto _ : state)
        problem.forward();
    count(state, problem.pairs * 64 * 4);
}

void forwardBackward(benchmark::State& state)
{
    Problem problem(state);
    for (auto _ : state) {
        problem.forward();
        problem.backward();
    }
    count(state, problem.pairs * 64 * 14);
}

void shapes(benchmark::internal::Benchmark* rows)
{
    rows->ArgNames({"B", "Sq", "Sk", "H", "Hkv", "causal"})
        ->Args({8, 257, 257, 6, 6, 0})
        ->Args({1, 512, 512, 9, 3, 1})
        ->Args({1, 1024, 1024, 8, 8, 0})
        ->Args({1, 4096, 4096, 8, 8, 0})
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
}

void decodingShapes(benchmark::internal::Benchmark* rows)
{
    rows->ArgNames({"B", "Sq", "Sk", "H", "Hkv", "causal"})
        ->Args({1, 1, 1024, 8, 8, 0})
        ->Args({1, 1, 1024, 9, 3, 0})
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
}

BENCHMARK(forward)->Apply(shapes);
BENCHMARK(forwardBackward)->Apply(shapes);
BENCHMARK(forward)->Name("decode")->Apply(decodingShapes);

} // namespace

} // namespace vergence

BENCHMARK_MAIN();
