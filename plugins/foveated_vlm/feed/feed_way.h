#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plugins/foveated_vlm/feed/frame_feed.h"

namespace vergence::fvlm {

/// What is known of the clips of a feed.
struct FeedFacts {
    FeedFacts(std::shared_ptr<Device> on, const ClipSource& source, const LatentSource* beside,
              const FeedSettings& how);

    std::shared_ptr<Device> device;
    const ClipSource& clips;
    const LatentSource* latents;
    FeedSettings settings;
    std::size_t frameBytes = 0;        ///< 3 · H · W
    Index latentSize = 0;              ///< numbers of a frame's latent; 0: no latents
    std::vector<std::uint32_t> stored; ///< frames of each clip in the source
    std::vector<std::uint32_t> given;  ///< frames that the feed gives: 1 for images
    std::size_t frameTotal = 0;        ///< Σ given

    Index framesOf(std::span<const Index> batch) const;
    std::size_t latentBytes(Index frames) const;
    /// Reads the frames that a clip gives, and their latents where there are any.
    void read(Index clip, std::uint8_t* pixels, float* latentsOut) const;
    /// The same for a list, one after the other, on `threads` threads. Throws the first failure.
    void read(std::span<const Index> batch, std::uint8_t* pixels, float* latentsOut,
              int threads) const;
};

/// Where frames lie: numbers count frames of `pixels` and `latents`.
struct FramePlace {
    const std::uint8_t* pixels = nullptr;
    const float* latents = nullptr;
};

/// The launch that both ways end in.
class FrameGather {
public:
    explicit FrameGather(const FeedFacts& facts) : m_facts(facts) {}

    /// Throws ContractError for tensors that do not fit.
    void run(Stream& stream, const FramePlace& place, std::span<const std::int64_t> numbers,
             const Tensor& patches, const Tensor* latents);

private:
    void check(Index frames, const Tensor& patches, const Tensor* latents) const;

    const FeedFacts& m_facts;
    Tensor m_values;  ///< normalised bytes in the type asked for last
    Tensor m_numbers; ///< on the device
};

/// How frames come to the device.
class FeedWay {
public:
    virtual ~FeedWay();
    virtual void ahead(std::span<const Index> clips) = 0;
    virtual void forget() = 0;
    virtual void fill(Stream& stream, std::span<const Index> clips, const Tensor& patches,
                      const Tensor* latents) = 0;
    const FeedCounts& counts() const { return m_counts; }

protected:
    FeedCounts m_counts;
};

std::unique_ptr<FeedWay> makeResidentWay(const FeedFacts& facts);
std::unique_ptr<FeedWay> makeStreamWay(const FeedFacts& facts);

} // namespace vergence::fvlm
