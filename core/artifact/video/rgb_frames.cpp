#include "core/artifact/video/rgb_frames.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace vergence {

namespace {

/// Rows from which on video without a matrix is taken for high definition.
constexpr int kHighDefinition = 720;

int matrixOf(const AVFrame& frame)
{
    switch (frame.colorspace) {
    case AVCOL_SPC_BT709:
        return SWS_CS_ITU709;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
        return SWS_CS_ITU601;
    case AVCOL_SPC_SMPTE240M:
        return SWS_CS_SMPTE240M;
    case AVCOL_SPC_FCC:
        return SWS_CS_FCC;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
        return SWS_CS_BT2020;
    default:
        return frame.height >= kHighDefinition ? SWS_CS_ITU709 : SWS_CS_ITU601;
    }
}

/// Forms that are of full range by their name, and those that are the same without it.
int plainFormat(int format, int& range)
{
    const auto full = [&](int plain) {
        range = 1;
        return plain;
    };
    switch (format) {
    case AV_PIX_FMT_YUVJ420P:
        return full(AV_PIX_FMT_YUV420P);
    case AV_PIX_FMT_YUVJ422P:
        return full(AV_PIX_FMT_YUV422P);
    case AV_PIX_FMT_YUVJ444P:
        return full(AV_PIX_FMT_YUV444P);
    case AV_PIX_FMT_YUVJ440P:
        return full(AV_PIX_FMT_YUV440P);
    case AV_PIX_FMT_YUVJ411P:
        return full(AV_PIX_FMT_YUV411P);
    default:
        return format;
    }
}

Image mirrored(const Image& image)
{
    Image result = makeImage(image.width, image.height, 3);
    for (int y = 0; y < image.height; ++y) {
        for (int x = 0; x < image.width; ++x)
            std::copy_n(image.row(y) + 3 * x, 3, result.row(y) + 3 * (image.width - 1 - x));
    }
    return result;
}

/// A quarter turn clockwise.
Image turned(const Image& image)
{
    Image result = makeImage(image.height, image.width, 3);
    for (int y = 0; y < image.height; ++y) {
        for (int x = 0; x < image.width; ++x)
            std::copy_n(image.row(y) + 3 * x, 3, result.row(x) + 3 * (image.height - 1 - y));
    }
    return result;
}

} // namespace

RgbFrames::RgbFrames(const std::int32_t* display)
{
    if (!display)
        return;
    std::int32_t matrix[9];
    std::copy_n(display, 9, matrix);
    // (x, y) goes to (a x + c y, b x + d y): mirrored where the determinant is negative.
    m_isMirrored = double(matrix[0]) * matrix[4] - double(matrix[1]) * matrix[3] < 0;
    if (m_isMirrored)
        av_display_matrix_flip(matrix, 1, 0); // first the frame is mirrored, then turned
    const double degrees = av_display_rotation_get(matrix); // counterclockwise
    if (std::isfinite(degrees))
        m_quarters = ((static_cast<int>(std::lround(-degrees / 90)) % 4) + 4) % 4;
}

void RgbFrames::prepare(const AVFrame& frame)
{
    int range = frame.color_range == AVCOL_RANGE_JPEG ? 1 : 0;
    const int format = plainFormat(frame.format, range);
    const int matrix = matrixOf(frame);
    if (m_scaler && m_width == frame.width && m_height == frame.height && m_format == format &&
        m_matrix == matrix && m_range == range)
        return;
    m_scaler.reset(sws_getContext(
        frame.width, frame.height, static_cast<AVPixelFormat>(format), frame.width, frame.height,
        AV_PIX_FMT_RGB24, SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_BITEXACT,
        nullptr, nullptr, nullptr));
    if (!m_scaler)
        throw InputError("its frames have a form that cannot be converted");
    constexpr int kOne = 1 << 16; // contrast and saturation as they are
    const int* table = sws_getCoefficients(matrix);
    sws_setColorspaceDetails(m_scaler.get(), table, range, table, 1, 0, kOne, kOne);
    m_width = frame.width;
    m_height = frame.height;
    m_format = format;
    m_matrix = matrix;
    m_range = range;
}

VideoFrame RgbFrames::converted(const AVFrame& frame, AVRational aspect)
{
    prepare(frame);
    VideoFrame result;
    result.rgb = makeImage(frame.width, frame.height, 3);
    // Rows with room for what wide instructions write beyond their end.
    const int stride = (3 * frame.width + 63) / 64 * 64 + 64;
    std::vector<std::uint8_t> rows(static_cast<std::size_t>(stride) *
                                   static_cast<std::size_t>(frame.height));
    std::uint8_t* planes[4] = {rows.data(), nullptr, nullptr, nullptr};
    const int strides[4] = {stride, 0, 0, 0};
    if (sws_scale(m_scaler.get(), frame.data, frame.linesize, 0, frame.height, planes, strides) !=
        frame.height)
        throw InputError("a frame cannot be converted to RGB");
    for (int y = 0; y < frame.height; ++y)
        std::copy_n(rows.data() + static_cast<std::ptrdiff_t>(y) * stride, 3 * frame.width,
                    result.rgb.row(y));
    const AVRational own = frame.sample_aspect_ratio.num > 0 ? frame.sample_aspect_ratio : aspect;
    if (own.num > 0 && own.den > 0)
        result.aspect = av_q2d(own);
    if (m_isMirrored)
        result.rgb = mirrored(result.rgb);
    for (int i = 0; i < m_quarters; ++i)
        result.rgb = turned(result.rgb);
    if (m_quarters % 2 == 1)
        result.aspect = 1 / result.aspect;
    return result;
}

} // namespace vergence
