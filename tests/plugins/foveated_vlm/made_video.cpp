#include "tests/plugins/foveated_vlm/made_video.h"

#include <cmath>
#include <stdexcept>

#include "core/artifact/video/av_handles.h"

namespace vergence::test {

namespace {

void must(bool condition, const char* what)
{
    if (!condition)
        throw std::runtime_error(what);
}

/// Writes packets that the encoder has ready.
void drain(AVCodecContext& codec, AVFormatContext& format, AVStream& stream,
           const std::vector<std::int64_t>& lasts)
{
    const AvHandle<AVPacket> packet(av_packet_alloc());
    while (avcodec_receive_packet(&codec, packet.get()) == 0) {
        packet->stream_index = 0;
        for (std::size_t i = 0; i + 1 < lasts.size(); i += 2) {
            if (lasts[i] == packet->pts)
                packet->duration = lasts[i + 1];
        }
        av_packet_rescale_ts(packet.get(), codec.time_base, stream.time_base);
        must(av_interleaved_write_frame(&format, packet.get()) == 0, "a packet cannot be written");
    }
}

struct CloseFile {
    AVFormatContext* format;
    ~CloseFile() { avio_closep(&format->pb); }
};

AVPixelFormat formatOf(const AVCodec& codec)
{
    return codec.pix_fmts ? codec.pix_fmts[0] : AV_PIX_FMT_YUV420P;
}

} // namespace

bool hasEncoder(const std::string& codec)
{
    return avcodec_find_encoder_by_name(codec.c_str()) != nullptr;
}

std::vector<double> evenTimes(int count, double fps)
{
    std::vector<double> times;
    for (int i = 0; i < count; ++i)
        times.push_back(i / fps);
    return times;
}

Image flatImage(int width, int height, int red, int green, int blue)
{
    Image image = makeImage(width, height, 3);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = static_cast<std::uint8_t>(i % 3 == 0 ? red : i % 3 == 1 ? green : blue);
    return image;
}

void writeVideo(const std::filesystem::path& path, const VideoPlan& plan)
{
    av_log_set_level(AV_LOG_QUIET);
    const AVCodec* encoder = avcodec_find_encoder_by_name(plan.codec.c_str());
    must(encoder, "no encoder");
    AVFormatContext* raw = nullptr;
    avformat_alloc_output_context2(&raw, nullptr, nullptr, path.c_str());
    must(raw, "no container of that name");
    const std::unique_ptr<AVFormatContext, void (*)(AVFormatContext*)> format(
        raw, avformat_free_context);
    AVStream* stream = avformat_new_stream(raw, nullptr);
    const AvHandle<AVCodecContext> codec(avcodec_alloc_context3(encoder));
    codec->width = plan.width;
    codec->height = plan.height;
    codec->time_base = {1, plan.ticks};
    codec->framerate = {25, 1};
    codec->gop_size = 5;
    codec->max_b_frames = 0;
    codec->pix_fmt = formatOf(*encoder);
    codec->sample_aspect_ratio = {plan.aspectNum, plan.aspectDen};
    codec->color_range = plan.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    if (plan.matrix >= 0)
        codec->colorspace = static_cast<AVColorSpace>(plan.matrix);
    codec->global_quality = FF_QP2LAMBDA;
    codec->flags |= AV_CODEC_FLAG_QSCALE;
    codec->bit_rate = 8'000'000;
    codec->qmin = 1;
    codec->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
    if (raw->oformat->flags & AVFMT_GLOBALHEADER)
        codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    must(avcodec_open2(codec.get(), encoder, nullptr) == 0, "the encoder cannot be opened");
    must(avcodec_parameters_from_context(stream->codecpar, codec.get()) == 0, "parameters");
    stream->time_base = codec->time_base;
    stream->sample_aspect_ratio = codec->sample_aspect_ratio;
    if (plan.turnedDegrees != 0) {
        auto* matrix = reinterpret_cast<std::int32_t*>(
            av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(std::int32_t)));
        av_display_rotation_set(matrix, plan.turnedDegrees);
    }
    must(avio_open(&raw->pb, path.c_str(), AVIO_FLAG_WRITE) == 0, "the file cannot be opened");
    const CloseFile close{raw};
    must(avformat_write_header(raw, nullptr) >= 0, "the header cannot be written");

    const AvHandle<SwsContext> scaler(sws_getContext(
        plan.width, plan.height, AV_PIX_FMT_RGB24, plan.width, plan.height, codec->pix_fmt,
        SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP | SWS_BITEXACT, nullptr, nullptr,
        nullptr));
    const bool isHigh = plan.matrix == AVCOL_SPC_BT709 || (plan.matrix < 0 && plan.height >= 720);
    const int* table = sws_getCoefficients(isHigh ? SWS_CS_ITU709 : SWS_CS_ITU601);
    sws_setColorspaceDetails(scaler.get(), table, 1, table, plan.isFullRange, 0, 1 << 16, 1 << 16);
    std::vector<std::int64_t> lasts; // time and duration by turns
    for (std::size_t i = 0; i < plan.times.size(); ++i) {
        const double end =
            i + 1 < plan.times.size() ? plan.times[i + 1] : plan.times[i] + plan.lastSeconds;
        lasts.push_back(std::llround(plan.times[i] * plan.ticks));
        lasts.push_back(std::llround(end * plan.ticks) - lasts.back());
    }
    for (std::size_t i = 0; i < plan.times.size(); ++i) {
        const AvHandle<AVFrame> frame(av_frame_alloc());
        frame->format = codec->pix_fmt;
        frame->width = plan.width;
        frame->height = plan.height;
        frame->pts = lasts[2 * i];
        frame->quality = codec->global_quality;
        frame->color_range = codec->color_range;
        frame->colorspace = codec->colorspace;
        must(av_frame_get_buffer(frame.get(), 0) == 0, "no memory for a frame");
        const Image picture = plan.frame(i);
        const std::uint8_t* planes[1] = {picture.pixels.data()};
        const int strides[1] = {3 * picture.width};
        sws_scale(scaler.get(), planes, strides, 0, plan.height, frame->data, frame->linesize);
        must(avcodec_send_frame(codec.get(), frame.get()) == 0, "a frame cannot be encoded");
        drain(*codec, *raw, *stream, lasts);
    }
    avcodec_send_frame(codec.get(), nullptr);
    drain(*codec, *raw, *stream, lasts);
    must(av_write_trailer(raw) == 0, "the end cannot be written");
}

} // namespace vergence::test
