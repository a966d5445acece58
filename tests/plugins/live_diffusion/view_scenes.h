#pragma once

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "core/artifact/plot/diagram_image.h"
#include "plugins/live_diffusion/view/ab_charts.h"
#include "plugins/live_diffusion/view/drift_charts.h"
#include "plugins/live_diffusion/view/latency_charts.h"
#include "plugins/live_diffusion/view/layer_charts.h"
#include "plugins/live_diffusion/view/memory_charts.h"
#include "plugins/live_diffusion/view/training_strip.h"

namespace vergence::live::testing {

/// Pictures that a test made lie in $VERGENCE_PICTURES where it is set, for people.
inline void keepPicture(const std::string& name, const Image& image)
{
    if (const char* folder = std::getenv("VERGENCE_PICTURES"))
        writePng(std::filesystem::path(folder) / (name + ".png"), image);
}

inline void keepDrawing(const std::string& name, const Diagram& drawing)
{
    keepPicture(name + "_light", plot::toImage(drawing, 1));
    keepPicture(name + "_dark", plot::toImage(drawing, 1, true));
}

/// A ball on a gradient; `phase` moves it, `contrast` fades everything to grey.
inline Image ballImage(int size, double phase, double contrast = 1, bool isGrey = false)
{
    Image image = makeImage(size, size, 3);
    const double cx = 0.5 + 0.3 * std::cos(phase), cy = 0.5 + 0.3 * std::sin(phase);
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            const double u = (x + 0.5) / size, v = (y + 0.5) / size;
            const bool isInside = std::hypot(u - cx, v - cy) < 0.18;
            double rgb[3] = {isInside ? 230.0 : 60 + 80 * u, isInside ? 120.0 : 90 + 60 * v,
                             isInside ? 40.0 : 160.0};
            if (isGrey)
                rgb[0] = rgb[1] = rgb[2] = 0.3 * rgb[0] + 0.6 * rgb[1] + 0.1 * rgb[2];
            for (int c = 0; c < 3; ++c)
                image.row(y)[3 * x + c] =
                    static_cast<std::uint8_t>(std::lround(128 + contrast * (rgb[c] - 128)));
        }
    return image;
}

/// Repeats between 0 and 1 without a generator.
inline double hashed(int i)
{
    const double value = std::sin(12.9898 * i + 4.1) * 43758.5453;
    return value - std::floor(value);
}

inline std::vector<FrameTiming> timings(int count)
{
    std::vector<FrameTiming> frames;
    std::int64_t number = 0;
    for (int i = 0; i < count; ++i, ++number) {
        FrameTiming frame;
        if (i % 83 == 40) {
            frame.dropped = 3;
            number += 3;
        }
        frame.frame = number;
        frame.isSkipped = i % 140 > 120;
        const double slow = i == 333 ? 140 : i % 97 == 5 ? 14 : 0;
        frame.ms = {2 + hashed(i), 0.8, frame.isSkipped ? 0 : 9 + 2 * hashed(7 * i) + slow, 0.6,
                    1 + hashed(3 * i)};
        frames.push_back(frame);
    }
    return frames;
}

/// Operations of a made-up network; `speed` divides their times.
inline std::vector<LayerTime> layers(double speed)
{
    std::vector<LayerTime> made;
    const char* const blocks[] = {"input",  "d0.0",   "d0.1",    "d0.down", "d1.0",   "d1.0.a",
                                  "d1.1",   "d1.1.a", "d1.down", "d2.0",    "d2.0.a", "m.0",
                                  "m.a0",   "m.1",    "u2.0",    "u2.0.a",  "u2.up",  "u1.0",
                                  "u1.0.a", "u1.up",  "u0.0",    "u0.1",    "head"};
    int i = 0;
    for (const char* block : blocks)
        for (int op = 0; op < 7; ++op, ++i) {
            LayerTime layer;
            layer.block = block;
            layer.name = layer.block + ".op" + std::to_string(op);
            const bool isNorm = op % 3 == 0;
            layer.bound =
                isNorm ? (op == 0 ? LayerBound::Latency : LayerBound::Memory) : LayerBound::Compute;
            layer.microseconds = (isNorm ? 3 + 4 * hashed(i) : 20 + 60 * hashed(i)) / speed;
            layer.flop = isNorm ? 1e6 * (1 + hashed(i)) : 2e9 * (0.3 + hashed(i + 5));
            layer.bytes = isNorm ? 2e6 * (1 + hashed(i + 9)) : 6e6 * (1 + 2 * hashed(i + 11));
            made.push_back(layer);
        }
    return made;
}

inline std::vector<MemoryStep> memorySteps(bool isNaive)
{
    std::vector<MemoryStep> steps;
    constexpr double kMebi = 1024.0 * 1024;
    for (int i = 0; i < 300; ++i) {
        MemoryStep step{"d1.op" + std::to_string(i),
                        61 * kMebi,
                        3.7 * kMebi,
                        (4 + 3 * std::sin(i * 0.02) + hashed(i)) * kMebi,
                        i % 5 == 0 ? 2 * kMebi : 0,
                        0};
        if (isNaive && i % 60 > 55) {
            step.scores = 64 * kMebi;
            step.arena += step.scores;
        }
        steps.push_back(step);
    }
    return steps;
}

inline AbRow abRow(const char* technique, AbPart part, double ms, double baseline)
{
    AbRow row;
    row.technique = technique;
    row.part = part;
    row.ms = ms;
    row.low = 0.985 * ms;
    row.high = 1.02 * ms;
    row.speedUp = baseline / ms;
    row.fps = 1000 / ms;
    row.evalsPerSecond = 2000 / ms;
    row.launchMs = 1.2;
    row.kernels = 593;
    row.weights = 61e6;
    row.arena = 5e6;
    row.workspace = 2.5e6;
    row.caches = 3.7e6;
    row.steady = 73e6;
    row.tuningPeak = 130e6;
    row.reduction = 1 - ms / baseline;
    row.maxAbs = 1.3e-3;
    row.psnr = 61.2;
    row.cosine = 0.999997;
    row.psnrAfterSteps = 58.8;
    row.streamPsnr = {57.1, 52.3, 41.0};
    row.verdict = ms < 0.95 * baseline   ? AbVerdict::Faster
                  : ms < 1.05 * baseline ? AbVerdict::Same
                                         : AbVerdict::Slower;
    return row;
}

inline std::vector<AbRow> abRows()
{
    const double base = 21.4;
    std::vector<AbRow> rows{abRow("baseline", AbPart::Baseline, base, base)};
    rows.front().verdict = AbVerdict::NotJudged;
    const char* const names[] = {"fp16",      "NHWC",       "flash attention", "fusion",
                                 "auto-tune", "CUDA graph", "stream batch"};
    const double alone[] = {12.1, 23.0, 18.2, 19.9, 21.0, 20.7, 22.9},
                 together[] = {12.1, 9.8, 7.9, 6.1, 5.8, 5.0, 5.3},
                 without[] = {11.0, 7.1, 6.9, 6.0, 5.4, 5.9, 5.0};
    for (int i = 0; i < 7; ++i)
        rows.push_back(abRow(names[i], AbPart::Alone, alone[i], base));
    for (int i = 0; i < 7; ++i)
        rows.push_back(abRow(names[i], AbPart::Cumulative, together[i], base));
    for (int i = 0; i < 7; ++i)
        rows.push_back(abRow(names[i], AbPart::Without, without[i], 5.3));
    rows[3].psnr = rows[3].tuningPeak = NAN;
    return rows;
}

inline DriftStudy driftStudy(int frames = 500)
{
    DriftStudy study;
    for (int mask = 0; mask < 9; ++mask) {
        DriftVariant variant;
        variant.isReference = mask == 8;
        for (const auto& [bit, name] : {std::pair{1, "noise"}, {2, "memory"}, {4, "blend"}})
            if (mask & bit && mask < 8)
                variant.name += (variant.name.empty() ? "" : " + ") + std::string(name);
        if (variant.name.empty())
            variant.name = mask == 8 ? "teacher-forced" : "none";
        const double decay = mask == 8 ? 0 : 0.02 / (1 + mask * mask);
        for (int t = 0; t < frames; ++t) {
            const double noise = hashed(t * 9 + mask);
            variant.psnr.push_back(24 + mask * 0.3 - 40 * decay * t * 0.05 + noise);
            variant.contrastRatio.push_back(std::exp(-decay * t * 0.3) + 0.02 * noise);
            variant.detailRatio.push_back(0.9 * std::exp(-decay * t * 0.4) + 0.02 * noise);
            variant.colourDistance.push_back(0.01 + decay * t * 0.01 + 0.003 * noise);
            variant.repetition.push_back(0.002 * noise + decay * t * 0.001);
            variant.temporalError.push_back(0.03 + 0.01 * noise);
        }
        variant.slope = -4000 * decay * 0.05;
        variant.verdict = mask == 0 ? "collapsed" : mask < 3 ? "drifting" : "stable";
        for (const double frame : {0.0, 100.0, 250.0, 499.0})
            variant.thumbnails.push_back(
                ballImage(64, frame / 38.2, std::exp(-decay * frame * 0.3)));
        if (mask == 0)
            variant.thumbnails.back() = Image{};
        study.variants.push_back(std::move(variant));
    }
    for (const double frame : {0.0, 100.0, 250.0, 499.0})
        study.targets.push_back(ballImage(64, frame / 38.2));
    return study;
}

inline TrainingStrip trainingSamples()
{
    TrainingStrip strip;
    strip.note = "loss 0.21 to 0.043";
    for (int s = 0; s < 3; ++s) {
        strip.inputs.push_back(ballImage(64, s, 1, true));
        strip.targets.push_back(ballImage(64, s));
    }
    for (int m = 0; m < 12; ++m) {
        TrainingStrip::Moment moment{m * 10, {}};
        for (int s = 0; s < 3; ++s)
            moment.outputs.push_back(ballImage(64, s, m / 11.0));
        strip.moments.push_back(moment);
    }
    strip.moments.back().outputs.pop_back();
    return strip;
}

} // namespace vergence::live::testing
