// How long refinement and texture of the lab `sugar` take: a step on bound Gaussians and its parts,
// and painting a mesh. The last argument is threads. Read medians (--benchmark_repetitions=5
// --benchmark_report_aggregates_only).

#include <memory>
#include <vector>

#include <benchmark/benchmark.h>
#include <tbb/global_control.h>

#include "core/compute/device.h"
#include "plugins/sugar/refine/binding.h"
#include "plugins/sugar/refine/refiner.h"
#include "plugins/sugar/texture/baking.h"
#include "tests/bench/bench_device.h"
#include "tests/plugins/sugar/learning_support.h"
#include "tests/plugins/sugar/refine_support.h"

namespace vergence::sugar {

namespace {

using namespace fixtures;

/// Gaussians on a sphere of 2·rings·(2·rings − 2) triangles, with some gradients.
struct BoundSphere {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    Binding binding;
    BoundArrays value, gradient;
    Gaussians gaussians;
    GaussianArrays given;
    Tensor scratch;

    BoundSphere(std::int64_t rings, std::int64_t perTriangle, std::int64_t threads)
        : device(bench::benchDevice(static_cast<int>(threads))),
          stream(device->createStream())
    {
        const TriangleMesh mesh = sphereMesh(static_cast<int>(rings));
        binding = bindToMesh(*stream, device, mesh, static_cast<int>(perTriangle), 1e-6);
        value = initialParameters(*stream, binding, mesh, 0);
        gradient = BoundArrays::zeros(*stream, device, binding.vertices(), binding.gaussians(), 0);
        gaussians = boundGaussians(*stream, binding, value);
        const Index n = binding.gaussians();
        given = GaussianArrays::zeros(*stream, device, n, 0);
        const auto fill = [&](const Tensor& tensor, std::uint64_t seed) {
            const auto numbers = uniformNumbers(tensor.size(), -1, 1, seed);
            stream->copy(tensor.data(), numbers.data(), numbers.size() * sizeof(float));
        };
        fill(given.position, 1);
        fill(given.logScale, 2);
        fill(given.rotation, 3);
    }
};

constexpr std::int64_t kRings = 159; ///< 100,488 triangles

void placing(benchmark::State& state)
{
    BoundSphere own(kRings, state.range(0), state.range(1));
    bench::turns(state, *own.stream,
                 [&] { placeGaussians(*own.stream, own.binding, own.value, own.gaussians); });
    state.counters["triangles"] = static_cast<double>(own.binding.triangles());
}

void placingBackward(benchmark::State& state)
{
    BoundSphere own(kRings, state.range(0), state.range(1));
    bench::turns(state, *own.stream, [&] {
        placeGaussiansBackward(*own.stream, own.binding, own.value, own.gaussians, own.given,
                               own.gradient, own.scratch);
    });
}

void normalTerm(benchmark::State& state)
{
    BoundSphere own(kRings, 1, state.range(1));
    NormalConsistency consistency;
    bench::turns(state, *own.stream, [&] {
        benchmark::DoNotOptimize(consistency.addGradient(*own.stream, own.binding, own.value.vertex,
                                                         0.1, own.gradient.vertex));
    });
}

BENCHMARK(placing)->Args({1, 1})->Args({1, 2})->Args({6, 1})->UseRealTime()->Unit(
    benchmark::kMillisecond);
BENCHMARK(placingBackward)
    ->Args({1, 1})
    ->Args({1, 2})
    ->Args({6, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(normalTerm)->Args({1, 1})->Args({1, 2})->UseRealTime()->Unit(benchmark::kMillisecond);

/// A step of the demo: 8,000 Gaussians, 160×120. Arguments: rings, threads.
void refineStep(benchmark::State& state)
{
    const auto device = bench::benchDevice(static_cast<int>(state.range(1)));
    const auto stream = device->createStream();
    const auto pictures =
        std::make_shared<TrainingPictures>(builtInPictures(160, 120, false, 1), device);
    RefinerSettings settings;
    settings.extent = 2.6;
    settings.near = 0.05F;
    settings.degree = 1;
    settings.steps = 200;
    TriangleMesh mesh = sphereMesh(static_cast<int>(state.range(0)), 0.8, {0, 0, 0.3});
    Refiner refiner(device, settings, pictures, {0, 5, 10, 15, 20});
    refiner.start(*stream, mesh);
    RefineReport report;
    double binding = 0;
    bench::turns(state, *stream, [&] {
        refiner.step(*stream, {}, report);
        binding += report.bindingSeconds;
    });
    state.counters["Gaussians"] = static_cast<double>(refiner.gaussians().count);
    state.counters["binding s"] = binding / static_cast<double>(state.iterations());
}
BENCHMARK(refineStep)->Args({45, 1})->Args({45, 2})->UseRealTime()->Unit(benchmark::kMillisecond);

/// One view on a sphere of 8,000 (rings 45) or 100,000 triangles with squares of 6 texels.
void baking(benchmark::State& state)
{
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(state.range(1)));
    const TriangleMesh mesh = sphereMesh(static_cast<int>(state.range(0)));
    const Camera camera = lookingAt({0, -3, 1}, {0, 0, 0}, {0, 0, 1}, 400, 640, 480);
    const BakeView view{camera, makeImage(640, 480, 3, 128)};
    const TextureAtlas atlas = squareAtlas(mesh, squarePacking(mesh.faces(), 6));
    BakeSettings settings;
    settings.isRobust = false;
    constexpr std::size_t kViews = 1'000'000; // never done
    TextureBaker baker(mesh, atlas, settings, kViews, [&](std::size_t) { return view; });
    baker.step(); // the first one also finds out which texels belong to which triangle
    for (auto _ : state)
        baker.step();
    const auto texels = static_cast<double>(state.iterations() * atlas.side) * atlas.side;
    state.counters["texels·views/s"] = benchmark::Counter(texels, benchmark::Counter::kIsRate);
}
BENCHMARK(baking)
    ->Args({45, 1})
    ->Args({45, 2})
    ->Args({159, 1})
    ->Args({159, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

} // namespace

} // namespace vergence::sugar

BENCHMARK_MAIN();
