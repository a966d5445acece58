#include "tests/bench/engine_rows.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/backend.h"
#include "core/compute/dense.h"
#include "core/compute/graph/step_graph.h"
#include "core/compute/ops/pointwise.h"

namespace vergence::bench {

namespace {

std::shared_ptr<Device> s_device;
std::unique_ptr<Stream> s_stream;
double s_peakFlops = 0;

/// How many are measured in a row: those of a GPU begin later than they are queued.
int callsInARow()
{
    return s_device->isCpu() ? 1 : 20;
}

/// Seconds of one call.
double secondsOf(const Call& call)
{
    using Clock = std::chrono::steady_clock;
    const int calls = callsInARow();
    s_stream->synchronize();
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i)
        call();
    s_stream->synchronize();
    return std::chrono::duration<double>(Clock::now() - start).count() / calls;
}

double leastSeconds(const Call& call, int times)
{
    call();
    double least = 1e9;
    for (int i = 0; i < times; ++i)
        least = std::min(least, secondsOf(call));
    return least;
}

constexpr int kChains = 10;

/// Multiply-adds in registers. Chains start apart, else the compiler works out one for all.
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

#if defined(__x86_64__)

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

int lanesOfCpu()
{
    return __builtin_cpu_supports("avx512f") ? 16 : 8;
}

void multiplyAddsOfCpu(Index count)
{
    lanesOfCpu() == 16 ? multiplyAdds512(count) : multiplyAdds256(count);
}

#else

int lanesOfCpu()
{
    return 4;
}

void multiplyAddsOfCpu(Index count)
{
    typedef float Lanes __attribute__((vector_size(16)));
    multiplyAdds<Lanes>(count);
}

#endif

double peakFlopsOfCpu()
{
    constexpr Index kTasks = 64, kCount = 20000;
    const auto call = [] {
        s_stream->parallelFor(
            kTasks, 1,
            [](const void*, Index first, Index last) {
                multiplyAddsOfCpu((last - first) * kCount);
            },
            nullptr);
    };
    return 2.0 * kChains * lanesOfCpu() * kTasks * kCount / leastSeconds(call, 50);
}

double peakFlopsOfGpu()
{
    constexpr Index kSide = 4096;
    const Tensor a = filled({kSide, kSide}), b = filled({kSide, kSide}), y = filled({kSide, kSide});
    return 2.0 * kSide * kSide * kSide /
           leastSeconds([&] { s_device->dense().matmul(*s_stream, a, b, y); }, 3);
}

/// Seconds of a sum y = x + y that reads and writes `bytes` together.
double secondsOfSum(double bytes)
{
    static std::map<double, double> known;
    const auto [place, isNew] = known.try_emplace(bytes);
    if (isNew) {
        const Shape shape{static_cast<Index>(bytes / 12) + 1};
        const Tensor x = filled(shape), y = filled(shape);
        place->second = leastSeconds([&] { addScaled(*s_stream, 1, x, 1, y, y); }, 30);
    }
    return place->second;
}

double secondsOfBound(const Work& work)
{
    const double flops = work.type == DType::F32 ? work.flops / s_peakFlops : 0;
    return std::max(flops, work.bytes > 0 ? secondsOfSum(work.bytes) : 0);
}

void measure(benchmark::State& state, const Work& work, const Call& call)
{
    constexpr benchmark::IterationCount kFewest = 5;
    call();
    double best = 1e9;
    for (auto _ : state) {
        const double seconds = secondsOf(call);
        best = std::min(best, seconds);
        state.SetIterationTime(seconds);
    }
    for (auto i = state.iterations(); i < kFewest; ++i)
        best = std::min(best, secondsOf(call));
    state.counters["best_us"] = best * 1e6;
    if (work.flops > 0)
        state.counters["GFLOP/s"] = work.flops / best * 1e-9;
    if (work.bytes > 0)
        state.counters["GB/s"] = work.bytes / best * 1e-9;
    if (const double bound = secondsOfBound(work); bound > 0)
        state.counters["bound_us"] = bound * 1e6;
    StepGraph graph([&](Stream&) { call(); });
    for (int i = 0; i < 4 && !s_device->isCpu(); ++i)
        graph.run(*s_stream);
    if (graph.isReplayed())
        state.counters["graph_us"] = leastSeconds([&] { graph.run(*s_stream); }, 10) * 1e6;
}

/// The value of the first argument that begins with `option`, which is taken away.
std::string takeOption(int& argc, char** argv, const std::string& option)
{
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument.starts_with(option)) {
            std::rotate(argv + i, argv + i + 1, argv + argc);
            --argc;
            return argument.substr(option.size());
        }
    }
    return {};
}

void open(const std::string& name, int threads)
{
    s_device = name == "cpu" ? makeCpuDevice(threads) : openDevices(threads).select(name);
    s_stream = s_device->createStream();
    s_peakFlops = s_device->isCpu() ? peakFlopsOfCpu() : peakFlopsOfGpu();
    benchmark::AddCustomContext("device", s_device->info().name);
    benchmark::AddCustomContext("peak", fmt::format("{:.0f} GFLOP/s", s_peakFlops * 1e-9));
}

} // namespace

const std::shared_ptr<Device>& device()
{
    return s_device;
}

Stream& stream()
{
    return *s_stream;
}

Tensor filled(const Shape& shape, DType type)
{
    std::vector<float> values(static_cast<std::size_t>(elementCount(shape)));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i * 7919 % 2048) / 512.0f - 2.0f;
    const Tensor numbers = Tensor::fromHost<float>(*s_stream, s_device, shape, values);
    if (type == DType::F32)
        return numbers;
    const Tensor converted = Tensor::empty(s_device, shape, type);
    cast(*s_stream, numbers, converted);
    return converted;
}

Tensor integers(const Shape& shape, int below)
{
    std::vector<std::int32_t> values(static_cast<std::size_t>(elementCount(shape)));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::int32_t>(i * 7919 % static_cast<std::size_t>(below));
    return Tensor::fromHost<std::int32_t>(*s_stream, s_device, shape, values);
}

void addRow(const std::string& name, const Work& work, std::function<Call()> prepare)
{
    benchmark::RegisterBenchmark(name.c_str(),
                                 [=](benchmark::State& state) { measure(state, work, prepare()); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->MinTime(0.3 / callsInARow());
}

int runRows(int argc, char** argv, const std::function<void()>& addRows)
{
    const std::string threads = takeOption(argc, argv, "--threads=");
    const std::string name = takeOption(argc, argv, "--device=");
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    try {
        open(name.empty() ? "cpu" : name, std::atoi(threads.c_str()));
        addRows();
        benchmark::RunSpecifiedBenchmarks();
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return static_cast<int>(error.exitCode());
    }
    s_stream.reset();
    s_device.reset();
    return 0;
}

} // namespace vergence::bench
