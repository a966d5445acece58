// The Gaussian rasteriser of sugar, on the CPU unless bench_device.h is told otherwise. Rows are
// named stage/Gaussians/width/height/threads; counters: lanes are pairs of Gaussian and pixel that
// were looked at, pairs those that were blended, per second of the blending stage and thread.

#include <cmath>
#include <random>

#include <benchmark/benchmark.h>

#include "plugins/sugar/compute/rasteriser.h"
#include "tests/bench/bench_device.h"

namespace {

using namespace vergence;
using namespace vergence::sugar;

/// Flat splats on a bumpy ball, as many on the far side as on the near one; their size follows from
/// their number so that they cover it a few times over.
GaussianCloud ball(Index count)
{
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> unit(-1, 1);
    GaussianCloud cloud;
    cloud.degree = 3;
    const float spacing = std::sqrt(12.57F / static_cast<float>(count));
    for (Index i = 0; i < count; ++i) {
        float p[3], length = 0;
        for (float& x : p) {
            x = normal(random);
            length += x * x;
        }
        const float radius = (1 + 0.15F * unit(random)) / std::sqrt(length);
        for (const float x : p)
            cloud.position.push_back(radius * x);
        for (int k = 0; k < 3; ++k)
            cloud.logScale.push_back(std::log(1.1F * spacing) + 0.6F * unit(random) -
                                     (k == 2 ? 1.5F : 0));
        for (int k = 0; k < 4; ++k)
            cloud.rotation.push_back(normal(random));
        cloud.opacity.push_back(1.5F * unit(random));
        for (int k = 0; k < 48; ++k)
            (k < 3 ? cloud.shDc : cloud.shRest).push_back((k < 3 ? 1.0F : 0.1F) * unit(random));
    }
    return cloud;
}

struct Scene {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    Rasteriser raster;
    Gaussians gaussians;
    AdamMoments moments;
    Camera camera;
    Tensor gradient;

    Scene(Index count, int width, int height, int threads, MomentFormat format = MomentFormat::F32)
        : device(bench::benchDevice(threads)),
          stream(device->createStream()),
          raster(device),
          gaussians(upload(*stream, device, ball(count), count, 3)),
          moments(zeroMoments(*stream, device, count, 3, format)),
          camera(lookingAt({0, -3, 0.5}, {0, 0, 0}, {0, 0, 1},
                           0.42 * 3 * std::max(width, height) * 0.9, width, height))
    {
        std::mt19937 random(3);
        std::uniform_real_distribution<float> unit(-1e-6F, 1e-6F);
        std::vector<float> values(static_cast<std::size_t>(3 * width * height));
        for (float& value : values)
            value = unit(random);
        gradient = Tensor::fromHost<float>(*stream, device, {3, height, width}, values);
    }
};

void report(benchmark::State& state, const Scene& scene, const RasterSeconds& sum, bool backward)
{
    const RasterCounts counts = scene.raster.counts();
    const double turns = static_cast<double>(state.iterations()),
                 threads = static_cast<double>(state.range(3));
    const double blend = (backward ? sum.blendBackward : sum.blend) / turns;
    state.counters["Mlanes/s"] = static_cast<double>(counts.lanes) / blend / threads * 1e-6;
    state.counters["Mpairs/s"] = static_cast<double>(counts.evaluations) / blend / threads * 1e-6;
    state.counters["pairs/px"] = static_cast<double>(counts.evaluations) /
                                 static_cast<double>(state.range(1) * state.range(2));
    state.counters["entries"] = static_cast<double>(counts.instances);
    state.counters["project_ms"] = 1e3 * sum.project / turns;
    state.counters["sort_ms"] = 1e3 * sum.sort / turns;
    state.counters["blend_ms"] = 1e3 * sum.blend / turns;
    state.counters["back_ms"] = 1e3 * sum.blendBackward / turns;
    state.counters["gaussians_ms"] = 1e3 * sum.gaussianBackward / turns;
}

void addSeconds(RasterSeconds& sum, const RasterSeconds& more)
{
    sum.project += more.project;
    sum.sort += more.sort;
    sum.blend += more.blend;
    sum.blendBackward += more.blendBackward;
    sum.gaussianBackward += more.gaussianBackward;
}

void render(benchmark::State& state)
{
    Scene scene(state.range(0), static_cast<int>(state.range(1)), static_cast<int>(state.range(2)),
                static_cast<int>(state.range(3)));
    RasterSettings settings;
    settings.geometry = state.range(4) != 0;
    RasterSeconds sum;
    for (auto _ : state) {
        scene.raster.render(*scene.stream, scene.gaussians, scene.camera, settings);
        scene.stream->synchronize();
        addSeconds(sum, scene.raster.seconds());
    }
    report(state, scene, sum, false);
}

/// Picture, backward pass and Adam. The rates are 0, so that every turn sees the same scene.
void stepWith(benchmark::State& state, MomentFormat format)
{
    Scene scene(state.range(0), static_cast<int>(state.range(1)), static_cast<int>(state.range(2)),
                static_cast<int>(state.range(3)), format);
    const RasterImageGradients image{scene.gradient, {}, {}, {}};
    AdamStep adam;
    RasterSeconds sum;
    for (auto _ : state) {
        scene.raster.render(*scene.stream, scene.gaussians, scene.camera, {}, true);
        scene.raster.backwardAndUpdate(*scene.stream, scene.gaussians, image, nullptr,
                                       scene.moments.first, scene.moments.second, adam, nullptr);
        ++adam.step;
        scene.stream->synchronize();
        addSeconds(sum, scene.raster.seconds());
    }
    report(state, scene, sum, true);
}
void step(benchmark::State& state)
{
    stepWith(state, MomentFormat::F32);
}
void stepCompact(benchmark::State& state)
{
    stepWith(state, MomentFormat::Compact);
}

BENCHMARK(render)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Args({12'000, 160, 128, 1, 0})
    ->Args({12'000, 160, 128, 1, 1})
    ->Args({20'000, 320, 240, 1, 0})
    ->Args({40'000, 266, 474, 1, 0})
    ->Args({40'000, 266, 474, 2, 0})
    ->Args({40'000, 533, 949, 2, 0})
    ->Args({1'000'000, 1920, 1080, 2, 0});
BENCHMARK(step)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Args({12'000, 160, 128, 1})
    ->Args({20'000, 320, 240, 1})
    ->Args({10'000, 266, 474, 2})
    ->Args({30'000, 266, 474, 1})
    ->Args({30'000, 266, 474, 2})
    ->Args({60'000, 266, 474, 1})
    ->Args({60'000, 266, 474, 2})
    ->Args({100'000, 533, 949, 2})
    ->Args({1'000'000, 1920, 1080, 2});
BENCHMARK(stepCompact)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Args({30'000, 266, 474, 1})
    ->Args({60'000, 266, 474, 2})
    ->Args({1'000'000, 1920, 1080, 2});

} // namespace

BENCHMARK_MAIN();
