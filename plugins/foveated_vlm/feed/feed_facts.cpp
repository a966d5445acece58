#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/foveated_vlm/feed/feed_way.h"
#include "plugins/foveated_vlm/feed/patch_rows.h"

namespace vergence::fvlm {

FeedFacts::FeedFacts(std::shared_ptr<Device> on, const ClipSource& source,
                     const LatentSource* beside, const FeedSettings& how)
    : device(std::move(on)),
      clips(source),
      latents(beside),
      settings(how),
      frameBytes(frameSize(source))
{
    const auto isWithin = [](int value, int low, int high) {
        return value >= low && value <= high;
    };
    expects(settings.patch > 0, "FrameFeed: the patch has at least one pixel");
    expects(isWithin(settings.readers, 1, 64), "FrameFeed: 1 to 64 readers");
    expects(isWithin(settings.slots, 2, 64), "FrameFeed: 2 to 64 slots");
    expects(settings.residentShare >= 0 && settings.residentShare <= 1,
            "FrameFeed: the resident share is in [0, 1]");
    expects(clips.height() >= settings.patch && clips.width() >= settings.patch,
            "FrameFeed: a frame holds at least one patch");
    if (latents) {
        const auto shape = latents->shape();
        latentSize = shape[0] * shape[1] * shape[2];
    }
    const auto count = static_cast<std::size_t>(clips.count());
    stored.resize(count);
    given.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const ClipInfo info = clips.info(static_cast<Index>(i));
        stored[i] = static_cast<std::uint32_t>(info.frames);
        given[i] = info.isImage && info.frames > 0 ? 1 : stored[i];
        frameTotal += given[i];
    }
}

Index FeedFacts::framesOf(std::span<const Index> batch) const
{
    Index frames = 0;
    for (const Index clip : batch) {
        expectsClip(clips, clip);
        frames += given[static_cast<std::size_t>(clip)];
    }
    return frames;
}

std::size_t FeedFacts::latentBytes(Index frames) const
{
    return static_cast<std::size_t>(frames * latentSize) * sizeof(float);
}

void FeedFacts::read(Index clip, std::uint8_t* pixels, float* latentsOut) const
{
    const auto i = static_cast<std::size_t>(clip);
    const std::size_t wanted = given[i], there = stored[i];
    const auto latentNumbers = static_cast<std::size_t>(latentSize);
    if (wanted == there) {
        clips.read(clip, {pixels, there * frameBytes});
        if (latents)
            latents->read(clip, {latentsOut, there * latentNumbers});
        return;
    }
    std::vector<std::uint8_t> all(there * frameBytes);
    clips.read(clip, all);
    std::copy_n(all.begin(), wanted * frameBytes, pixels);
    if (latents) {
        std::vector<float> allLatents(there * latentNumbers);
        latents->read(clip, allLatents);
        std::copy_n(allLatents.begin(), wanted * latentNumbers, latentsOut);
    }
}

void FeedFacts::read(std::span<const Index> batch, std::uint8_t* pixels, float* latentsOut,
                     int threads) const
{
    std::vector<std::size_t> first{0};
    for (const Index clip : batch)
        first.push_back(first.back() + given[static_cast<std::size_t>(clip)]);
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
        for (std::size_t i = next++; i < batch.size(); i = next++) {
            try {
                read(batch[i], pixels + first[i] * frameBytes,
                     latentsOut + first[i] * static_cast<std::size_t>(latentSize));
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = failure ? failure : std::current_exception();
                next = batch.size();
            }
        }
    };
    std::vector<std::jthread> others;
    for (int i = 1; i < threads && static_cast<std::size_t>(i) < batch.size(); ++i)
        others.emplace_back(work);
    work();
    others.clear();
    if (failure)
        std::rethrow_exception(failure);
}

FeedWay::~FeedWay() = default;

void FrameGather::check(Index frames, const Tensor& patches, const Tensor* latents) const
{
    const int patch = m_facts.settings.patch;
    const Index places = m_facts.clips.height() / patch * (m_facts.clips.width() / patch);
    expects(patches.rank() == 3 && patches.extent(0) == frames && patches.extent(1) == places &&
                patches.extent(2) >= Index(3) * patch * patch && patches.isContiguous(),
            fmt::format("FrameFeed: patches of [{}, {}, {} or more], dense; they are {}", frames,
                        places, 3 * patch * patch, toString(patches.shape())));
    expects(!latents || m_facts.latents, "FrameFeed: this feed has no latents");
    if (!latents)
        return;
    const auto shape = m_facts.latents->shape();
    expects(latents->shape() == Shape{frames, shape[0], shape[1], shape[2]} &&
                latents->dtype() == DType::F32 && latents->isContiguous(),
            fmt::format("FrameFeed: latents of [{}, {}, {}, {}] in F32, dense; they are {}", frames,
                        shape[0], shape[1], shape[2], toString(latents->shape())));
}

void FrameGather::run(Stream& stream, const FramePlace& place,
                      std::span<const std::int64_t> numbers, const Tensor& patches,
                      const Tensor* latents)
{
    const auto frames = static_cast<Index>(numbers.size());
    check(frames, patches, latents);
    if (frames == 0)
        return;
    if (m_values.isEmpty() || m_values.dtype() != patches.dtype())
        m_values = normalisedBytes(stream, m_facts.device, patches.dtype());
    if (m_numbers.size() < frames) {
        stream.synchronize(); // what it had may still be read
        m_numbers = Tensor::empty(m_facts.device, {frames}, DType::I64);
    }
    stream.copy(m_numbers.data(), numbers.data(), numbers.size_bytes());
    const auto* where = static_cast<const std::int64_t*>(m_numbers.data());
    PatchRowsArguments rows;
    rows.pixels = place.pixels;
    rows.numbers = where;
    rows.values = m_values.data();
    rows.rows = patches.data();
    rows.type = patches.dtype();
    rows.frames = frames;
    rows.height = m_facts.clips.height();
    rows.width = m_facts.clips.width();
    rows.patch = m_facts.settings.patch;
    rows.columns = patches.extent(2);
    patchRowsKernel(stream, rows);
    if (latents)
        gatherRowsKernel(stream, {place.latents, where, static_cast<float*>(latents->data()),
                                  frames, m_facts.latentSize});
}

} // namespace vergence::fvlm
