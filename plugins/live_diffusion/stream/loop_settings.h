#pragma once

#include <cstdint>

#include "plugins/live_diffusion/diffusion/guidance.h"
#include "plugins/live_diffusion/diffusion/noise.h"
#include "plugins/live_diffusion/diffusion/sampler.h"
#include "plugins/live_diffusion/diffusion/schedule.h"

namespace vergence::live {

using vergence::nameOf;

/// What becomes of the input. Restyle and Restore differ in what the network was trained for; Dream
/// drops the input after the first frame: pure prediction of the next one.
enum class StreamMode { Restyle, Restore, Dream };
constexpr auto namesOf(StreamMode)
{
    return std::array{EnumName{StreamMode::Restyle, "restyle"},
                      EnumName{StreamMode::Restore, "restore"},
                      EnumName{StreamMode::Dream, "dream"}};
}

/// What the first step starts from, below its noise. Dream takes Previous for Input.
enum class StartFrom { Input, Previous, Noise };
constexpr auto namesOf(StartFrom)
{
    return std::array{EnumName{StartFrom::Input, "input"},
                      EnumName{StartFrom::Previous, "previous"},
                      EnumName{StartFrom::Noise, "noise"}};
}

/// Everything that may change between two frames without a new network.
struct LoopSettings {
    StreamMode mode = StreamMode::Restyle;
    BetaCurve curve = BetaCurve::Cosine;
    bool zeroTerminalSnr = false;
    Prediction prediction = Prediction::V;
    SamplerKind sampler = SamplerKind::Ddim;
    int steps = 2;         ///< N, 1 … 64; Turbo takes 1
    double strength = 0.6; ///< ρ, above 0, at most 1
    double eta = 0;        ///< of DDIM, 0 … 1
    bool clampsEstimate = true;
    StartFrom start = StartFrom::Input;
    StartNoise noise = StartNoise::Fixed;
    double freshness = 0.3; ///< a of Correlated, 0 … 1

    bool usesHistory = true;    ///< false: h = 0
    double historyNoise = 0.05; ///< s, 0 … 0.7
    double blend = 1;           ///< β, 0 … 1
    bool usesMemory = true;     ///< false: the bank stays empty
    int memoryStride = 4;       ///< generated frames per write, 1 …
    double cutCosine = 0.5;     ///< a scene cut lies below; −1: never
    bool flushesMemoryOnCut = false;
    GuidanceSettings guidance;
    double driftGuard = 0;      ///< strength, 0 … 1
    bool isStreamBatch = false; ///< the steps become rows of one batch
    bool filtersSimilar = false;
    double similarity = 0.98; ///< η of the filter, 0 … below 1
    std::uint32_t seed = 1;

    bool operator==(const LoopSettings&) const = default;
};

/// Throws ContractError that names the field out of range.
void check(const LoopSettings& settings);
/// Steps of one frame: Turbo takes 1.
int stepsOf(const LoopSettings& settings);
/// What goes from the start to the picture. Throws ContractError as it does.
Sampler samplerOf(const LoopSettings& settings);

} // namespace vergence::live
