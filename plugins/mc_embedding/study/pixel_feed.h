#pragma once

#include <array>
#include <functional>
#include <future>

#include "plugins/mc_embedding/io/residency.h"
#include "plugins/mc_embedding/study/image_source.h"

namespace vergence::mc_embedding {

/// Brings the pixels of one measurement to the device, chunk by chunk. What is not resident there
/// comes a chunk ahead: while passes run, a second thread copies the next chunk on a stream of its
/// own, so that two chunks are on the device at a time. Specification, section 10.2.
class PixelFeed {
public:
    /// Of the images [0, images) of the source, whose current preprocessing must not change while
    /// this object lives. Pixels that are to be resident are copied now; throws DeviceError where
    /// they do not fit. Of no use where `isStopped` said yes meanwhile.
    PixelFeed(Stream& stream, std::shared_ptr<Device> device, const ImageSource& source,
              std::size_t images, Residency level, const std::function<bool()>& isStopped = {});
    ~PixelFeed();

    Residency level() const { return m_level; }
    /// The pixels of images [first, first + count), as ImageSource::pixels() has them; valid until
    /// the call after the next. Begins to fetch as many of those that follow.
    Tensor take(Stream& stream, std::size_t first, std::size_t count);

private:
    /// Two places for chunks, filled in turn. They stay, so that no copy of the second stream lands
    /// in memory that the first one still reads.
    static constexpr std::size_t kSlots = 2;

    void makeSlots(std::size_t count);
    void fill(Stream& stream, const Tensor& slot, std::size_t first, std::size_t count) const;
    void fetchAhead(std::size_t first, std::size_t count);

    std::shared_ptr<Device> m_device;
    const ImageSource& m_source;
    std::size_t m_images;
    Residency m_level;
    Tensor m_all;                     ///< resident
    std::vector<std::uint8_t> m_host; ///< Residency::Pinned: all, in pageable memory
    std::array<Tensor, kSlots> m_slots;
    std::size_t m_slot = 0; ///< of the next chunk
    std::future<void> m_fetching;
    std::size_t m_nextFirst = 0, m_nextCount = 0; ///< what it brings
};

} // namespace vergence::mc_embedding
