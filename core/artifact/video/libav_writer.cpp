#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/artifact/output_file.h"
#include "core/artifact/video/av_handles.h"
#include "core/artifact/video/libav_parts.h"
#include "core/base/error.h"
#include "core/base/file.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace vergence {

namespace {

/// Encoders in the order of preference; the last one belongs to libav itself.
constexpr const char* kEncoders[] = {"libx264", "libopenh264", "mpeg4"};
/// Rows from which on players take BT.709 for granted.
constexpr int kHighDefinition = 720;

struct OutputDelete {
    void operator()(AVFormatContext* format) const
    {
        avio_closep(&format->pb);
        avformat_free_context(format);
    }
};

class LibavWriter final : public VideoWriter {
public:
    LibavWriter(const std::filesystem::path& path, const VideoWriterSettings& settings);

    void add(const Image& rgb) override;
    void finish() override;
    std::string codec() const override { return avcodec_get_name(m_codec->codec_id); }

private:
    [[noreturn]] void fail(int error) const
    {
        throwCannotWrite(m_path, error == AVERROR_ENCODER_NOT_FOUND ? ENOTSUP : AVUNERROR(error));
    }
    void must(int error) const
    {
        if (error < 0)
            fail(error);
    }
    bool openEncoder(const char* name);
    void writePackets();

    std::filesystem::path m_path;
    VideoWriterSettings m_settings;
    AtomicFile m_file;
    std::unique_ptr<AVFormatContext, OutputDelete> m_format;
    AvHandle<AVCodecContext> m_codec;
    AVStream* m_stream = nullptr;
    AvHandle<SwsContext> m_scaler;
    AvHandle<AVFrame> m_frame{av_frame_alloc()};
    AvHandle<AVPacket> m_packet{av_packet_alloc()};
    std::vector<std::uint8_t> m_rows; ///< RGB at even extents
    std::int64_t m_frames = 0;
};

LibavWriter::LibavWriter(const std::filesystem::path& path, const VideoWriterSettings& settings)
    : m_path(path),
      m_settings(settings),
      m_file(path)
{
    const auto* container = av_guess_format(nullptr, path.c_str(), nullptr);
    if (!container)
        throw ContractError(fmt::format("No container is known by the name {}.", path.string()));
    AVFormatContext* raw = nullptr;
    const std::string url = "file:" + m_file.temporaryPath().string();
    must(avformat_alloc_output_context2(&raw, container, nullptr, url.c_str()));
    m_format.reset(raw);
    m_stream = avformat_new_stream(raw, nullptr);
    const bool isOpen =
        std::ranges::any_of(kEncoders, [&](auto name) { return openEncoder(name); });
    if (!m_stream || !isOpen)
        fail(AVERROR_ENCODER_NOT_FOUND);
    must(avcodec_parameters_from_context(m_stream->codecpar, m_codec.get()));
    m_stream->time_base = m_codec->time_base;
    m_stream->avg_frame_rate = m_codec->framerate;
    must(avio_open(&raw->pb, url.c_str(), AVIO_FLAG_WRITE));
    AVDictionary* options = nullptr;
    av_dict_set(&options, "movflags", "+faststart", 0); // containers without it ignore it
    const int error = avformat_write_header(raw, &options);
    av_dict_free(&options);
    must(error);

    m_scaler.reset(sws_getContext(
        m_codec->width, m_codec->height, AV_PIX_FMT_RGB24, m_codec->width, m_codec->height,
        m_codec->pix_fmt, SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP | SWS_BITEXACT,
        nullptr, nullptr, nullptr));
    if (!m_scaler)
        fail(AVERROR(ENOMEM));
    const bool isHigh = m_codec->colorspace == AVCOL_SPC_BT709;
    const int* table = sws_getCoefficients(isHigh ? SWS_CS_ITU709 : SWS_CS_ITU601);
    constexpr int kOne = 1 << 16; // contrast and saturation as they are
    sws_setColorspaceDetails(m_scaler.get(), table, 1, table, 0, 0, kOne, kOne);
    m_frame->format = m_codec->pix_fmt;
    m_frame->width = m_codec->width;
    m_frame->height = m_codec->height;
    m_frame->color_range = m_codec->color_range;
    m_frame->colorspace = m_codec->colorspace;
    must(av_frame_get_buffer(m_frame.get(), 0));
}

bool LibavWriter::openEncoder(const char* name)
{
    const AVCodec* encoder = avcodec_find_encoder_by_name(name);
    if (!encoder)
        return false;
    m_codec.reset(avcodec_alloc_context3(encoder));
    AVCodecContext& codec = *m_codec;
    codec.width = (m_settings.width + 1) / 2 * 2;
    codec.height = (m_settings.height + 1) / 2 * 2;
    codec.framerate = av_d2q(m_settings.fps, 60000);
    codec.time_base = av_inv_q(codec.framerate);
    codec.pix_fmt = AV_PIX_FMT_YUV420P;
    codec.color_range = AVCOL_RANGE_MPEG;
    const bool isHigh = codec.height >= kHighDefinition;
    codec.colorspace = isHigh ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    codec.color_primaries = isHigh ? AVCOL_PRI_BT709 : AVCOL_PRI_SMPTE170M;
    codec.color_trc = isHigh ? AVCOL_TRC_BT709 : AVCOL_TRC_SMPTE170M;
    codec.max_b_frames = 0; // AVI keeps no times of its own
    codec.thread_count = 1; // the same bytes on every machine, and the stream keeps its cores
    if (encoder->id == AV_CODEC_ID_H264) {
        av_opt_set_int(codec.priv_data, "crf", m_settings.quality, 0);
        av_opt_set(codec.priv_data, "preset", "veryfast", 0);
    } else {
        codec.flags |= AV_CODEC_FLAG_QSCALE;
        codec.global_quality = FF_QP2LAMBDA * std::clamp(m_settings.quality / 6, 1, 31);
        if (codec.time_base.den > 65535) // what its headers can say
            codec.time_base = av_inv_q(codec.framerate = {static_cast<int>(m_settings.fps), 1});
    }
    if (m_format->oformat->flags & AVFMT_GLOBALHEADER)
        codec.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    return avcodec_open2(m_codec.get(), encoder, nullptr) >= 0;
}

void LibavWriter::add(const Image& rgb)
{
    expects(rgb.channels == 3 && rgb.width == m_settings.width && rgb.height == m_settings.height,
            "video writer: RGB frames of the size that was said");
    const int width = m_codec->width, height = m_codec->height;
    m_rows.resize(std::size_t{3} * static_cast<std::size_t>(width) *
                  static_cast<std::size_t>(height));
    for (int y = 0; y < height; ++y) {
        const std::uint8_t* from = rgb.row(std::min(y, rgb.height - 1));
        std::uint8_t* to = m_rows.data() + std::size_t{3} * static_cast<std::size_t>(width) *
                                               static_cast<std::size_t>(y);
        std::copy_n(from, 3 * rgb.width, to);
        if (width > rgb.width)
            std::copy_n(from + 3 * (rgb.width - 1), 3, to + 3 * rgb.width);
    }
    must(av_frame_make_writable(m_frame.get()));
    const std::uint8_t* planes[1] = {m_rows.data()};
    const int strides[1] = {3 * width};
    sws_scale(m_scaler.get(), planes, strides, 0, height, m_frame->data, m_frame->linesize);
    m_frame->pts = m_frames++;
    m_frame->quality = m_codec->global_quality;
    must(avcodec_send_frame(m_codec.get(), m_frame.get()));
    writePackets();
}

void LibavWriter::writePackets()
{
    while (avcodec_receive_packet(m_codec.get(), m_packet.get()) == 0) {
        m_packet->stream_index = 0;
        m_packet->duration = 1;
        av_packet_rescale_ts(m_packet.get(), m_codec->time_base, m_stream->time_base);
        must(av_interleaved_write_frame(m_format.get(), m_packet.get()));
    }
}

void LibavWriter::finish()
{
    expects(m_frames > 0, "video writer: at least one frame");
    must(avcodec_send_frame(m_codec.get(), nullptr));
    writePackets();
    must(av_write_trailer(m_format.get()));
    const int error = m_format->pb->error;
    must(avio_closep(&m_format->pb));
    must(error);
    m_file.commit();
}

} // namespace

std::unique_ptr<VideoWriter> openLibavWriter(const std::filesystem::path& path,
                                             const VideoWriterSettings& settings)
{
    expects(settings.width >= 2 && settings.width <= 8192 && settings.height >= 2 &&
                settings.height <= 8192,
            "video writer: 2 to 8192 px");
    expects(settings.fps > 0 && settings.fps <= 1000, "video writer: up to 1000 frames a second");
    expects(settings.quality >= 0 && settings.quality <= 51, "video writer: a quality of 0 to 51");
    return std::make_unique<LibavWriter>(path, settings);
}

} // namespace vergence
