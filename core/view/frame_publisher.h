#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/view/frame.h"
#include "core/view/frame_channel.h"

namespace vergence {

/// What the window must hear of a published frame: read ring `ring`, sequence `sequence`.
struct FrameNotice {
    std::string stream, ring;
    std::uint64_t sequence = 0;
};

/// Used by the run thread; publishing copies into shared memory and never waits for a reader.
class FramePublisher {
public:
    /// `prefix` starts every ring name, for instance "/vergence-1234-".
    explicit FramePublisher(std::string prefix);
    ~FramePublisher();

    /// Publishes host pixels; `info.sequence` is filled in here. A stream's ring grows (under a new
    /// name) when a frame needs it. Without room for a ring the frame is dropped and one warning
    /// logged. Notices: the newest of each stream.
    void publish(FrameInfo info, std::span<const std::byte> pixels);
    /// RGBA8 from linear RGB floats [H, W, C] (C = 1 or 3, values clamped to [0, 1]), sRGB-encoded.
    void publishLinear(const std::string& stream, std::span<const float> pixels, int width,
                       int height, int channels, std::int64_t step, std::string meta = {});
    /// Publishes a frame that lies in device memory (Device::createSharedSlots), instead of host
    /// pixels. Only where wantsShared() says so.
    void publishShared(FrameInfo info, const SharedPixels& shared);
    void publishDiagram(const std::string& stream, const std::string& diagramJson,
                        std::int64_t step);

    bool isWatched() const
    {
        return m_isWatched;
    } ///< somebody listens; skip expensive previews otherwise
    void setWatched(bool watched) { m_isWatched = watched; }
    /// Every viewer that watches can open device memory; frames on a device need not go through the
    /// host.
    bool wantsShared() const { return m_wantsShared; }
    void setWantsShared(bool wants) { m_wantsShared = wants; }
    std::vector<FrameNotice> drainNotices();
    /// Called from the publishing thread when a notice waits where none waited before; must be
    /// quick. Set before the run starts.
    void setNoticeListener(std::function<void()> listener)
    {
        m_noticeListener = std::move(listener);
    }
    /// Copy of the newest frame of a stream (for time-lapses and --preview files); empty pixels
    /// where none, and where it lies in device memory.
    Frame newest(const std::string& stream);
    std::vector<std::string> ringNames() const;
    /// Newest sequence of each stream.
    std::map<std::string, std::uint64_t> sequences() const;

private:
    struct StreamState;
    std::shared_ptr<FrameRingWriter> ringFor(FrameInfo& info, std::size_t payloadBytes);
    void notify(const FrameInfo& info, const FrameRingWriter& ring);

    std::string m_prefix;
    std::atomic<bool> m_isWatched{false}, m_wantsShared{false};
    mutable std::mutex m_mutex;
    std::map<std::string, std::unique_ptr<StreamState>> m_streams;
    std::vector<FrameNotice> m_notices;
    std::function<void()> m_noticeListener;
    std::uint64_t m_ringsMade = 0;
};

/// sRGB transfer function, linear in [0, 1] to 8 bits. Source: IEC 61966-2-1.
std::uint8_t encodeSrgb8(float linear);
float decodeSrgb8(std::uint8_t encoded);

} // namespace vergence
