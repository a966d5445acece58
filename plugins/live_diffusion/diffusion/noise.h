#pragma once

#include <cstdint>
#include <span>

#include "core/base/enum_names.h"
#include "core/compute/kernel.h"
#include "core/compute/rng.h"

namespace vergence::live {

using vergence::nameOf;

/// What numbers are drawn for; tells apart the draws of one frame.
enum class NoisePurpose : std::uint32_t {
    Start = 0,   ///< ε of the first step
    History = 1, ///< added to the last picture
    Step = 2,    ///< z of stochastic samplers; the step's number times 16 is added
    Filter = 3,  ///< whether a frame is skipped
    Scene = 4,   ///< noise of a synthetic frame
    Layout = 5,  ///< where the things of a synthetic scene are
    Weights = 6, ///< start values
    Training = 7 ///< samples
};

/// Numbers as a function of seed, stream, frame, purpose and element: Philox 4x32-10 with key
/// (seed, stream) and counter (element/4, frame, purpose, 0); u = (word + ½)/2³². Normal numbers by
/// Box–Muller from the words (0, 1) and (2, 3): r = √(−2 ln u₁), r cos 2πu₂, r sin 2πu₂. The same
/// on every device to 4 units in the last place, whatever the order or the split into batches.
class FrameNoise {
public:
    explicit FrameNoise(std::uint32_t seed, std::uint32_t streamId = 0)
        : m_key(seed | (static_cast<std::uint64_t>(streamId) << 32))
    {
    }

    /// Elements [firstElement, firstElement + out.size()); firstElement a multiple of 4. `out` is
    /// memory of the stream's device.
    void normals(Stream& stream, std::uint32_t frame, NoisePurpose purpose, std::span<float> out,
                 std::uint32_t firstElement = 0) const;
    /// Of a stochastic sampler's step.
    void stepNormals(Stream& stream, std::uint32_t frame, int step, std::span<float> out) const;

    std::uint32_t word(std::uint32_t frame, NoisePurpose purpose, std::uint32_t element) const;
    /// In (0, 1).
    double uniform(std::uint32_t frame, NoisePurpose purpose, std::uint32_t element) const;

    std::uint64_t key() const { return m_key; } ///< seed, and the stream above it

private:
    void fill(Stream& stream, std::uint32_t frame, std::uint32_t purpose, std::span<float> out,
              std::uint32_t firstElement) const;

    std::uint64_t m_key;
};

/// How the noise a frame starts from follows that of the frame before: the same for all, its own
/// each, or √(1 − a²)·same + a·own.
enum class StartNoise { Fixed, Fresh, Correlated };
constexpr auto namesOf(StartNoise)
{
    return std::array{EnumName{StartNoise::Fixed, "fixed"}, EnumName{StartNoise::Fresh, "fresh"},
                      EnumName{StartNoise::Correlated, "correlated"}};
}
/// out = ε of frame `frame`; a ∈ [0, 1] counts for Correlated alone. `out`: CPU memory.
void startNoise(Stream& stream, const FrameNoise& noise, StartNoise mode, double a,
                std::uint32_t frame, std::span<float> out);

/// h = √(1 − s²)·picture + s·η with η of purpose History; s ∈ [0, 1]. CPU memory; `out` may be the
/// picture. Source: Diffusion Models Are Real-Time Game Engines (2024), section 3.2.1.
void historyNoise(Stream& stream, const FrameNoise& noise, double s, std::uint32_t frame,
                  std::span<const float> picture, std::span<float> out);

/// What the numbers of a frame are drawn with, where they are drawn on a device from numbers there.
struct NoiseDraw {
    std::uint64_t key = 0;
    std::uint32_t frame = 0;
};

/// Of a stochastic sampler's step, for NormalFill.
std::uint32_t stepPurpose(int step);

/// y[i] = normal number of element `first` + i.
struct NormalFill {
    float* y = nullptr;
    Index count = 0;
    std::uint64_t key = 0;
    std::uint32_t frame = 0, purpose = 0, first = 0;
    const NoiseDraw* live = nullptr; ///< memory of the device; counts instead of key and frame
};
inline const Kernel<void(const NormalFill&)> fillNormalsKernel{"live.fill_normals"};

} // namespace vergence::live
