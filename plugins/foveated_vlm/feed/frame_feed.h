#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/compute/tensor.h"
#include "plugins/foveated_vlm/clips/clip_source.h"

namespace vergence::fvlm {

/// Resident: all frames lie on the device. Stream: they come batch by batch, ahead of their use.
enum class FeedMode { Auto, Resident, Stream };

/// "auto", "resident", "stream"; throws ContractError for another name.
FeedMode feedModeFromName(std::string_view name);
const char* nameOf(FeedMode mode);

struct FeedSettings {
    FeedMode mode = FeedMode::Auto;
    int patch = 14;             ///< edge of a patch, px
    double residentShare = .25; ///< Auto: resident where frames and latents need no more of the
                                ///< device's free memory
    int readers = 2;            ///< threads that read clips; 1 to 64
    int slots = 4;              ///< batches that wait on the host; 2 to 64
    std::function<bool()> isStopped; ///< asked while Resident reads, which it ends; the feed is
                                     ///< then of no use
};

/// What a feed has done.
struct FeedCounts {
    std::uint64_t batches = 0;
    std::uint64_t starved = 0;     ///< batches that fill() had to wait for
    std::uint64_t unannounced = 0; ///< batches that fill() was asked for without ahead()
    double waitedSeconds = 0;      ///< in all of them
    double lastWaitSeconds = 0;    ///< in the latest fill()
};

struct FeedFacts;
class FeedWay;

/// Frames of clips as rows of normalised patches on a device. Frame f of the clips asked for, one
/// clip after the other, becomes rows [f, G², ·]: patches row by row, in each the channels R, G, B,
/// in each its pixels row by row; value (u/255 − mean) / deviation with ImageNet's statistics.
/// Pixels right of and below the last whole patch are left out. An image gives one frame. Resident
/// and streamed frames are equal bit for bit. Used from one thread.
class FrameFeed {
public:
    /// `clips` and `latents` (may be null) must outlive it; Resident reads all of them now. Throws
    /// ContractError for settings out of range and frames smaller than a patch, DeviceError where
    /// Resident does not fit, what reading throws.
    FrameFeed(std::shared_ptr<Device> device, const ClipSource& clips, const LatentSource* latents,
              const FeedSettings& settings);
    ~FrameFeed();
    FrameFeed(const FrameFeed&) = delete;
    FrameFeed& operator=(const FrameFeed&) = delete;

    FeedMode mode() const { return m_mode; } ///< Resident or Stream
    /// One sentence for the log: which mode, and why.
    const std::string& reason() const { return m_reason; }

    Index patchRows() const;    ///< of a frame: ⌊H/P⌋
    Index patchColumns() const; ///< of a frame: ⌊W/P⌋
    /// Frames that a clip gives: 1 for an image.
    Index frames(Index clip) const;
    Index frames(std::span<const Index> clips) const; ///< of all of them

    /// Announces the batch after those announced before, so that it is read meanwhile. Does not
    /// wait; nothing for resident frames. Throws ContractError for clips that are not there.
    void ahead(std::span<const Index> clips);
    /// Drops what was announced.
    void forget();

    /// Queues the frames of `clips` into `patches` of [F, G², K], K ≥ 3P² (columns beyond are set
    /// to 0), in F64, F32, F16 or BF16, and their latents into `latents` of [F, 4, h, w] in F32
    /// where not null. Those announced before this batch are dropped; a batch that was not
    /// announced is read now, and those that were stay. Throws what reading threw, ContractError
    /// for tensors that do not fit. Not to be recorded into a launch graph: its tensors may be.
    void fill(Stream& stream, std::span<const Index> clips, const Tensor& patches,
              const Tensor* latents = nullptr);

    const FeedCounts& counts() const;

private:
    std::unique_ptr<FeedFacts> m_facts;
    std::unique_ptr<FeedWay> m_way;
    FeedMode m_mode = FeedMode::Auto;
    std::string m_reason;
};

} // namespace vergence::fvlm
