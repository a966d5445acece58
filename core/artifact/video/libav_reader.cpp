#include "core/artifact/video/libav_parts.h"

#include <algorithm>

#include "core/artifact/video/libav_input.h"
#include "core/artifact/video/rgb_frames.h"
#include "core/base/error.h"

namespace vergence {

namespace {

class LibavReader final : public VideoReader {
public:
    LibavReader(const std::filesystem::path& path, int threads) : m_input(path), m_threads(threads)
    {
    }

    VideoTimes packetTimes() override;
    VideoOutcome decode(const std::function<bool(std::size_t)>& wants,
                        const std::function<void(std::size_t, VideoFrame&&)>& give) override;

private:
    /// Opens the file again where it has been read.
    void rewind()
    {
        if (m_isRead)
            m_input.reopen();
        m_isRead = true;
    }

    LibavInput m_input;
    int m_threads;
    bool m_isRead = false;
};

VideoTimes LibavReader::packetTimes()
{
    rewind();
    VideoTimes result;
    const AvHandle<AVPacket> packet(av_packet_alloc());
    bool isDamaged = false;
    while (m_input.nextPacket(*packet, isDamaged)) {
        const std::int64_t time = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
        const bool isShown = !(packet->flags & AV_PKT_FLAG_DISCARD);
        if (isShown) {
            const double at = time != AV_NOPTS_VALUE ? m_input.seconds(time)
                                                     : m_input.usualSeconds() *
                                                           static_cast<double>(result.times.size());
            result.times.push_back(at);
            result.end = std::max(result.end, at + m_input.lasting(packet->duration));
        }
        av_packet_unref(packet.get());
    }
    std::sort(result.times.begin(), result.times.end());
    return result;
}

/// Asks the decoder for frames until it wants packets; returns false where it failed.
template <class Take>
bool drain(AVCodecContext& codec, AVFrame& frame, const Take& take)
{
    for (;;) {
        const int error = avcodec_receive_frame(&codec, &frame);
        if (error == AVERROR(EAGAIN) || error == AVERROR_EOF)
            return true;
        if (error < 0)
            return false;
        take();
        av_frame_unref(&frame);
    }
}

VideoOutcome LibavReader::decode(const std::function<bool(std::size_t)>& wants,
                                 const std::function<void(std::size_t, VideoFrame&&)>& give)
{
    rewind();
    const AvHandle<AVCodecContext> codec = m_input.openCodec(m_threads);
    RgbFrames rgb(m_input.displayMatrix());
    VideoOutcome outcome;
    std::vector<double>& times = outcome.shown.times;
    const AvHandle<AVFrame> frame(av_frame_alloc());
    const AvHandle<AVPacket> packet(av_packet_alloc());
    const auto take = [&] {
        const std::int64_t time = frame->best_effort_timestamp;
        double at = time != AV_NOPTS_VALUE ? m_input.seconds(time)
                    : times.empty()        ? 0.0
                                           : times.back() + m_input.usualSeconds();
        at = times.empty() ? at : std::max(at, times.back());
        outcome.shown.end = std::max(outcome.shown.end, at + m_input.lasting(durationOf(*frame)));
        if (frame->decode_error_flags != 0 || (frame->flags & AV_FRAME_FLAG_CORRUPT))
            outcome.isDamaged = true;
        if (wants(times.size())) {
            VideoFrame converted = rgb.converted(*frame, m_input.aspectOf(*frame));
            converted.seconds = at;
            give(times.size(), std::move(converted));
        }
        times.push_back(at);
    };
    try {
        int failures = 0;
        while (failures < kMostFailures && m_input.nextPacket(*packet, outcome.isDamaged)) {
            const int error = avcodec_send_packet(codec.get(), packet.get());
            av_packet_unref(packet.get());
            const bool isGood = error >= 0 && drain(*codec, *frame, take);
            outcome.isDamaged = outcome.isDamaged || !isGood;
            failures = isGood ? 0 : failures + 1;
        }
        avcodec_send_packet(codec.get(), nullptr);
        if (!drain(*codec, *frame, take))
            outcome.isDamaged = true;
    } catch (const InputError& error) {
        m_input.fail(error.what());
    }
    return outcome;
}

} // namespace

std::unique_ptr<VideoReader> openLibavReader(const std::filesystem::path& path, int threads)
{
    return std::make_unique<LibavReader>(path, threads);
}

} // namespace vergence
