#include "core/view/frame_publisher.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/log.h"

namespace vergence {

namespace {

constexpr std::size_t kLargestMeta = 256u << 10;
constexpr std::uint32_t kLargestExtent = 65536;

/// Stream names may hold anything; names of shared memory may not.
std::string ringNamePart(const std::string& stream)
{
    std::string part = stream.substr(0, 64);
    for (char& c : part) {
        const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!plain)
            c = '_';
    }
    return part;
}

/// Room to grow, so that a slightly larger frame needs no new ring.
std::size_t slotBytesFor(const FrameInfo& info, std::size_t payloadBytes)
{
    const std::size_t needed = info.stream.size() + info.meta.size() + payloadBytes + 64;
    return std::max<std::size_t>(64u << 10, (needed + needed / 4 + 4095) / 4096 * 4096);
}

bool fits(const FrameInfo& info, std::size_t payloadBytes, const FrameRingWriter& ring)
{
    return info.stream.size() + info.meta.size() + payloadBytes + 16 <= ring.slotBytes();
}

void checkInfo(const FrameInfo& info)
{
    expects(!info.stream.empty(), "FramePublisher: a frame needs the name of its stream");
    expects(info.width <= kLargestExtent && info.height <= kLargestExtent &&
                info.layers <= kLargestExtent,
            "FramePublisher: at most 65536 pixels per side and layers");
    expects(info.meta.size() <= kLargestMeta, "FramePublisher: at most 256 KiB of meta");
}

} // namespace

struct FramePublisher::StreamState {
    std::shared_ptr<FrameRingWriter> ring;
    std::uint64_t sequence = 0;
    std::size_t refusedBytes = 0; ///< smallest slot that the system refused; 0 for none
};

FramePublisher::FramePublisher(std::string prefix) : m_prefix(std::move(prefix))
{
    expects(m_prefix.size() > 1 && m_prefix.front() == '/',
            "FramePublisher: the prefix must start with a slash");
}

FramePublisher::~FramePublisher() = default;

void FramePublisher::publish(FrameInfo info, std::span<const std::byte> pixels)
{
    checkInfo(info);
    expects(pixels.size() == info.pixelBytes(),
            "FramePublisher: pixel bytes differ from the frame's size");
    const auto ring = ringFor(info, pixels.size());
    if (!ring)
        return;
    ring->write(info, pixels); // outside the lock: nobody waits for a copy
    notify(info, *ring);
}

void FramePublisher::publishShared(FrameInfo info, const SharedPixels& shared)
{
    checkInfo(info);
    expects(info.pixelBytes() > 0, "FramePublisher: a frame in device memory needs pixels");
    // Only where they lie goes through the ring, so a small one will do.
    if (const auto ring = ringFor(info, FrameRingWriter::kSharedBytes)) {
        ring->write(info, shared);
        notify(info, *ring);
    }
}

void FramePublisher::notify(const FrameInfo& info, const FrameRingWriter& ring)
{
    bool isFirst = false;
    {
        const std::lock_guard lock(m_mutex);
        isFirst = m_notices.empty();
        const auto waiting =
            std::find_if(m_notices.begin(), m_notices.end(),
                         [&](const FrameNotice& notice) { return notice.stream == info.stream; });
        if (waiting != m_notices.end())
            *waiting = {info.stream, ring.name(), info.sequence};
        else
            m_notices.push_back({info.stream, ring.name(), info.sequence});
    }
    if (isFirst && m_noticeListener)
        m_noticeListener();
}

/// The ring of the frame's stream, made or replaced where it is too small; fills in the sequence.
/// Null where the system has no room for one, which is logged once per size.
std::shared_ptr<FrameRingWriter> FramePublisher::ringFor(FrameInfo& info, std::size_t payloadBytes)
{
    std::string refusal;
    std::shared_ptr<FrameRingWriter> ring, replaced;
    {
        const std::lock_guard lock(m_mutex);
        auto& state = m_streams[info.stream];
        if (!state)
            state = std::make_unique<StreamState>();
        info.sequence = ++state->sequence;
        if (!state->ring || !fits(info, payloadBytes, *state->ring)) {
            const std::size_t bytes = slotBytesFor(info, payloadBytes);
            if (state->refusedBytes > 0 && bytes >= state->refusedBytes)
                return nullptr;
            const std::string name =
                fmt::format("{}{}-{}", m_prefix, ringNamePart(info.stream), ++m_ringsMade);
            replaced = std::exchange(state->ring, FrameRingWriter::tryCreate(name, bytes, refusal));
            if (!state->ring)
                state->refusedBytes = bytes;
        }
        ring = state->ring;
    }
    if (!ring)
        log("view").warn("{} The stream {} is not shown.", refusal, info.stream);
    return ring;
}

void FramePublisher::publishLinear(const std::string& stream, std::span<const float> pixels,
                                   int width, int height, int channels, std::int64_t step,
                                   std::string meta)
{
    expects(width > 0 && height > 0 && (channels == 1 || channels == 3),
            "publishLinear: positive extents and one or three channels");
    const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    expects(pixels.size() == count * static_cast<std::size_t>(channels),
            "publishLinear: value count differs from the size");
    std::vector<std::byte> encoded(count * 4);
    for (std::size_t i = 0; i < count; ++i) {
        const float* in = pixels.data() + i * static_cast<std::size_t>(channels);
        std::byte* out = encoded.data() + i * 4;
        for (int c = 0; c < 3; ++c)
            out[c] = std::byte{encodeSrgb8(in[channels == 3 ? c : 0])};
        out[3] = std::byte{255};
    }
    FrameInfo info;
    info.stream = stream;
    info.step = step;
    info.width = static_cast<std::uint32_t>(width);
    info.height = static_cast<std::uint32_t>(height);
    info.meta = std::move(meta);
    publish(std::move(info), encoded);
}

void FramePublisher::publishDiagram(const std::string& stream, const std::string& diagramJson,
                                    std::int64_t step)
{
    FrameInfo info;
    info.stream = stream;
    info.step = step;
    info.meta = diagramJson;
    publish(std::move(info), {});
}

std::vector<FrameNotice> FramePublisher::drainNotices()
{
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_notices, {});
}

Frame FramePublisher::newest(const std::string& stream)
{
    std::shared_ptr<FrameRingWriter> ring; // keeps the name alive while it is read
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_streams.find(stream);
        if (found == m_streams.end() || !found->second->ring)
            return {};
        ring = found->second->ring;
    }
    FrameRingReader reader(ring->name());
    auto frame = reader.readNewest(0);
    return frame ? std::move(*frame) : Frame{};
}

std::map<std::string, std::uint64_t> FramePublisher::sequences() const
{
    const std::lock_guard lock(m_mutex);
    std::map<std::string, std::uint64_t> newest;
    for (const auto& [stream, state] : m_streams)
        newest[stream] = state->sequence;
    return newest;
}

std::vector<std::string> FramePublisher::ringNames() const
{
    const std::lock_guard lock(m_mutex);
    std::vector<std::string> names;
    for (const auto& [stream, state] : m_streams) {
        if (state->ring)
            names.push_back(state->ring->name());
    }
    return names;
}

} // namespace vergence
