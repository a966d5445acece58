// Monte-Carlo passes of CLIP B/32 with random weights: images · passes per second, the share of the
// bound that products alone set, and what masks cost. Peer: torch_mc_embedding.py.

#include <benchmark/benchmark.h>

#include "plugins/mc_embedding/compute/mask_kernels.h"
#include "plugins/mc_embedding/models/vision_model.h"
#include "tests/bench/bench_device.h"

namespace {

using namespace vergence;
using namespace vergence::mc_embedding;

/// One encoder for all cases of a tower, as making 88 million weights takes longer than they do.
struct Tower {
    std::shared_ptr<Device> device = bench::benchDevice(2);
    std::unique_ptr<Stream> stream = device->createStream();
    Encoder encoder;

    explicit Tower(const char* key) : encoder(*stream, device, towerShape(key).value(), options())
    {
        setDemoWeights(*stream, encoder, 42);
    }
    static EncoderOptions options()
    {
        EncoderOptions options;
        options.mean = options.deviation = {0.5f, 0.5f, 0.5f};
        if (std::getenv("VERGENCE_BENCH_DEVICE"))
            options.compute = DType::F16; // precision = auto of a run
        return options;
    }
    void begin(Index images)
    {
        Placement placement;
        Perturbation how;
        how.p = 0.01;
        encoder.setPerturbation(liveSites(encoder.tower(), placement), how);
        const Index side = encoder.tower().imageSize;
        std::vector<std::uint8_t> pixels(static_cast<std::size_t>(images * side * side * 3));
        for (std::size_t i = 0; i < pixels.size(); ++i)
            pixels[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
        std::vector<std::uint32_t> ids(static_cast<std::size_t>(images));
        for (std::size_t i = 0; i < ids.size(); ++i)
            ids[i] = static_cast<std::uint32_t>(i);
        encoder.begin(
            *stream,
            Tensor::fromHost<std::uint8_t>(*stream, device, {images, side, side, 3}, pixels), ids);
    }
};

Tower& clip()
{
    static Tower instance("clip_b32");
    return instance;
}

void passes(benchmark::State& state, Tower& own)
{
    const Index images = state.range(0), count = state.range(1);
    own.begin(images);
    std::vector<PassId> ids(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < ids.size(); ++i)
        ids[i].pass = static_cast<std::uint16_t>(i);
    own.encoder.run(*own.stream, ids);
    bench::turns(state, *own.stream, [&] { own.encoder.run(*own.stream, ids); });
    const auto done = static_cast<double>(state.iterations() * images * count);
    state.counters["image_passes"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
    // What a loop that repeats the whole forward would have had to do, and what was done.
    state.counters["flop_whole"] =
        benchmark::Counter(done * own.encoder.tower().flop(), benchmark::Counter::kIsRate);
    state.counters["flop_done"] =
        benchmark::Counter(done * own.encoder.passFlop(), benchmark::Counter::kIsRate);
}

void clipB32(benchmark::State& state)
{
    passes(state, clip());
}
BENCHMARK(clipB32)
    ->Args({4, 8})
    ->Args({1, 8})
    ->Args({64, 8})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void tinyClip(benchmark::State& state)
{
    static Tower own("tiny_clip");
    passes(state, own);
}
BENCHMARK(tinyClip)->Args({16, 16})->MeasureProcessCPUTime()->UseRealTime()->Unit(
    benchmark::kMillisecond);

void tinySiglip(benchmark::State& state)
{
    static Tower own("tiny_siglip");
    passes(state, own);
}
BENCHMARK(tinySiglip)
    ->Args({16, 16})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// The largest product alone: rows of a tile against fc1, what the machine gives.
void product(benchmark::State& state)
{
    Tower& own = clip();
    const Index rows = 8 * 50, width = 768, hidden = 3072;
    const Tensor x = Tensor::zeros(*own.stream, own.device, {rows, width});
    const Tensor y = Tensor::zeros(*own.stream, own.device, {rows, hidden});
    const Tensor w = own.encoder.parameters().named("vision_model.encoder.layers.3.mlp.fc1.weight");
    const auto packed = own.device->dense().packLinear(*own.stream, w, rows);
    MatmulOptions options;
    options.transposeB = true;
    options.packedB = packed.get();
    bench::turns(state, *own.stream,
                 [&] { own.device->dense().matmul(*own.stream, x, w, y, options); });
    state.counters["flop"] = benchmark::Counter(static_cast<double>(state.iterations()) * 2.0 *
                                                    static_cast<double>(rows * width * hidden),
                                                benchmark::Counter::kIsRate);
}
BENCHMARK(product)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

/// All masks of one pass of one image, and of a tile.
void masks(benchmark::State& state)
{
    Tower& own = clip();
    const Index sequences = 8;
    const Tensor keys =
        Tensor::zeros(*own.stream, own.device, {sequences, Index{sizeof(SequenceKey)}}, DType::U8);
    const auto sites = liveSites(own.encoder.tower(), {});
    Index words = 0;
    for (const Site& site : sites)
        words = std::max(words, sequences * site.elements() / kMaskBlock);
    const Tensor bits = Tensor::zeros(*own.stream, own.device, {words}, DType::U16);
    MaskArguments args;
    const DropRate rate = dropRate(0.01);
    args.keys = static_cast<const SequenceKey*>(keys.data());
    args.sequences = sequences;
    args.bits = static_cast<std::uint16_t*>(bits.data());
    for (auto _ : state) {
        for (const Site& site : sites) {
            args.siteCount = 0;
            args.add(site.number, site.elements(), 0, rate);
            maskBits(*own.stream, args);
        }
    }
    state.counters["image_passes"] = benchmark::Counter(
        static_cast<double>(state.iterations() * sequences), benchmark::Counter::kIsRate);
}
BENCHMARK(masks)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
