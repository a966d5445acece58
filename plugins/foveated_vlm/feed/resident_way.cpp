#include <algorithm>
#include <numeric>
#include <thread>

#include "core/base/error.h"
#include "plugins/foveated_vlm/feed/feed_way.h"

namespace vergence::fvlm {

namespace {

/// All frames on the device; mapped files are used where they lie on the CPU.
class ResidentWay final : public FeedWay {
public:
    explicit ResidentWay(const FeedFacts& facts) : m_facts(facts), m_gather(facts)
    {
        const auto stream = facts.device->createStream();
        const bool usesMap =
            facts.device->isCpu() && facts.given == facts.stored && !facts.clips.mapped().empty();
        std::size_t frame = 0;
        for (const std::uint32_t count : facts.given) {
            m_first.push_back(frame);
            frame += count;
        }
        if (usesMap) {
            m_place.pixels = facts.clips.mapped().data();
        } else {
            m_pixels = Tensor::empty(facts.device,
                                     bytesAsShape(facts.frameTotal * facts.frameBytes), DType::U8);
            m_place.pixels = static_cast<const std::uint8_t*>(m_pixels.data());
        }
        if (facts.latents) {
            m_latents = Tensor::empty(
                facts.device, {static_cast<Index>(facts.frameTotal), facts.latentSize}, DType::F32);
            m_place.latents = static_cast<const float*>(m_latents.data());
        }
        if (!usesMap || facts.latents)
            readAll(*stream, !usesMap);
        stream->synchronize();
    }

    void ahead(std::span<const Index>) override {}
    void forget() override {}

    void fill(Stream& stream, std::span<const Index> clips, const Tensor& patches,
              const Tensor* latents) override
    {
        m_numbers.clear();
        for (const Index clip : clips) {
            expectsClip(m_facts.clips, clip);
            const auto i = static_cast<std::size_t>(clip);
            for (std::size_t frame = 0; frame < m_facts.given[i]; ++frame)
                m_numbers.push_back(static_cast<std::int64_t>(m_first[i] + frame));
        }
        m_gather.run(stream, m_place, m_numbers, patches, latents);
        ++m_counts.batches;
    }

private:
    static Shape bytesAsShape(std::size_t bytes) { return {static_cast<Index>(bytes)}; }

    /// Reads the source in pieces and copies them, pixels only where wanted.
    void readAll(Stream& stream, bool withPixels)
    {
        constexpr Index kAtOnce = 64;
        const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
        std::vector<std::uint8_t> pixels;
        std::vector<float> latents;
        const std::function<bool()>& isStopped = m_facts.settings.isStopped;
        for (Index first = 0; first < m_facts.clips.count(); first += kAtOnce) {
            if (isStopped && isStopped())
                return;
            std::vector<Index> clips(
                static_cast<std::size_t>(std::min(kAtOnce, m_facts.clips.count() - first)));
            std::iota(clips.begin(), clips.end(), first);
            const Index frames = m_facts.framesOf(clips);
            pixels.resize(static_cast<std::size_t>(frames) * m_facts.frameBytes);
            latents.resize(static_cast<std::size_t>(frames * m_facts.latentSize));
            m_facts.read(clips, pixels.data(), latents.data(), threads);
            const std::size_t frame = m_first[static_cast<std::size_t>(first)];
            if (withPixels)
                stream.copy(static_cast<std::uint8_t*>(m_pixels.data()) +
                                frame * m_facts.frameBytes,
                            pixels.data(), pixels.size());
            if (m_facts.latents)
                stream.copy(static_cast<float*>(m_latents.data()) +
                                frame * static_cast<std::size_t>(m_facts.latentSize),
                            latents.data(), m_facts.latentBytes(frames));
        }
    }

    const FeedFacts& m_facts;
    FrameGather m_gather;
    Tensor m_pixels, m_latents;
    FramePlace m_place;
    std::vector<std::size_t> m_first; ///< frame number of each clip's first
    std::vector<std::int64_t> m_numbers;
};

} // namespace

std::unique_ptr<FeedWay> makeResidentWay(const FeedFacts& facts)
{
    return std::make_unique<ResidentWay>(facts);
}

} // namespace vergence::fvlm
