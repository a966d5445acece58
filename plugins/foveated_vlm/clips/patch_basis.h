#pragma once

#include <array>
#include <span>
#include <vector>

#include "plugins/foveated_vlm/clips/clip_source.h"

namespace vergence::fvlm {

/// Edge of the blocks that become one latent position, px.
inline constexpr int kPatchBasisBlock = 8;

/// The four orthonormal rows of the projection, each [3, 8, 8]: brightness, red against blue, green
/// against both, and a slope of brightness from the top left to the bottom right.
const std::array<std::array<float, 192>, 4>& patchBasis();

/// Latents of frames u8 [F, 3, H, W] into [F, 4, ⌊H/8⌋, ⌊W/8⌋]: projections of 8×8 blocks of
/// u/127.5 − 1 divided by 8√3, so that a flat grey v gives (v, 0, 0, 0). Rows and columns that fill
/// no block are left out. `statistics` standardise.
void encodePatchBasis(std::span<const std::uint8_t> frames, int height, int width,
                      const LatentStatistics& statistics, std::span<float> latents);

/// Frames u8 [F, 3, 8h, 8w] from latents [F, 4, h, w] by the transposed basis: blocky, readable.
std::vector<std::uint8_t> decodePatchBasis(std::span<const float> latents, int height, int width,
                                           const LatentStatistics& statistics);

/// Mean and deviation of the channels over `sample` clips spread over the source (all where there
/// are fewer). A channel that never changes gets deviation 1.
LatentStatistics measurePatchBasis(const ClipSource& clips, Index sample = 256);

/// Latents that need no other model; made on the fly.
class PatchBasisLatents : public LatentSource {
public:
    /// `clips` must outlive it.
    explicit PatchBasisLatents(const ClipSource& clips);
    PatchBasisLatents(const ClipSource& clips, const LatentStatistics& statistics);

    std::array<Index, 3> shape() const override;
    void read(Index clip, std::span<float> out) const override;
    std::string provider() const override { return "patch_basis"; }
    LatentStatistics statistics() const override { return m_statistics; }

private:
    const ClipSource& m_clips;
    LatentStatistics m_statistics;
};

} // namespace vergence::fvlm
