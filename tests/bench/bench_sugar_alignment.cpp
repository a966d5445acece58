// How long the terms of the lab `sugar` take that align Gaussians with surfaces: neighbours
// searched and read back, samples of the field, depth against normals, whole steps. The last
// argument is threads where there are two. Read medians (--benchmark_repetitions=5
// --benchmark_report_aggregates_only).

#include <cmath>
#include <filesystem>
#include <memory>
#include <vector>

#include <unistd.h>

#include <benchmark/benchmark.h>

#include "core/compute/device.h"
#include "plugins/sugar/compute/alignment/depth_normal.h"
#include "plugins/sugar/compute/alignment/surface_samples.h"
#include "plugins/sugar/io/gaussian_files.h"
#include "plugins/sugar/spatial/neighbour_cache.h"
#include "plugins/sugar/train/aligner.h"
#include "tests/plugins/sugar/learning_support.h"

namespace vergence::sugar {

namespace {

using namespace fixtures;
namespace fs = std::filesystem;

/// Flat Gaussians on a sphere, about as far from each other as they are wide.
GaussianCloud sphereCloud(Index count)
{
    const double turn = 2.399963229728653; // the golden angle
    const double spacing = std::sqrt(4 * 3.14159265358979 / static_cast<double>(count));
    GaussianCloud cloud;
    for (Index i = 0; i < count; ++i) {
        const double z = 1 - (2 * static_cast<double>(i) + 1) / static_cast<double>(count);
        const double r = std::sqrt(1 - z * z), angle = turn * static_cast<double>(i);
        const double n[3] = {r * std::cos(angle), r * std::sin(angle), z};
        for (const double value : n)
            cloud.position.push_back(static_cast<float>(value));
        const auto wide = static_cast<float>(std::log(0.7 * spacing));
        cloud.logScale.insert(cloud.logScale.end(), {wide, wide, wide - 2});
        // Turns the z axis to n.
        cloud.rotation.insert(
            cloud.rotation.end(),
            {static_cast<float>(1 + n[2]), static_cast<float>(-n[1]), static_cast<float>(n[0]), 0});
        cloud.opacity.push_back(2);
        cloud.shDc.insert(cloud.shDc.end(), {0.3F, 0.2F, 0.1F});
    }
    return cloud;
}

/// A folder that goes with the benchmark.
struct Folder {
    fs::path path =
        fs::temp_directory_path() / ("bench_sugar_alignment-" + std::to_string(::getpid()));
    ~Folder() { fs::remove_all(path); }
};

void neighboursCold(benchmark::State& state)
{
    const GaussianCloud cloud = sphereCloud(state.range(0));
    const Folder folder;
    for (auto _ : state) {
        benchmark::DoNotOptimize(
            cachedNeighbours(folder.path, cloud.position, static_cast<int>(state.range(1))));
        state.PauseTiming();
        fs::remove_all(folder.path);
        state.ResumeTiming();
    }
}

void neighboursCached(benchmark::State& state)
{
    const GaussianCloud cloud = sphereCloud(state.range(0));
    const Folder folder;
    (void)cachedNeighbours(folder.path, cloud.position, static_cast<int>(state.range(1)));
    for (auto _ : state)
        benchmark::DoNotOptimize(
            cachedNeighbours(folder.path, cloud.position, static_cast<int>(state.range(1))));
}

/// Four neighbours and the scales that follow from them.
void radiusInitialisation(benchmark::State& state)
{
    const GaussianCloud cloud = sphereCloud(state.range(0));
    for (auto _ : state)
        benchmark::DoNotOptimize(
            logNearestDistance(cloud.position, nearestNeighbours(cloud.position, 4)));
}

void fieldSamples(benchmark::State& state)
{
    const GaussianCloud cloud = sphereCloud(state.range(0));
    const auto device = makeCpuDevice(static_cast<int>(state.range(2)));
    const auto stream = device->createStream();
    const Gaussians gaussians = upload(*stream, device, cloud, cloud.count(), 0);
    GaussianArrays gradients = GaussianArrays::zeros(*stream, device, cloud.count(), 0);
    const NeighbourTable table = nearestNeighbours(cloud.position, 16);
    SurfaceSamples samples(device);
    samples.setNeighbours(*stream, table.index, table.count, table.k, table.valid);
    std::vector<std::int32_t> all(static_cast<std::size_t>(cloud.count()));
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::int32_t>(i);
    SampledView view;
    view.visible = Tensor::fromHost<std::int32_t>(*stream, device, {cloud.count()}, all);
    SampleSettings settings;
    settings.samples = state.range(1);
    for (auto _ : state) {
        ++settings.step;
        benchmark::DoNotOptimize(samples.add(*stream, gaussians, view, settings, gradients));
    }
    state.counters["samples/s"] = benchmark::Counter(
        static_cast<double>(state.iterations() * state.range(1)), benchmark::Counter::kIsRate);
}

void depthAgainstNormals(benchmark::State& state)
{
    const GaussianCloud cloud = sphereCloud(20'000);
    const auto device = makeCpuDevice(static_cast<int>(state.range(2)));
    const auto stream = device->createStream();
    const Gaussians gaussians = upload(*stream, device, cloud, cloud.count(), 0);
    const auto width = static_cast<int>(state.range(0)), height = static_cast<int>(state.range(1));
    const Camera camera = lookingAt({0, -3, 0.5}, {0, 0, 0}, {0, 0, 1}, 1.3 * width, width, height);
    Rasteriser rasteriser(device);
    RasterSettings raster;
    raster.geometry = true;
    const RasterImages& images = rasteriser.render(*stream, gaussians, camera, raster);
    DepthNormalLoss loss;
    RasterImageGradients gradients;
    for (auto _ : state)
        benchmark::DoNotOptimize(loss.evaluate(*stream, camera, images, 0.05, gradients));
    state.counters["s/pixel"] =
        benchmark::Counter(static_cast<double>(state.iterations() * width * height),
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Whole steps with all terms on the built-in scene, 160 × 120 px, of about 8,000 Gaussians.
void alignmentStep(benchmark::State& state)
{
    const auto device = makeCpuDevice(static_cast<int>(state.range(1)));
    const auto stream = device->createStream();
    const auto pictures =
        std::make_shared<TrainingPictures>(builtInPictures(160, 120, false, 1), device);
    AlignerSettings settings;
    settings.schedule.phase1 = 0;
    settings.schedule.steps = 1'000'000;
    settings.samples = state.range(0);
    settings.extent = 2.6;
    settings.near = 0.01F;
    settings.shDegree = 1;
    std::vector<ScenePoint> points;
    const std::vector<float> noise = uniformNumbers(3 * 9 * 2'700, -0.03F, 0.03F, 1);
    for (const ScenePoint& point : pictures->source().scene().points) {
        for (int copy = 0; copy < 3; ++copy) {
            points.push_back(point);
            for (std::size_t axis = 0; axis < 3; ++axis)
                points.back().position[axis] +=
                    static_cast<double>(noise[(3 * points.size() + axis) % noise.size()]);
        }
    }
    Aligner aligner(device, settings, pictures, {0, 1, 2, 3, 4, 5, 6, 7});
    aligner.start(*stream, initialCloud(points, settings.extent, 0.7));
    AlignmentReport report;
    for (int i = 0; i < 20; ++i) // pictures are made when first asked for
        aligner.step(*stream, {}, report);
    double terms = 0, raster = 0;
    for (auto _ : state) {
        aligner.step(*stream, {}, report);
        terms += report.termSeconds;
        const RasterSeconds& r = report.raster;
        raster += r.project + r.sort + r.blend + r.blendBackward + r.gaussianBackward;
    }
    const auto steps = static_cast<double>(state.iterations());
    state.counters["terms_ms"] = 1e3 * terms / steps;
    state.counters["raster_ms"] = 1e3 * raster / steps;
    state.counters["gaussians"] = static_cast<double>(aligner.gaussians().count);
}

BENCHMARK(neighboursCold)
    ->Args({100'000, 16})
    ->Args({1'000'000, 16})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(neighboursCached)
    ->Args({100'000, 16})
    ->Args({1'000'000, 16})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(radiusInitialisation)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(fieldSamples)
    ->Args({4'000, 4'096, 1})
    ->Args({4'000, 4'096, 2})
    ->Args({100'000, 16'384, 1})
    ->Args({100'000, 16'384, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(depthAgainstNormals)
    ->Args({160, 120, 1})
    ->Args({266, 474, 1})
    ->Args({266, 474, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

BENCHMARK(alignmentStep)
    ->Args({4'096, 1})
    ->Args({4'096, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

} // namespace

} // namespace vergence::sugar

BENCHMARK_MAIN();
