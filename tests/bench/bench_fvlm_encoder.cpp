// The vision encoder with a coarse look that rides and a second look, and whole micro-steps of the
// demo and of a scaled-down seed-phase1 with their updates, each beside what the computer could do
// at best: FLOPs by the fastest large product, measured here. The same for a peer: torch_fvlm.py.

#include <chrono>
#include <memory>

#include <benchmark/benchmark.h>

#include "core/compute/optim/adam.h"
#include "plugins/foveated_vlm/model/losses.h"
#include "tests/bench/bench_device.h"

namespace {
using namespace vergence;
using namespace vergence::fvlm;

std::shared_ptr<Device> device()
{
    static const std::shared_ptr<Device> chosen = bench::benchDevice(0);
    return chosen;
}

/// FLOP/s of a product of 2048 × 2048 matrices.
double peakFlops()
{
    static const double peak = [] {
        const auto stream = device()->createStream();
        const Tensor a = Tensor::zeros(*stream, device(), {2048, 2048});
        const Tensor b = Tensor::zeros(*stream, device(), {2048, 2048});
        const Tensor y = Tensor::empty(device(), {2048, 2048});
        double best = 1e9;
        for (int i = 0; i < 8; ++i) {
            const auto start = std::chrono::steady_clock::now();
            device()->dense().matmul(*stream, a, b, y);
            stream->synchronize();
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
            best = std::min(best, took.count());
        }
        return 2.0 * 2048 * 2048 * 2048 / best;
    }();
    return peak;
}

/// The time of a row is to be compared with `bound_ms`.
void addBound(benchmark::State& state, double flops)
{
    state.counters["GFLOP"] = flops / 1e9;
    state.counters["bound_ms"] = 1e3 * flops / peakFlops();
}

struct Size {
    DinoConfig vit;
    Index side, frames;

    Index grid() const { return side / vit.patch; }
    Index tokens() const { return 1 + grid() * grid(); }
    Index patchNumbers() const { return 3 * static_cast<Index>(vit.patch) * vit.patch; }

    /// Encoding with a rider and one more look, forward, without what nothing reads.
    double flops() const
    {
        const auto width = static_cast<double>(vit.width), n = static_cast<double>(tokens());
        const double hidden = static_cast<double>(vit.hidden);
        const double perToken = 2 * (4 * width * width + 2 * width * hidden) + 4 * n * width;
        const double perQuery = perToken - 4 * width * width;
        const double whole = vit.layers - 1;
        const double frame = 2 * n * static_cast<double>(patchNumbers()) * width +
                             whole * n * perToken + n * 4 * width * width +
                             2 * vit.layers * perQuery;
        return static_cast<double>(frames) * frame;
    }
};

Size tiny()
{
    return {*knownVit("tiny", 64), 64, 48};
}

Size small()
{
    return {*knownVit("dinov2-small", 224), 224, 8};
}

struct EncoderBench {
    Size size;
    std::unique_ptr<Stream> stream = device()->createStream();
    ParameterSet parameters{device()};
    GazeEncoder encoder;
    Tensor patches, query, queries, probe;

    EncoderBench(const Size& given, const Savings& savings)
        : size(given),
          encoder({parameters, {}, "encoder.dino."}, {parameters, {}, "encoder."}, given.vit, {},
                  savings)
    {
        parameters.allocate(*stream);
        parameters.initialise(*stream, 1);
        encoder.prepare(*stream, parameters, given.grid(), given.grid());
        patches = random({given.frames, given.grid() * given.grid(), given.patchNumbers()}, 1);
        query = random({1, encoder.query().width}, 2);
        queries = random({given.frames, encoder.query().width}, 3);
        probe = random({given.frames, given.vit.width}, 4);
    }
    Tensor random(Shape shape, std::uint64_t purpose)
    {
        const Tensor tensor = Tensor::empty(device(), std::move(shape));
        fillNormal(*stream, tensor, 0, 1, 7, purpose);
        return tensor;
    }
    void run(benchmark::State& state, bool learns)
    {
        Graph graph(*stream, device(), {learns, DType::F32});
        const ForwardPass pass{graph, parameters, nullptr, false, {}};
        for (auto _ : state) {
            graph.reset();
            const Encoded encoded =
                encoder.encode(pass, graph.constant(patches), graph.constant(query));
            const Value fine = encoder.look(pass, encoded, graph.constant(queries));
            if (learns) {
                parameters.zeroGradients(*stream);
                graph.backward(add(graph, weightedSum(graph, encoded.coarse, probe),
                                   weightedSum(graph, fine, probe)));
            }
            stream->synchronize();
        }
        addBound(state, (learns ? 3 : 1) * size.flops());
    }
};

void tinyForward(benchmark::State& state)
{
    EncoderBench(tiny(), {}).run(state, false);
}
void tinyForwardBackward(benchmark::State& state)
{
    EncoderBench(tiny(), {}).run(state, true);
}
void tinyForwardBackwardWithoutSavings(benchmark::State& state)
{
    EncoderBench(tiny(), {false, false, false, false, false, false}).run(state, true);
}
void smallForward(benchmark::State& state)
{
    EncoderBench(small(), {}).run(state, false);
}
void smallForwardBackward(benchmark::State& state)
{
    EncoderBench(small(), {}).run(state, true);
}
void smallForwardBackwardWithoutSavings(benchmark::State& state)
{
    EncoderBench(small(), {false, false, false, false, false, false}).run(state, true);
}

/// The micro-step of demo-ask: 8 clips of 6 frames, prompts of 12 tokens, answers of 8 counted
/// ones, λ 0.2, AdamW with clipping.
struct DemoBench {
    std::unique_ptr<Stream> stream = device()->createStream();
    FoveatedModel model;
    std::unique_ptr<Adam> adam;
    Tensor patches;
    std::unique_ptr<SequenceTables> tables;
    MicroBatch batch;
    LossSettings loss;

    explicit DemoBench(const ModelSettings& settings) : model(device(), settings)
    {
        model.allocate(*stream);
        model.initialise(*stream, 1);
        model.prepare(*stream, 8, 8);
        AdamOptions options;
        options.clipNorm = 1;
        adam = std::make_unique<Adam>(model.parameters(), *stream, options);
        adam->setRates(*stream, std::vector<double>(FoveatedModel::kGroups, 2e-3));
        std::vector<SampleTokens> samples(8);
        for (SampleTokens& sample : samples) {
            sample.frames = 6;
            sample.before = {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
            sample.beforeMask.assign(sample.before.size(), 0);
            sample.after = {20, 21, 22, 23, 24, 25, 26, 27};
            sample.afterMask.assign(sample.after.size(), 1);
        }
        const Sequences sequences(samples, settings);
        tables = std::make_unique<SequenceTables>(device(), sequences.shape());
        tables->fill(*stream, sequences);
        patches = Tensor::empty(device(), {48, 64, 192});
        fillNormal(*stream, patches, 0, 1, 7, 1);
        batch.patches = patches;
        batch.tables = tables.get();
        loss.coarse = 0.2;
        const std::vector<float> inverse{1.0f / 64};
        loss.inverseCounted = Tensor::fromHost<float>(*stream, device(), {1}, inverse);
    }
    static ModelSettings settings()
    {
        ModelSettings settings;
        settings.vit = *knownVit("tiny", 64);
        settings.llm = *knownLlm("tiny");
        settings.query.width = 64;
        settings.order = SequenceOrder::PromptFramesAnswer;
        return settings;
    }
};

void demoMicroStep(benchmark::State& state)
{
    ModelSettings settings = DemoBench::settings();
    if (state.range(0) == 0)
        settings.savings = {false, false, false, false, false, false};
    DemoBench bench(settings);
    Graph graph(*bench.stream, device(), {});
    const ForwardPass pass{graph, bench.model.parameters(), nullptr, false, {}};
    for (auto _ : state) {
        graph.reset();
        bench.model.parameters().zeroGradients(*bench.stream);
        const StepValues values = trainingLoss(pass, bench.model, bench.batch, bench.loss);
        graph.backward(values.loss);
        bench.adam->step(*bench.stream);
        bench.stream->synchronize();
    }
    state.counters["allocations"] = static_cast<double>(graph.allocations());
    // Two passes of the language model over 8 sequences of 26.
    const double language =
        2 * 8 * 26 * (2.0 * 3 * (96 * 160 + 96 * 96 + 3 * 96 * 256)) + 2 * 64 * 2.0 * 96 * 512;
    addBound(state, 3 * (tiny().flops() + language));
}

/// The micro-step of seed-phase1 with one clip of two frames in place of ten of eight: the same
/// towers, frames of 256 px, latents 4 × 32 × 32, λ 1, AdamW over 158.6 M parameters.
struct SeedBench {
    static constexpr Index kFrames = 2, kLatentSide = 32;
    Size size{*knownVit("dinov2-small", 256), 256, kFrames};
    std::unique_ptr<Stream> stream = device()->createStream();
    FoveatedModel model{device(), settings()};
    std::unique_ptr<Adam> adam;
    std::unique_ptr<SequenceTables> tables;
    MicroBatch batch;
    LossSettings loss;

    SeedBench()
    {
        model.allocate(*stream);
        model.initialise(*stream, 1);
        model.prepare(*stream, size.grid(), size.grid());
        AdamOptions options;
        options.clipNorm = 1;
        adam = std::make_unique<Adam>(model.parameters(), *stream, options);
        adam->setRates(*stream, std::vector<double>(FoveatedModel::kGroups, 1e-4));
        std::vector<SampleTokens> samples(1);
        samples.front().frames = kFrames;
        const Sequences sequences(samples, model.settings());
        tables = std::make_unique<SequenceTables>(device(), sequences.shape());
        tables->fill(*stream, sequences);
        batch.tables = tables.get();
        batch.patches = random({kFrames, size.grid() * size.grid(), size.patchNumbers()}, 1);
        batch.latents = random({kFrames, 4, kLatentSide, kLatentSide}, 2);
        loss.coarse = 1;
        const std::vector<float> inverse{1.0f / kFrames};
        loss.inverseSlots = Tensor::fromHost<float>(*stream, device(), {1}, inverse);
    }
    Tensor random(Shape shape, std::uint64_t purpose)
    {
        const Tensor tensor = Tensor::empty(device(), std::move(shape));
        fillNormal(*stream, tensor, 0, 1, 7, purpose);
        return tensor;
    }
    static ModelSettings settings()
    {
        ModelSettings settings;
        settings.variant = Variant::Latents;
        settings.vit = *knownVit("dinov2-small", 256);
        settings.llm = *knownLlm("smollm2-135m");
        settings.norm = VisualNorm::TokenRms;
        return settings;
    }
    /// Forward: encoder and looks, two passes over 4 tokens, a latent encoder and two decoders.
    double flops() const
    {
        const double tokens = 2 * (kFrames + 2);
        const double language =
            tokens * 30 * 2.0 * (576 * (2 * 576 + 2 * 192) + 3 * 576 * 1536 + 4 * 576);
        const double convolutions = 9 * 2.0 * (4 * 64 + 64 * 128 + 128 * 256);
        return size.flops() + language + kFrames * 3 * kLatentSide * kLatentSide * convolutions;
    }
};

void seedMicroStep(benchmark::State& state)
{
    SeedBench bench;
    Graph graph(*bench.stream, device(), {});
    const ForwardPass pass{graph, bench.model.parameters(), nullptr, false, {}};
    for (auto _ : state) {
        graph.reset();
        bench.model.parameters().zeroGradients(*bench.stream);
        const StepValues values = trainingLoss(pass, bench.model, bench.batch, bench.loss);
        graph.backward(values.loss);
        bench.adam->step(*bench.stream);
        bench.stream->synchronize();
    }
    addBound(state, 3 * bench.flops());
}

} // namespace

#define ROW(function)                                                                              \
    BENCHMARK(function)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime()

ROW(tinyForward);
ROW(tinyForwardBackward);
ROW(tinyForwardBackwardWithoutSavings);
ROW(smallForward);
ROW(smallForwardBackward);
ROW(smallForwardBackwardWithoutSavings);
ROW(demoMicroStep)->Arg(1)->Arg(0)->ArgName("savings");
ROW(seedMicroStep);

BENCHMARK_MAIN();
