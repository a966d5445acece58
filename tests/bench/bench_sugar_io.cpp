// The data side of sugar on one thread: decoding, straightening and scaling of photographs of a
// folder, or a generated picture where none is given; Gaussians in and out of files.
//   bench_sugar_io [FOLDER] [flags of Google Benchmark]

#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include <benchmark/benchmark.h>

#include "core/base/file.h"
#include "plugins/sugar/io/area_scaling.h"
#include "plugins/sugar/io/gaussian_files.h"
#include "plugins/sugar/io/undistortion.h"

namespace {

using namespace vergence;
using namespace vergence::sugar;
namespace fs = std::filesystem;

std::vector<std::string> files; ///< encoded photographs

Image pattern(int width, int height)
{
    Image image = makeImage(width, height, 3);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = static_cast<std::uint8_t>(i * 37 ^ i >> 9);
    return image;
}

void decode(benchmark::State& state)
{
    std::size_t next = 0, pixels = 0;
    for (auto _ : state) {
        const Image image = decodeJpeg(files[next++ % files.size()], "photograph");
        pixels += image.pixels.size() / 3;
        benchmark::DoNotOptimize(image.pixels.data());
    }
    state.counters["Mpx/s"] =
        benchmark::Counter(static_cast<double>(pixels) / 1e6, benchmark::Counter::kIsRate);
}
BENCHMARK(decode)->Unit(benchmark::kMillisecond);

void straighten(benchmark::State& state)
{
    const SourceCamera camera{
        1, CameraModel::OpenCv, 1920, 1244, {1500, 1500, 960, 622, -.1, .02, .001, 0}};
    const SourceCamera pinhole = undistortedCamera(camera, UndistortFit::Inside);
    const Image image = pattern(1920, 1244);
    for (auto _ : state)
        benchmark::DoNotOptimize(undistorted(image, camera, pinhole).image.pixels.data());
}
BENCHMARK(straighten)->Unit(benchmark::kMillisecond);

void findPinhole(benchmark::State& state)
{
    const SourceCamera camera{
        1, CameraModel::OpenCv, 1920, 1244, {1500, 1500, 960, 622, -.1, .02, .001, 0}};
    for (auto _ : state)
        benchmark::DoNotOptimize(undistortedCamera(camera, UndistortFit::Inside).fx());
}
BENCHMARK(findPinhole)->Unit(benchmark::kMillisecond);

void shrink(benchmark::State& state)
{
    const Image image = pattern(5187, 3361);
    for (auto _ : state)
        benchmark::DoNotOptimize(areaScaled(image, 1920, 1244).pixels.data());
}
BENCHMARK(shrink)->Unit(benchmark::kMillisecond);

GaussianCloud someGaussians(Index count)
{
    GaussianCloud cloud = randomCloud(count, {0, 0, 0}, 1, 1, 1);
    cloud.degree = 3;
    cloud.shRest.assign(static_cast<std::size_t>(count) * 45, 0.1F);
    return cloud;
}

/// Reading or writing of 200,000 Gaussians of degree 3.
template <class Work>
void onFile(benchmark::State& state, const Work& work)
{
    const fs::path file =
        fs::temp_directory_path() / ("vergence-bench-" + std::to_string(::getpid()));
    const GaussianCloud cloud = someGaussians(200'000);
    writeGaussianPly(file, cloud);
    for (auto _ : state)
        work(file, cloud);
    state.SetItemsProcessed(state.iterations() * 200'000);
    fs::remove(file);
}

void readPly(benchmark::State& state)
{
    onFile(state, [](const fs::path& file, const GaussianCloud&) {
        benchmark::DoNotOptimize(readGaussianPly(file).position.data());
    });
}
BENCHMARK(readPly)->Unit(benchmark::kMillisecond);

void writePly(benchmark::State& state)
{
    onFile(state,
           [](const fs::path& file, const GaussianCloud& cloud) { writeGaussianPly(file, cloud); });
}
BENCHMARK(writePly)->Unit(benchmark::kMillisecond);

void firstCloud(benchmark::State& state)
{
    for (auto _ : state)
        benchmark::DoNotOptimize(randomCloud(100'000, {0, 0, 0}, 1, 1, 1).position.data());
    state.SetItemsProcessed(state.iterations() * 100'000);
}
BENCHMARK(firstCloud)->Unit(benchmark::kMillisecond);

void readPhotographs(const fs::path& folder)
{
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".jpg")
            files.push_back(readFile(entry.path()));
    }
}

} // namespace

int main(int argc, char** argv)
{
    benchmark::Initialize(&argc, argv);
    if (argc > 1)
        readPhotographs(argv[1]);
    if (files.empty())
        files.push_back(encodeJpeg(pattern(1920, 1244)));
    benchmark::RunSpecifiedBenchmarks();
}
