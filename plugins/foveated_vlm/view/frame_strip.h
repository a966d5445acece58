#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "plugins/foveated_vlm/clips/clip_source.h"

namespace vergence::fvlm {

/// Frames of one clip; variant A adds what was predicted.
struct StripScene {
    int height = 0, width = 0;        ///< of a frame, px
    std::vector<std::uint8_t> frames; ///< [T, 3, height, width]
    std::vector<float> timestamps;    ///< s; empty: frames are numbered
    std::string title;
    /// Latents as the model has them, [T, 4, latentHeight, latentWidth] each; empty: no prediction.
    /// Frame t was predicted from the latent before it, which is the learned first one for t = 0.
    int latentHeight = 0, latentWidth = 0;
    std::vector<float> previous, predicted, truth;
    std::string provider; ///< "patch_basis" or another, see decodeLatents()
    LatentStatistics statistics;
};

/// Rows: frames; with predictions also the previous, predicted and true latent decoded, and the
/// error per place, the mean square over the channels, on one scale. RGBA.
Image frameStrip(const StripScene& scene, int cell = 112, int mostFrames = 16, bool isDark = true);

/// A decoded picture.
struct DecodedFrames {
    int height = 0, width = 0;        ///< px
    std::vector<std::uint8_t> pixels; ///< [frames, 3, height, width]
};
/// Latents [frames, 4, height, width] for people. patch_basis: by the transposed basis, 8 px per
/// place. Others: one px per place, a linear estimate of the colours of Stable Diffusion's latents
/// (Decoding latents to RGB without upscaling, Hugging Face forum, 2022).
DecodedFrames decodeLatents(std::span<const float> latents, int height, int width,
                            const std::string& provider, const LatentStatistics& statistics);

/// Mean square of differences over the four channels, [frames, height, width].
std::vector<float> latentErrors(std::span<const float> predicted, std::span<const float> truth,
                                int height, int width);

} // namespace vergence::fvlm
