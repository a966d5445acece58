#include "core/artifact/video/libav_input.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace vergence {

namespace {

/// How long a camera may take until its first packet, s.
constexpr double kCameraPatience = 5;

/// libavdevice brings dozens of libraries, so it is loaded when a camera is opened.
void registerDevices()
{
    static const std::string reason = [] {
        // The two libraries count their versions alike.
        const std::string name = fmt::format("libavdevice.so.{}", LIBAVFORMAT_VERSION_MAJOR);
        void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        using Register = void (*)();
        const auto all = library
                             ? reinterpret_cast<Register>(::dlsym(library, "avdevice_register_all"))
                             : nullptr;
        if (!all)
            return fmt::format("Cameras cannot be opened: there is no {}. Install the package "
                               "libavdevice{}.",
                               name, LIBAVFORMAT_VERSION_MAJOR);
        all();
        return std::string();
    }();
    if (!reason.empty())
        throw InputError(reason);
}

int isLate(void* until)
{
    return *static_cast<const double*>(until) < steadySeconds();
}

} // namespace

LibavInput::LibavInput(const std::filesystem::path& path) : m_what("video"), m_name(path.string())
{
    reopen();
}

LibavInput::LibavInput(const CameraSettings& camera) : m_what("camera"), m_name(camera.device)
{
    registerDevices();
    const auto* form = av_find_input_format(camera.format.c_str());
    if (!form)
        fail(fmt::format("libav has no input format {} here", camera.format));
    double until = steadySeconds() + kCameraPatience;
    int error = 0;
    for (const bool asksSize : {true, false}) { // what it has, where it has not what is asked for
        AVFormatContext* format = avformat_alloc_context();
        format->flags |= AVFMT_FLAG_NONBLOCK;
        format->interrupt_callback = {isLate, &until};
        AVDictionary* options = nullptr;
        if (asksSize) {
            const std::string size = fmt::format("{}x{}", camera.width, camera.height);
            av_dict_set(&options, "video_size", size.c_str(), 0);
            av_dict_set(&options, "framerate", fmt::format("{}", camera.fps).c_str(), 0);
        }
        error = avformat_open_input(&format, m_name.c_str(), form, &options);
        av_dict_free(&options);
        m_format.reset(format);
        if (error >= 0)
            break;
    }
    if (error < 0)
        fail(avReason(error));
    chooseStream();
    m_format->interrupt_callback = {};
}

void LibavInput::fail(const std::string& what) const
{
    throw InputError(fmt::format("The {} {} cannot be used: {}.", m_what, m_name, what));
}

void LibavInput::reopen()
{
    m_format.reset();
    AVFormatContext* format = nullptr;
    const std::string url = "file:" + m_name; // a name with a colon is no protocol
    const int error = avformat_open_input(&format, url.c_str(), nullptr, nullptr);
    m_format.reset(format);
    if (error < 0)
        fail(avReason(error));
    chooseStream();
}

void LibavInput::chooseStream()
{
    AVFormatContext* format = m_format.get();
    const int error = avformat_find_stream_info(format, nullptr);
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

AvHandle<AVCodecContext> LibavInput::openCodec(int threads) const
{
    AvHandle<AVCodecContext> codec(avcodec_alloc_context3(m_decoder));
    if (!codec || avcodec_parameters_to_context(codec.get(), stream().codecpar) < 0)
        fail("its decoder cannot be set up");
    codec->thread_count = threads;
    codec->pkt_timebase = stream().time_base;
    const int error = avcodec_open2(codec.get(), m_decoder, nullptr);
    if (error < 0)
        fail(avReason(error));
    return codec;
}

int LibavInput::read(AVPacket& packet)
{
    for (;;) {
        const int error = av_read_frame(m_format.get(), &packet);
        if (error < 0 || packet.stream_index == m_stream)
            return error;
        av_packet_unref(&packet);
    }
}

bool LibavInput::nextPacket(AVPacket& packet, bool& isDamaged)
{
    for (int failures = 0; failures < kMostFailures; ++failures) {
        const int error = read(packet);
        if (error == AVERROR_EOF)
            return false;
        if (error >= 0)
            return true;
        isDamaged = true;
        if (error != AVERROR_INVALIDDATA)
            return false;
    }
    return false;
}

bool LibavInput::seek(double seconds)
{
    const AVStream& video = stream();
    const std::int64_t start = video.start_time == AV_NOPTS_VALUE ? 0 : video.start_time;
    const auto time = start + static_cast<std::int64_t>(seconds / av_q2d(video.time_base));
    return av_seek_frame(m_format.get(), m_stream, time, AVSEEK_FLAG_BACKWARD) >= 0;
}

double LibavInput::seconds(std::int64_t time) const
{
    const std::int64_t start = stream().start_time;
    return static_cast<double>(time - (start == AV_NOPTS_VALUE ? 0 : start)) *
           av_q2d(stream().time_base);
}

double LibavInput::usualSeconds() const
{
    const AVRational rate =
        stream().avg_frame_rate.num > 0 ? stream().avg_frame_rate : stream().r_frame_rate;
    return rate.num > 0 && rate.den > 0 ? av_q2d(av_inv_q(rate)) : 0.04;
}

double LibavInput::lasting(std::int64_t duration) const
{
    return duration > 0 ? static_cast<double>(duration) * av_q2d(stream().time_base)
                        : usualSeconds();
}

AVRational LibavInput::aspectOf(AVFrame& frame) const
{
    return av_guess_sample_aspect_ratio(m_format.get(), &stream(), &frame);
}

const std::int32_t* LibavInput::displayMatrix() const
{
    return displayMatrixOf(stream());
}

} // namespace vergence
