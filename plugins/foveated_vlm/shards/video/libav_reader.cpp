#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/foveated_vlm/shards/video/av_handles.h"
#include "plugins/foveated_vlm/shards/video/rgb_frames.h"
#include "plugins/foveated_vlm/shards/video/video_reader.h"

namespace vergence::fvlm {

namespace {

/// Damaged packets one after the other at which the rest of a file is given up.
constexpr int kMostFailures = 1000;

class LibavReader final : public VideoReader {
public:
    LibavReader(const char* path, int threads) : m_path(path), m_threads(threads) { open(); }

    VideoTimes packetTimes() override;
    VideoOutcome decode(const std::function<bool(std::size_t)>& wants,
                        const std::function<void(std::size_t, VideoFrame&&)>& give) override;

private:
    [[noreturn]] void fail(const std::string& what) const
    {
        throw InputError(fmt::format("The video {} cannot be used: {}.", m_path, what));
    }
    void open();
    /// Opens the file again where it has been read.
    void rewind()
    {
        if (m_isRead)
            open();
        m_isRead = true;
    }
    void openCodec();
    AVStream& stream() const { return *m_format->streams[m_stream]; }
    double seconds(std::int64_t time) const
    {
        const std::int64_t start = stream().start_time;
        return static_cast<double>(time - (start == AV_NOPTS_VALUE ? 0 : start)) *
               av_q2d(stream().time_base);
    }
    /// What a frame lasts where nothing says so, s.
    double usualSeconds() const
    {
        const AVRational rate =
            stream().avg_frame_rate.num > 0 ? stream().avg_frame_rate : stream().r_frame_rate;
        return rate.num > 0 && rate.den > 0 ? av_q2d(av_inv_q(rate)) : 0.04;
    }
    /// The next packet of the stream; false at the end.
    bool nextPacket(AVPacket& packet, bool& isDamaged);

    std::string m_path;
    int m_threads, m_stream = -1;
    bool m_isRead = false;
    const AVCodec* m_decoder = nullptr;
    AvHandle<AVFormatContext> m_format;
    AvHandle<AVCodecContext> m_codec;
};

void LibavReader::open()
{
    m_codec.reset();
    m_format.reset();
    AVFormatContext* format = nullptr;
    const std::string url = "file:" + m_path; // a name with a colon is no protocol
    int error = avformat_open_input(&format, url.c_str(), nullptr, nullptr);
    m_format.reset(format);
    if (error < 0)
        fail(avReason(error));
    error = avformat_find_stream_info(format, nullptr);
    if (error < 0)
        fail(avReason(error));
    m_stream = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, &m_decoder, 0);
    if (m_stream == AVERROR_STREAM_NOT_FOUND)
        fail("it has no video stream");
    if (m_stream < 0 || !m_decoder)
        fail("there is no decoder for its video");
    for (unsigned i = 0; i < format->nb_streams; ++i)
        format->streams[i]->discard =
            static_cast<int>(i) == m_stream ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
}

void LibavReader::openCodec()
{
    m_codec.reset(avcodec_alloc_context3(m_decoder));
    if (!m_codec || avcodec_parameters_to_context(m_codec.get(), stream().codecpar) < 0)
        fail("its decoder cannot be set up");
    m_codec->thread_count = m_threads;
    m_codec->pkt_timebase = stream().time_base;
    const int error = avcodec_open2(m_codec.get(), m_decoder, nullptr);
    if (error < 0)
        fail(avReason(error));
}

bool LibavReader::nextPacket(AVPacket& packet, bool& isDamaged)
{
    for (int failures = 0; failures < kMostFailures;) {
        const int error = av_read_frame(m_format.get(), &packet);
        if (error == AVERROR_EOF)
            return false;
        if (error < 0) {
            isDamaged = true;
            if (error != AVERROR_INVALIDDATA)
                return false;
            ++failures;
            continue;
        }
        if (packet.stream_index == m_stream)
            return true;
        av_packet_unref(&packet);
    }
    return false;
}

VideoTimes LibavReader::packetTimes()
{
    rewind();
    VideoTimes result;
    const AvHandle<AVPacket> packet(av_packet_alloc());
    bool isDamaged = false;
    while (nextPacket(*packet, isDamaged)) {
        const std::int64_t time = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
        const bool isShown = !(packet->flags & AV_PKT_FLAG_DISCARD);
        if (isShown) {
            const double at = time != AV_NOPTS_VALUE
                                  ? seconds(time)
                                  : usualSeconds() * static_cast<double>(result.times.size());
            const double lasts = packet->duration > 0 ? static_cast<double>(packet->duration) *
                                                            av_q2d(stream().time_base)
                                                      : usualSeconds();
            result.times.push_back(at);
            result.end = std::max(result.end, at + lasts);
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
    openCodec();
    const auto* display = reinterpret_cast<const std::int32_t*>(
        av_stream_get_side_data(&stream(), AV_PKT_DATA_DISPLAYMATRIX, nullptr));
    RgbFrames rgb(display);
    VideoOutcome outcome;
    std::vector<double>& times = outcome.shown.times;
    const AvHandle<AVFrame> frame(av_frame_alloc());
    const AvHandle<AVPacket> packet(av_packet_alloc());
    const auto take = [&] {
        const std::int64_t time = frame->best_effort_timestamp;
        double at = time != AV_NOPTS_VALUE ? seconds(time)
                    : times.empty()        ? 0.0
                                           : times.back() + usualSeconds();
        at = times.empty() ? at : std::max(at, times.back());
        const double lasts = frame->pkt_duration > 0 ? static_cast<double>(frame->pkt_duration) *
                                                           av_q2d(stream().time_base)
                                                     : usualSeconds();
        outcome.shown.end = std::max(outcome.shown.end, at + lasts);
        if (frame->decode_error_flags != 0 || (frame->flags & AV_FRAME_FLAG_CORRUPT))
            outcome.isDamaged = true;
        const AVRational aspect =
            av_guess_sample_aspect_ratio(m_format.get(), &stream(), frame.get());
        if (wants(times.size()))
            give(times.size(), rgb.converted(*frame, aspect));
        times.push_back(at);
    };
    try {
        int failures = 0;
        while (failures < kMostFailures && nextPacket(*packet, outcome.isDamaged)) {
            const int error = avcodec_send_packet(m_codec.get(), packet.get());
            av_packet_unref(packet.get());
            const bool isGood = error >= 0 && drain(*m_codec, *frame, take);
            outcome.isDamaged = outcome.isDamaged || !isGood;
            failures = isGood ? 0 : failures + 1;
        }
        avcodec_send_packet(m_codec.get(), nullptr);
        if (!drain(*m_codec, *frame, take))
            outcome.isDamaged = true;
    } catch (const InputError& error) {
        fail(error.what());
    }
    return outcome;
}

} // namespace

} // namespace vergence::fvlm

/// The entry that video_reader.h names.
extern "C" [[gnu::visibility("default")]] vergence::fvlm::VideoReader*
vergenceOpenVideo(const char* path, int threads)
{
    av_log_set_level(AV_LOG_QUIET); // what is wrong comes as an exception
    return new vergence::fvlm::LibavReader(path, threads);
}
