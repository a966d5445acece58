// Trains a denoiser on Orbits and measures it on films that it has not seen: the shipped weights
// are made by this. See resources/live_diffusion/README.md.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/image.h"
#include "core/artifact/safetensors.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/live_diffusion/model/weight_file.h"
#include "plugins/live_diffusion/train/trainer.h"

using namespace vergence;
using namespace vergence::live;

namespace {

/// --key value …
class Options {
public:
    Options(int count, char** words)
    {
        for (int i = 1; i + 1 < count; i += 2)
            m_values[words[i]] = words[i + 1];
    }
    double number(const std::string& key, double otherwise) const
    {
        const auto found = m_values.find("--" + key);
        return found == m_values.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
    }
    std::string text(const std::string& key, const std::string& otherwise) const
    {
        const auto found = m_values.find("--" + key);
        return found == m_values.end() ? otherwise : found->second;
    }

private:
    std::map<std::string, std::string> m_values;
};

TrainSettings settingsOf(const Options& options)
{
    TrainSettings s;
    s.updates = static_cast<Index>(options.number("updates", 2400));
    s.rate = options.number("rate", 1e-3);
    s.warmup = static_cast<Index>(options.number("warmup", 60));
    s.average = options.number("average", 0.995);
    s.samples.batch = static_cast<Index>(options.number("batch", 8));
    s.samples.seed = static_cast<std::uint32_t>(options.number("seed", 1));
    s.samples.startShare = options.number("start-share", 0.4);
    s.samples.memoryFrames = static_cast<int>(options.number("memory-frames", 4));
    s.samples.startsAnew = options.number("starts-anew", s.samples.startsAnew);
    s.rolloutShare = options.number("rollout-share", s.rolloutShare);
    s.rolloutChance = options.number("rollout-chance", s.rolloutChance);
    s.rolledFrames = static_cast<int>(options.number("rolled-frames", s.rolledFrames));
    return s;
}

/// Clips below each other, the cells as pictures again.
void savePictures(const std::vector<float>& pictures, Index grid, Index patch,
                  const std::filesystem::path& path)
{
    const Index side = grid * patch, size = 3 * side * side;
    const auto count = static_cast<Index>(pictures.size()) / size;
    Image image = makeImage(static_cast<int>(side), static_cast<int>(side * count), 3);
    std::vector<float> frame(static_cast<std::size_t>(size));
    for (Index i = 0; i < count; ++i) {
        fromCells(std::span(pictures).subspan(static_cast<std::size_t>(i * size), frame.size()),
                  grid, patch, frame);
        for (Index pixel = 0; pixel < side * side; ++pixel) {
            for (Index colour = 0; colour < 3; ++colour) {
                const float value = frame[static_cast<std::size_t>(colour * side * side + pixel)];
                image.pixels[static_cast<std::size_t>((i * side * side + pixel) * 3 + colour)] =
                    static_cast<std::uint8_t>(std::lround((value + 1) * 127.5f));
            }
        }
    }
    writePng(path, image);
}

/// Mean PSNR over clips and frames 1 … of streams in a few steps, beside copying.
std::string scores(Stream& stream, const TapeNetwork& network, SampleMaker& maker, Index frames,
                   const std::filesystem::path& pictures = {})
{
    std::string text;
    for (const int steps : {1, 2}) {
        ScoreSettings settings;
        settings.frames = frames;
        settings.sampler.steps = steps;
        const StreamScore score = scoreStream(stream, network, maker, settings);
        if (!pictures.empty())
            savePictures(score.pictures, maker.grid(), maker.patch(),
                         pictures.string() + std::to_string(steps) + ".png");
        settings.isTeacherForced = true;
        const StreamScore forced = scoreStream(stream, network, maker, settings);
        text += fmt::format(
            "  {} step{}: {:.2f} dB (first {:.2f}, last {:.2f}); history told {:.2f}; "
            "frame before {:.2f}, input {:.2f}\n",
            steps, steps == 1 ? "" : "s", score.meanPsnr, score.psnr.front(), score.psnr.back(),
            forced.meanPsnr, score.meanCopyPsnr, score.meanInputPsnr);
    }
    return text;
}

void saveState(Stream& stream, const Trainer& trainer, const std::filesystem::path& path)
{
    std::vector<HostTensor> tensors;
    for (const auto& [name, tensor] : trainer.tensors()) {
        HostTensor host{name, tensor.dtype(), tensor.shape(), {}};
        host.bytes.resize(tensor.bytes());
        stream.copy(host.bytes.data(), tensor.data(), tensor.bytes());
        tensors.push_back(std::move(host));
    }
    writeSafetensors(path, tensors, {{"state", trainer.state().dump()}});
}

void restoreState(Stream& stream, Trainer& trainer, const std::filesystem::path& path)
{
    const SafetensorsFile file = readSafetensors(path);
    const auto cpu = makeCpuDevice(1);
    NamedTensors tensors;
    for (const HostTensor& host : file.tensors)
        tensors.emplace_back(host.name, Tensor::wrap(cpu, const_cast<std::byte*>(host.bytes.data()),
                                                     host.shape, host.dtype));
    trainer.restore(stream, nlohmann::json::parse(file.metadata.at("state")), tensors);
}

void run(const Options& options)
{
    const auto device = makeCpuDevice(static_cast<int>(options.number("threads", 1)));
    const auto stream = device->createStream();
    const auto frameSize = static_cast<int>(options.number("frame", 64));
    const UnetSettings unet = unetSettings(sizeOfName(options.text("size", "pico")), frameSize);
    const std::filesystem::path out = options.text("out", "live-pico.safetensors");
    const std::filesystem::path state = options.text("state", "");

    const SceneSettings films{.height = frameSize, .width = frameSize, .seed = 1000};
    const ScenePairs known(films, 512);
    SceneSettings others = films;
    others.seed = 100; // none of 1000 … 1511
    const ScenePairs unseen(others, static_cast<Index>(options.number("clips", 6)));
    const TrainSettings settings = settingsOf(options);
    SampleMaker judge(unseen, settings.samples, unet.grid, unet.patch);

    TapeNetwork network(*stream, device, unet, {.trains = true});
    network.initialise(*stream, Start::Training, settings.samples.seed);
    Trainer trainer(*stream, network, known, settings);
    if (!state.empty() && std::filesystem::exists(state))
        restoreState(*stream, trainer, state);
    const auto frames = static_cast<Index>(options.number("frames", 24));
    const auto judgeEvery = static_cast<Index>(options.number("judge-every", 400));
    fmt::print("untrained\n{}", scores(*stream, network, judge, 8));
    std::fflush(stdout);

    if (options.number("judge-only", 0) != 0) {
        fmt::print("restored\n{}", scores(*stream, network, judge, frames));
        const Trainer::AverageScope average(trainer, *stream);
        fmt::print("average\n{}", scores(*stream, network, judge, frames, out));
        return;
    }
    const auto start = std::chrono::steady_clock::now();
    double sum = 0, blend = 0;
    const auto stopAt = static_cast<Index>(options.number("stop-at", 1e12));
    while (!trainer.isDone() && trainer.updates() < stopAt) {
        const TrainRecord record = trainer.step(*stream);
        sum += record.prediction;
        blend += record.blend;
        if (record.update % 50 == 0) {
            const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
            fmt::print("{} loss {:.5f} blend {:.5f} norm {:.3f} rate {:.2e} {:.0f} s\n",
                       record.update, sum / 50, blend / 50, record.gradientNorm, record.rate,
                       passed.count());
            sum = blend = 0;
            std::fflush(stdout);
        }
        const bool isLast = trainer.isDone() || record.update == stopAt;
        if (record.update % judgeEvery == 0 || isLast) {
            const Trainer::AverageScope average(trainer, *stream);
            fmt::print("{}", scores(*stream, network, judge, frames));
            std::fflush(stdout);
        }
        if (!state.empty() && (record.update % judgeEvery == 0 || isLast))
            saveState(*stream, trainer, state);
    }
    std::optional<Trainer::AverageScope> average;
    if (options.text("weights", "average") == "average")
        average.emplace(trainer, *stream);
    ModelDescription description;
    description.settings = unet;
    description.notes = {{"scene", "orbits"},
                         {"updates", std::to_string(trainer.updates())},
                         {"batch", std::to_string(settings.samples.batch)},
                         {"seed", std::to_string(settings.samples.seed)}};
    saveModel(*stream, network.parameters(), description, out, DType::F16);
}

} // namespace

int main(int argc, char** argv)
{
    try {
        run(Options(argc, argv));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
