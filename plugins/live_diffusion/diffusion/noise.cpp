#include "plugins/live_diffusion/diffusion/noise.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::live {

namespace {
constexpr std::uint32_t kStepStride = 16; ///< purposes of the steps lie above all others
}

std::uint32_t stepPurpose(int step)
{
    return static_cast<std::uint32_t>(NoisePurpose::Step) +
           kStepStride * static_cast<std::uint32_t>(step);
}

void FrameNoise::fill(Stream& stream, std::uint32_t frame, std::uint32_t purpose,
                      std::span<float> out, std::uint32_t firstElement) const
{
    expects(firstElement % 4 == 0, "FrameNoise: the first element is a multiple of 4");
    fillNormalsKernel(stream, {out.data(), static_cast<Index>(out.size()), m_key, frame, purpose,
                               firstElement, nullptr});
}

void FrameNoise::normals(Stream& stream, std::uint32_t frame, NoisePurpose purpose,
                         std::span<float> out, std::uint32_t firstElement) const
{
    fill(stream, frame, static_cast<std::uint32_t>(purpose), out, firstElement);
}

void FrameNoise::stepNormals(Stream& stream, std::uint32_t frame, int step,
                             std::span<float> out) const
{
    fill(stream, frame, stepPurpose(step), out, 0);
}

std::uint32_t FrameNoise::word(std::uint32_t frame, NoisePurpose purpose,
                               std::uint32_t element) const
{
    const std::uint64_t block = (static_cast<std::uint64_t>(frame) << 32) + element / 4;
    return philox(m_key, static_cast<std::uint32_t>(purpose), block).word[element % 4];
}

double FrameNoise::uniform(std::uint32_t frame, NoisePurpose purpose, std::uint32_t element) const
{
    return (word(frame, purpose, element) + 0.5) / 4294967296.0;
}

void startNoise(Stream& stream, const FrameNoise& noise, StartNoise mode, double a,
                std::uint32_t frame, std::span<float> out)
{
    expects(a >= 0 && a <= 1, fmt::format("startNoise: a = {} is outside [0, 1]", a));
    noise.normals(stream, mode == StartNoise::Fresh ? frame : 0, NoisePurpose::Start, out);
    if (mode != StartNoise::Correlated || a == 0)
        return;
    std::vector<float> own(out.size());
    noise.normals(stream, frame, NoisePurpose::Start, own);
    const auto same = static_cast<float>(std::sqrt(1 - a * a)), fresh = static_cast<float>(a);
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = same * out[i] + fresh * own[i];
}

void historyNoise(Stream& stream, const FrameNoise& noise, double s, std::uint32_t frame,
                  std::span<const float> picture, std::span<float> out)
{
    expects(s >= 0 && s <= 1, fmt::format("historyNoise: level {} is outside [0, 1]", s));
    expects(picture.size() == out.size(), "historyNoise: pictures differ in size");
    std::vector<float> eta(out.size());
    if (s > 0)
        noise.normals(stream, frame, NoisePurpose::History, eta);
    const auto kept = static_cast<float>(std::sqrt(1 - s * s)), fresh = static_cast<float>(s);
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = kept * picture[i] + fresh * eta[i];
}

} // namespace vergence::live
