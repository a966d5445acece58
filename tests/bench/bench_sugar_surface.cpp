// How long meshing takes in the lab `sugar`: candidates of level crossing, fusion of one depth
// view, marching, and decimation. Read medians (--benchmark_repetitions=5
// --benchmark_report_aggregates_only).

#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/compute/device.h"
#include "plugins/sugar/mesh/decimation.h"
#include "plugins/sugar/surface/level_set.h"
#include "plugins/sugar/surface/marching.h"
#include "plugins/sugar/surface/surface_points.h"
#include "plugins/sugar/surface/tsdf.h"
#include "tests/plugins/sugar/mesh_support.h"
#include "tests/plugins/sugar/surface_support.h"

namespace vergence::sugar {

namespace {

using namespace fixtures;

/// A sphere of Gaussians and one view of it.
struct Sphere {
    std::shared_ptr<Device> device = makeCpuDevice();
    std::unique_ptr<Stream> stream = device->createStream();
    GaussianCloud cloud;
    DensityField field;
    Camera camera = ringCameras(1, 3, 1, 512, 600)[0];
    DepthView view;

    explicit Sphere(int count)
        : cloud(sphereCloud(count)),
          field(cloud, nearestNeighbours(cloud.position, 16)),
          view(DepthRenderer(device, {.shDegree = 0})
                   .render(*stream, upload(*stream, device, cloud, count, 0), camera))
    {
    }
};

void levelCrossing(benchmark::State& state)
{
    const Sphere sphere(static_cast<int>(state.range(0)));
    const FrontSplats front(sphere.cloud, sphere.camera, {.shDegree = 0});
    const auto pixels = drawnPixels(sphere.view, 100'000, 1, 0);
    SurfaceCounts counts;
    for (auto _ : state)
        benchmark::DoNotOptimize(
            levelCrossings(sphere.field, sphere.view, pixels, front, {}, counts));
    state.counters["candidates"] =
        benchmark::Counter(static_cast<double>(counts.candidates), benchmark::Counter::kIsRate);
}
BENCHMARK(levelCrossing)
    ->Arg(4'000)
    ->Arg(100'000)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void frontSplats(benchmark::State& state)
{
    const Sphere sphere(static_cast<int>(state.range(0)));
    for (auto _ : state)
        benchmark::DoNotOptimize(FrontSplats(sphere.cloud, sphere.camera, {.shDegree = 0}));
}
BENCHMARK(frontSplats)
    ->Arg(100'000)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// The views of the built-in scene into 128³ voxels, as the demo does; one view at a time.
void fuse(benchmark::State& state)
{
    const Scene scene = syntheticScene();
    std::vector<DepthView> views;
    for (const SourceView& view : scene.views)
        views.push_back(
            exactView(pinholeCamera(scene.cameras[static_cast<std::size_t>(view.camera)], view),
                      syntheticHit));
    SceneBox box;
    box.halfSize = {1.25, 1.25, 1.25};
    TsdfSettings settings;
    settings.voxel = box.voxelOf(Region::Foreground, 7);
    settings.referenceDepth = 2.4;
    TsdfVolume volume(settings, box, Region::Foreground);
    std::size_t next = 0;
    for (const DepthView& view : views) // so that all blocks are there
        volume.fuse(view);
    for (auto _ : state)
        volume.fuse(views[next++ % views.size()]);
    state.counters["MB"] = static_cast<double>(volume.bytes()) / 1e6;
}
BENCHMARK(fuse)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

void marching(benchmark::State& state)
{
    BlockGrid grid({0, 0, 0}, 2.2 / 128);
    grid.cover({-1.1, -1.1, -1.1}, {1.1, 1.1, 1.1});
    for (Index block = 0; block < grid.blocks(); ++block) {
        for (int node = 0; node < kBlockNodes; ++node) {
            const auto p = grid.position(grid.place(block), node % 8, node / 8 % 8, node / 64);
            grid.values(block)[node] = static_cast<float>(norm({p[0], p[1], p[2]}) - 1);
        }
    }
    Index faces = 0;
    for (auto _ : state)
        faces += marched(grid).faces();
    state.counters["triangles"] =
        benchmark::Counter(static_cast<double>(faces), benchmark::Counter::kIsRate);
}
BENCHMARK(marching)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

/// To a tenth; the rate counts triangles that go.
void decimation(benchmark::State& state)
{
    const TriangleMesh mesh = octahedralSphere(static_cast<int>(state.range(0)));
    DecimationSettings settings;
    settings.triangles = mesh.faces() / 10;
    Index gone = 0;
    for (auto _ : state)
        gone += mesh.faces() - decimated(mesh, settings).faces();
    state.counters["triangles"] =
        benchmark::Counter(static_cast<double>(gone), benchmark::Counter::kIsRate);
}
BENCHMARK(decimation)
    ->Arg(6)
    ->Arg(8)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

} // namespace

} // namespace vergence::sugar

BENCHMARK_MAIN();
