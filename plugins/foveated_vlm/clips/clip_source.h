#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/compute/view.h"

namespace vergence::fvlm {

/// What is said of a clip, UTF-8; any of them may be empty.
struct ClipText {
    std::string prompt, answer;
    std::string source;           ///< names the system and user texts of the template
    std::string chosen, rejected; ///< two answers of which the first is preferred
};

/// What is to be said of a clip: its answer, or the chosen one where there is no other.
const std::string& answerOf(const ClipText& text);

/// One clip without its pixels.
struct ClipInfo {
    std::uint64_t id = 0;
    int frames = 0;
    float seconds = 0, fps = 0; ///< of what it was sampled from; 0: unknown
    bool isShort = false;       ///< the last frame is held, there were too few
    bool isImage = false;       ///< all frames are equal
    ClipText text{};
    std::vector<float> timestamps{}; ///< of the frames, s; empty: unknown
};

/// Clips of frames of one size with their texts. Reading is thread-safe.
class ClipSource {
public:
    virtual ~ClipSource();

    virtual Index count() const = 0;
    virtual int height() const = 0; ///< of every frame, px
    virtual int width() const = 0;
    /// Throws ContractError for clips that are not there, as read() does.
    virtual ClipInfo info(Index clip) const = 0;
    /// RGB, full range, into `out` of [frames, 3, height, width]. Throws InputError for files that
    /// are damaged.
    virtual void read(Index clip, std::span<std::uint8_t> out) const = 0;
    /// Of all that info() and read() can give; equal digests mean equal clips.
    virtual std::string digest() const = 0;
    /// All clips one after the other with equal strides, for an upload in one piece; empty where
    /// they do not lie in memory like that.
    virtual std::span<const std::uint8_t> mapped() const = 0;
};

/// What turned latents into numbers of mean 0 and deviation 1, channel by channel.
struct LatentStatistics {
    std::array<float, 4> mean{0, 0, 0, 0}, deviation{1, 1, 1, 1};
    bool operator==(const LatentStatistics&) const = default;
};

/// Latents of the frames of a ClipSource, in its order. Reading is thread-safe.
class LatentSource {
public:
    virtual ~LatentSource();

    virtual std::array<Index, 3> shape() const = 0; ///< channels (4), height, width
    /// Into `out` of [frames, 4, height, width].
    virtual void read(Index clip, std::span<float> out) const = 0;
    /// "vae", "file", "patch_basis": what made them. Never mixed within a run.
    virtual std::string provider() const = 0;
    /// What is to be undone before latents are decoded.
    virtual LatentStatistics statistics() const;
};

/// Throws ContractError unless `clip` is in [0, source.count()).
void expectsClip(const ClipSource& source, Index clip);
/// Numbers of a frame: 3 · height · width.
std::size_t frameSize(const ClipSource& source);
/// All frames of a clip, [frames, 3, height, width].
std::vector<std::uint8_t> framesOf(const ClipSource& source, Index clip);

} // namespace vergence::fvlm
