// How long the learning steps of the lab `sugar` take. The bound of Adam is a copy of as many bytes
// as it moves, in the same process; loss and density control stand beside the specification's
// figures. Arguments are threads last. Read medians (--benchmark_repetitions=5
// --benchmark_report_aggregates_only).

#include <cstring>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/compute/device.h"
#include "plugins/sugar/compute/learning/density_control.h"
#include "plugins/sugar/compute/learning/optimiser.h"
#include "plugins/sugar/compute/learning/photometric.h"
#include "tests/bench/bench_device.h"
#include "tests/plugins/sugar/learning_support.h"

namespace vergence::sugar {

namespace {

using namespace fixtures;

struct Machine {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;

    explicit Machine(std::int64_t threads)
        : device(bench::benchDevice(static_cast<int>(threads))),
          stream(device->createStream())
    {
    }
};

/// A picture of noise and a photograph of noise.
struct Pictures {
    Machine machine;
    Tensor x, photo, gradient;

    Pictures(std::int64_t width, std::int64_t height, std::int64_t threads) : machine(threads)
    {
        const Index samples = 3 * width * height;
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(samples));
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::uint8_t>(i * 2654435761U >> 13);
        x = Tensor::fromHost<float>(*machine.stream, machine.device, {3, height, width},
                                    uniformNumbers(samples, 0, 1, 1));
        photo = Tensor::fromHost<std::uint8_t>(*machine.stream, machine.device, {height, width, 3},
                                               bytes);
        gradient = Tensor::zeros(*machine.stream, machine.device, {3, height, width});
    }
};

void perPixel(benchmark::State& state)
{
    const auto pixels = static_cast<double>(state.iterations() * state.range(0) * state.range(1));
    state.counters["s/pixel"] =
        benchmark::Counter(pixels, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void photometricGradient(benchmark::State& state)
{
    Pictures own(state.range(0), state.range(1), state.range(2));
    PhotometricLoss loss;
    bench::turns(state, *own.machine.stream, [&] {
        benchmark::DoNotOptimize(
            loss.evaluate(*own.machine.stream, own.x, own.photo, {}, own.gradient));
    });
    perPixel(state);
}
BENCHMARK(photometricGradient)
    ->Args({160, 120, 1})
    ->Args({160, 120, 2})
    ->Args({640, 480, 1})
    ->Args({640, 480, 2})
    ->Args({1920, 1244, 1})
    ->Args({1920, 1244, 2})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void quality(benchmark::State& state)
{
    Pictures own(state.range(0), state.range(1), state.range(2));
    for (auto _ : state)
        benchmark::DoNotOptimize(pictureQuality(*own.machine.stream, own.x, own.photo, {}));
    perPixel(state);
}
BENCHMARK(quality)
    ->Args({640, 480, 1})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// Gaussians of degree 3 with gradients.
struct Bed {
    Machine machine;
    TrainedGaussians trained;
    GaussianArrays gradients;

    Bed(Index count, std::int64_t threads, int degree = 3, MomentFormat format = MomentFormat::F32)
        : machine(threads)
    {
        trained = sugar::trained(
            *machine.stream,
            upload(*machine.stream, machine.device, madeUpCloud(count, degree), count, degree),
            format);
        gradients =
            upload(*machine.stream, machine.device, madeUpCloud(count, degree, 9), count, degree)
                .value;
    }
    Index numbers() const
    {
        Index sum = 0;
        for (const Tensor& tensor : gradients.groups())
            sum += tensor.size();
        return sum;
    }
};

void bytesMoved(benchmark::State& state, Index bytes)
{
    state.counters["bytes"] = benchmark::Counter(static_cast<double>(state.iterations() * bytes),
                                                 benchmark::Counter::kIsRate);
}

/// Reads four arrays and writes three: 28 bytes a number, or 12 and twice a compact Gaussian's 191.
void adam(benchmark::State& state, bool isSparse, MomentFormat format = MomentFormat::F32)
{
    Bed own(state.range(0), state.range(1), 3, format);
    AdamStep step;
    step.learningRate = ratesAt({}, 1, 0, 1000);
    step.sparse = isSparse;
    std::vector<std::uint8_t> visible(static_cast<std::size_t>(state.range(0)), 0);
    for (std::size_t i = 0; i < visible.size(); ++i)
        visible[i] = i / 37 % 2 == 0; // runs of neighbours, half of all
    const Tensor flags = Tensor::fromHost<std::uint8_t>(*own.machine.stream, own.machine.device,
                                                        {state.range(0)}, visible);
    bench::turns(state, *own.machine.stream, [&] {
        benchmark::DoNotOptimize(adamUpdate(*own.machine.stream, own.trained.gaussians,
                                            own.gradients, own.trained.moment1, own.trained.moment2,
                                            step, flags, 1));
        ++step.step;
    });
    const Index bytes = format == MomentFormat::F32 ? own.numbers() * 28
                                                    : own.numbers() * 12 + 2 * 191 * state.range(0);
    bytesMoved(state, bytes / (isSparse ? 2 : 1));
}
void adamDense(benchmark::State& state)
{
    adam(state, false);
}
void adamSparseHalf(benchmark::State& state)
{
    adam(state, true);
}
void adamDenseCompact(benchmark::State& state)
{
    adam(state, false, MomentFormat::Compact);
}
void adamSparseHalfCompact(benchmark::State& state)
{
    adam(state, true, MomentFormat::Compact);
}
BENCHMARK(adamDense)
    ->Args({12'000, 1})
    ->Args({100'000, 1})
    ->Args({100'000, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(adamSparseHalf)
    ->Args({12'000, 1})
    ->Args({100'000, 1})
    ->Args({100'000, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

BENCHMARK(adamDenseCompact)
    ->Args({12'000, 1})
    ->Args({100'000, 1})
    ->Args({100'000, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(adamSparseHalfCompact)
    ->Args({12'000, 1})
    ->Args({100'000, 1})
    ->Args({100'000, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// Copies as many bytes as adamDense moves: half of them read, half written.
void copyOfTheSameBytes(benchmark::State& state)
{
    Bed own(state.range(0), 1);
    const auto bytes = static_cast<std::size_t>(own.numbers()) * 14;
    std::vector<std::uint8_t> from(bytes, 1), to(bytes);
    for (auto _ : state) {
        std::memcpy(to.data(), from.data(), bytes);
        benchmark::ClobberMemory();
    }
    bytesMoved(state, static_cast<Index>(2 * bytes));
}
BENCHMARK(copyOfTheSameBytes)
    ->Arg(12'000)
    ->Arg(100'000)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// One event on Gaussians of which a tenth grow: half of these by splitting.
void densification(benchmark::State& state)
{
    Bed own(state.range(0), state.range(1));
    DensitySettings settings;
    settings.percentDense = 0.06;
    std::vector<float> gradient(static_cast<std::size_t>(state.range(0)), 1e-4F);
    for (std::size_t i = 0; i < gradient.size(); i += 10)
        gradient[i] = 1e-3F;
    const std::vector<float> visible(gradient.size(), 1.0F);
    for (auto _ : state) {
        state.PauseTiming();
        TrainedGaussians trained = own.trained; // handles: arrays are replaced, not changed
        trained.statistics.gradient = Tensor::fromHost<float>(
            *own.machine.stream, own.machine.device, {state.range(0)}, gradient);
        trained.statistics.visible = Tensor::fromHost<float>(
            *own.machine.stream, own.machine.device, {state.range(0)}, visible);
        state.ResumeTiming();
        const auto report = densify(*own.machine.stream, trained, settings, 1, true, 1, 500);
        state.counters["cloned"] = static_cast<double>(report.cloned);
        state.counters["split"] = static_cast<double>(report.split);
    }
}
BENCHMARK(densification)
    ->Args({100'000, 1})
    ->Args({100'000, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void relocation(benchmark::State& state)
{
    Bed own(state.range(0), state.range(1));
    DensitySettings settings;
    settings.pruneOpacity = 0.1;
    for (auto _ : state) {
        TrainedGaussians trained = own.trained;
        benchmark::DoNotOptimize(relocate(*own.machine.stream, trained, settings, 1, 500));
    }
}
BENCHMARK(relocation)->Args({100'000, 1})->UseRealTime()->Unit(benchmark::kMillisecond);

void sorting(benchmark::State& state)
{
    Bed own(state.range(0), state.range(1));
    for (auto _ : state) {
        TrainedGaussians trained = own.trained;
        sortByPlace(*own.machine.stream, trained);
    }
}
BENCHMARK(sorting)->Args({100'000, 1})->UseRealTime()->Unit(benchmark::kMillisecond);

void noise(benchmark::State& state)
{
    Bed own(state.range(0), state.range(1));
    std::int64_t step = 0;
    for (auto _ : state)
        addNoise(*own.machine.stream, own.trained.gaussians, 1e-9, 1, ++step);
}
BENCHMARK(noise)->Args({100'000, 1})->UseRealTime()->Unit(benchmark::kMillisecond);

} // namespace

} // namespace vergence::sugar

BENCHMARK_MAIN();
