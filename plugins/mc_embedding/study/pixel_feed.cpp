#include "plugins/mc_embedding/study/pixel_feed.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/compute/stream.h"

namespace vergence::mc_embedding {

PixelFeed::PixelFeed(Stream& stream, std::shared_ptr<Device> device, const ImageSource& source,
                     std::size_t images, Residency level, const std::function<bool()>& isStopped)
    : m_device(std::move(device)),
      m_source(source),
      m_images(images),
      m_level(level)
{
    if (level == Residency::Mapped)
        return;
    if (level == Residency::Resident) {
        const auto [type, shape] = source.pixelLayout(images);
        m_all = Tensor::empty(m_device, shape, type);
    } else {
        m_host.resize(images * source.pixelBytes());
    }
    constexpr std::size_t kAtOnce = 64;
    for (std::size_t first = 0; first < images && !(isStopped && isStopped()); first += kAtOnce) {
        const std::size_t count = std::min(kAtOnce, images - first);
        if (level == Residency::Resident)
            fill(stream, m_all.narrow(0, Index(first), Index(count)), first, count);
        else
            source.copyPixels(first, count, m_host.data() + first * source.pixelBytes());
    }
}

PixelFeed::~PixelFeed()
{
    if (m_fetching.valid())
        m_fetching.wait();
}

void PixelFeed::makeSlots(std::size_t count)
{
    const auto isEnough = [&](const Tensor& slot) {
        return !slot.isEmpty() && slot.extent(0) >= static_cast<Index>(count);
    };
    if (std::ranges::all_of(m_slots, isEnough))
        return;
    const auto [type, shape] = m_source.pixelLayout(count);
    m_nextCount = 0;
    for (Tensor& slot : m_slots)
        slot = {};
    for (Tensor& slot : m_slots)
        slot = Tensor::empty(m_device, shape, type);
}

Tensor PixelFeed::take(Stream& stream, std::size_t first, std::size_t count)
{
    expects(count > 0 && first + count <= m_images, "PixelFeed: images of the measurement");
    const auto extent = static_cast<Index>(count);
    if (m_level == Residency::Resident)
        return m_all.narrow(0, static_cast<Index>(first), extent);
    if (m_fetching.valid())
        m_fetching.get();
    makeSlots(count);
    const Tensor& slot = m_slots[m_slot];
    if (m_nextFirst != first || m_nextCount < count)
        fill(stream, slot, first, count);
    m_slot = (m_slot + 1) % kSlots;
    stream.synchronize(); // nobody reads the other place any more
    fetchAhead(first + count, std::min(count, m_images - first - count));
    return slot.narrow(0, 0, extent);
}

void PixelFeed::fill(Stream& stream, const Tensor& slot, std::size_t first, std::size_t count) const
{
    const std::size_t bytes = count * m_source.pixelBytes();
    if (m_level == Residency::Pinned) {
        stream.copy(slot.data(), m_host.data() + first * m_source.pixelBytes(), bytes);
        return;
    }
    std::vector<std::uint8_t> pixels(bytes);
    m_source.copyPixels(first, count, pixels.data());
    stream.copy(slot.data(), pixels.data(), bytes);
}

void PixelFeed::fetchAhead(std::size_t first, std::size_t count)
{
    m_nextFirst = first;
    m_nextCount = count;
    if (count == 0)
        return;
    m_fetching = std::async(std::launch::async, [this, slot = m_slots[m_slot], first, count] {
        const auto stream = m_device->createStream();
        fill(*stream, slot, first, count);
        stream->synchronize();
    });
}

} // namespace vergence::mc_embedding
