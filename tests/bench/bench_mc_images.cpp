// The image pipeline of mc_embedding on one thread: photographs of a folder, or a generated picture
// where none is given. Names of rows agree with pillow_images.py.
//   bench_mc_images FOLDER [flags of Google Benchmark]

#include <cstdlib>
#include <filesystem>
#include <string>

#include <benchmark/benchmark.h>

#include "core/base/file.h"
#include "plugins/mc_embedding/io/image_set.h"
#include "plugins/mc_embedding/io/preprocess.h"

namespace {

using namespace vergence;
using namespace vergence::mc_embedding;

std::vector<std::string> files;

Image pattern(int width, int height)
{
    Image image = makeImage(width, height, 3);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = static_cast<std::uint8_t>(i * 37 ^ i >> 9);
    return image;
}

Preprocess clip(int size)
{
    Preprocess how;
    how.size = size;
    return how;
}

void decode(benchmark::State& state)
{
    std::size_t next = 0;
    for (auto _ : state)
        benchmark::DoNotOptimize(decodeRgb(files[next++ % files.size()], "photograph", false));
    state.SetItemsProcessed(state.iterations());
}

void decodeAndCrop(benchmark::State& state, int size)
{
    std::size_t next = 0;
    for (auto _ : state)
        benchmark::DoNotOptimize(
            preprocessed(decodeRgb(files[next++ % files.size()], "photograph", false), clip(size)));
    state.SetItemsProcessed(state.iterations());
}

void resize(benchmark::State& state, int width, int height, int toWidth, int toHeight,
            Filter filter)
{
    const Image image = pattern(width, height);
    for (auto _ : state)
        benchmark::DoNotOptimize(resized(image, toWidth, toHeight, filter));
    state.SetItemsProcessed(state.iterations());
}

void shortSideAndCrop(benchmark::State& state, int size)
{
    const Image image = pattern(500, 375);
    for (auto _ : state)
        benchmark::DoNotOptimize(preprocessed(image, clip(size)));
    state.SetItemsProcessed(state.iterations());
}

void blur(benchmark::State& state, double radius)
{
    const Image image = pattern(500, 375);
    for (auto _ : state)
        benchmark::DoNotOptimize(gaussianBlurred(image, radius));
    state.SetItemsProcessed(state.iterations());
}

} // namespace

int main(int argc, char** argv)
{
    if (argc > 1 && std::filesystem::is_directory(argv[1])) {
        SamplingOptions options;
        options.sampling = "manifest";
        const ImageSet set = sampleFolder(argv[1], options);
        for (const StudyImage& image : set.images)
            files.push_back(readFile(set.folder / image.path));
        --argc;
        ++argv;
    } else {
        files.push_back(encodeJpeg(pattern(500, 375), 90));
    }
    benchmark::Initialize(&argc, argv);
    const auto add = [](const char* name, auto... rest) {
        benchmark::RegisterBenchmark(name, rest...)->Unit(benchmark::kMicrosecond);
    };
    add("decode", decode);
    add("decode, short side 224, crop", decodeAndCrop, 224);
    add("decode, short side 384, crop", decodeAndCrop, 384);
    add("resize 500x375 to 298x224 bicubic", resize, 500, 375, 298, 224, Filter::Bicubic);
    add("resize 500x375 to 224x224 bilinear", resize, 500, 375, 224, 224, Filter::Bilinear);
    add("resize 1920x1080 to 384x384 bicubic", resize, 1920, 1080, 384, 384, Filter::Bicubic);
    add("short side 224 and crop of 500x375", shortSideAndCrop, 224);
    add("blur 500x375 radius 5", blur, 5.0);
    add("blur 500x375 radius 15", blur, 15.0);
    benchmark::RunSpecifiedBenchmarks();
}
