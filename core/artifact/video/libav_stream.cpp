#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "core/artifact/video/libav_input.h"
#include "core/artifact/video/libav_parts.h"
#include "core/artifact/video/rgb_frames.h"
#include "core/base/error.h"

namespace vergence {

namespace {

/// Waiting time where a device has nothing yet.
constexpr auto kBreath = std::chrono::milliseconds(2);

class LibavStream final : public VideoStream {
public:
    LibavStream(LibavInput&& input, int threads, bool isLive)
        : m_input(std::move(input)),
          m_codec(m_input.openCodec(threads)),
          m_rgb(m_input.displayMatrix()),
          m_threads(threads),
          m_isLive(isLive)
    {
    }

    VideoStreamInfo info() const override;
    std::optional<VideoFrame> next(const std::stop_token& stop) override;
    void seek(double seconds) override;

private:
    /// The next decoded frame into m_frame and m_time; false at the end and on stop.
    bool decode(const std::stop_token& stop);
    /// A packet, or the end, into the decoder; false where there is none and stop is asked for.
    bool feed(const std::stop_token& stop);
    VideoFrame converted(AVFrame& frame, double time);

    LibavInput m_input;
    AvHandle<AVCodecContext> m_codec;
    RgbFrames m_rgb;
    int m_threads;
    bool m_isLive, m_isDrained = false;
    int m_failures = 0;
    double m_time = -1, m_lasts = 0;   ///< of the last decoded frame, s; −1: none yet
    std::optional<double> m_firstTime; ///< of a camera
    double m_target = -1;              ///< sought, until it is reached
    AvHandle<AVPacket> m_packet{av_packet_alloc()};
    AvHandle<AVFrame> m_frame{av_frame_alloc()};
    AvHandle<AVFrame> m_shown{av_frame_alloc()}; ///< the best for m_target so far
    double m_shownTime = -1;                     ///< its time; −1: none
    bool m_hasAhead = false;                     ///< m_frame follows what was sought
};

VideoStreamInfo LibavStream::info() const
{
    const AVCodecParameters& coded = *m_input.stream().codecpar;
    const AVRational rate = m_input.stream().avg_frame_rate;
    VideoStreamInfo info;
    info.width = coded.width;
    info.height = coded.height;
    info.fps = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
    if (m_isLive)
        return info;
    const std::int64_t own = m_input.stream().duration, whole = m_input.format().duration;
    if (own > 0)
        info.seconds = static_cast<double>(own) * av_q2d(m_input.stream().time_base);
    else if (whole > 0)
        info.seconds = static_cast<double>(whole) / AV_TIME_BASE;
    return info;
}

bool LibavStream::feed(const std::stop_token& stop)
{
    for (;;) {
        if (stop.stop_requested())
            return false;
        const int error = m_failures < kMostFailures ? m_input.read(*m_packet) : AVERROR_EOF;
        if (error == AVERROR(EAGAIN)) {
            std::this_thread::sleep_for(kBreath);
            continue;
        }
        if (error == AVERROR_INVALIDDATA) {
            ++m_failures;
            continue;
        }
        if (error < 0 && error != AVERROR_EOF)
            m_input.fail(avReason(error));
        if (error == AVERROR_EOF) {
            avcodec_send_packet(m_codec.get(), nullptr);
            m_isDrained = true;
            return true;
        }
        const int sent = avcodec_send_packet(m_codec.get(), m_packet.get());
        av_packet_unref(m_packet.get());
        m_failures = sent >= 0 ? 0 : m_failures + 1;
        return true;
    }
}

bool LibavStream::decode(const std::stop_token& stop)
{
    for (;;) {
        av_frame_unref(m_frame.get());
        const int error = avcodec_receive_frame(m_codec.get(), m_frame.get());
        if (error >= 0) {
            const std::int64_t stamp = m_frame->best_effort_timestamp;
            const double next = m_time < 0 ? 0 : m_time + m_lasts;
            m_time = std::max(stamp != AV_NOPTS_VALUE ? m_input.seconds(stamp) : next, m_time);
            m_lasts = m_input.lasting(durationOf(*m_frame));
            return true;
        }
        if (m_isDrained && (error == AVERROR_EOF || ++m_failures > kMostFailures))
            return false;
        if (!m_isDrained && !feed(stop))
            return false;
    }
}

VideoFrame LibavStream::converted(AVFrame& frame, double time)
{
    VideoFrame result;
    try {
        result = m_rgb.converted(frame, m_input.aspectOf(frame));
    } catch (const InputError& error) {
        m_input.fail(error.what());
    }
    if (m_isLive && !m_firstTime)
        m_firstTime = time;
    result.seconds = time - m_firstTime.value_or(0);
    result.lasts = m_input.lasting(durationOf(frame));
    return result;
}

std::optional<VideoFrame> LibavStream::next(const std::stop_token& stop)
{
    if (m_hasAhead) {
        m_hasAhead = false;
        return converted(*m_frame, m_time);
    }
    const auto shown = [&] {
        m_target = -1;
        return converted(*m_shown, std::exchange(m_shownTime, -1));
    };
    while (decode(stop)) {
        // Times are rounded to the stream's own units.
        if (m_target >= 0 && m_time <= m_target + 1e-4) {
            av_frame_unref(m_shown.get());
            av_frame_move_ref(m_shown.get(), m_frame.get());
            m_shownTime = m_time;
            continue;
        }
        m_hasAhead = m_shownTime >= 0;
        m_target = -1;
        return m_hasAhead ? shown() : converted(*m_frame, m_time);
    }
    if (m_shownTime < 0 || stop.stop_requested())
        return std::nullopt;
    return shown();
}

void LibavStream::seek(double seconds)
{
    if (m_isLive)
        return;
    seconds = std::max(seconds, 0.0);
    if (seconds == 0 || !m_input.seek(seconds))
        m_input.reopen();
    m_codec = m_input.openCodec(m_threads);
    m_isDrained = m_hasAhead = false;
    m_failures = 0;
    m_time = m_shownTime = -1;
    m_target = seconds > 0 ? seconds : -1;
}

} // namespace

std::unique_ptr<VideoStream> openLibavStream(const std::filesystem::path& path, int threads)
{
    return std::make_unique<LibavStream>(LibavInput(path), threads, false);
}

std::unique_ptr<VideoStream> openLibavCamera(const CameraSettings& settings)
{
    return std::make_unique<LibavStream>(LibavInput(settings), 1, true);
}

} // namespace vergence
