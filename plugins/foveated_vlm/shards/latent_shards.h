#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <span>
#include <stop_token>
#include <string>

#include "plugins/foveated_vlm/clips/clip_source.h"

namespace vergence::fvlm {

/// Makes latents of frames.
class LatentProvider {
public:
    virtual ~LatentProvider();
    virtual std::string name() const = 0; ///< "vae", "patch_basis"
    /// Channels (4), height and width of the latents of frames.
    virtual std::array<Index, 3> shape(int height, int width) const = 0;
    /// u8 [count, 3, height, width] → [count, 4, h, w], already standardised.
    virtual void encode(std::span<const std::uint8_t> frames, Index count, int height, int width,
                        std::span<float> latents) = 0;
    virtual LatentStatistics statistics() const { return {}; }
    /// All that latents depend on beside the frames: weights, settings.
    virtual std::string fingerprint() const { return name(); }
};

/// The projection of patch_basis.h as a provider, with the statistics of `clips`.
class PatchBasisProvider : public LatentProvider {
public:
    explicit PatchBasisProvider(const ClipSource& clips);
    std::string name() const override { return "patch_basis"; }
    std::array<Index, 3> shape(int height, int width) const override;
    void encode(std::span<const std::uint8_t> frames, Index count, int height, int width,
                std::span<float> latents) override;
    LatentStatistics statistics() const override { return m_statistics; }
    std::string fingerprint() const override;

private:
    LatentStatistics m_statistics;
};

/// Encodes all clips and writes them as a latent shard (bf16) that names the digest of their
/// frames. Finished clips are kept beside `path` while it runs: after a stop or a crash the same
/// call goes on. `progress(done, total)` is called after every clip. Returns whether the file is
/// complete; false where it was stopped. A complete file of the same frames and provider is left as
/// it is. Throws OutputError, what reading and encoding throw.
bool makeLatents(const ClipSource& clips, LatentProvider& provider,
                 const std::filesystem::path& path,
                 const std::function<void(Index, Index)>& progress = {}, std::stop_token stop = {});

} // namespace vergence::fvlm
