#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include <jerror.h>

#include <fmt/format.h>

#include "core/artifact/image.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

constexpr std::size_t kLargestImageBytes = std::size_t{2} << 30;

// libjpeg reports errors by longjmp. Every function that a jump may leave holds no object with a
// destructor; what must be freed belongs to a session that lives outside of it.

struct ErrorState : jpeg_error_mgr {
    std::jmp_buf target;
    char reason[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void onError(j_common_ptr jpeg)
{
    auto* state = static_cast<ErrorState*>(jpeg->err);
    state->format_message(jpeg, state->reason);
    std::longjmp(state->target, 1);
}

/// Most warnings are about harmless extra bytes. A file that ends early is not harmless: half the
/// picture would be grey.
void onMessage(j_common_ptr jpeg, int level)
{
    if (level < 0 &&
        (jpeg->err->msg_code == JWRN_JPEG_EOF || jpeg->err->msg_code == JWRN_HIT_MARKER))
        onError(jpeg);
}

void installErrors(ErrorState& state)
{
    jpeg_std_error(&state);
    state.error_exit = onError;
    state.emit_message = onMessage;
}

struct ReadSession {
    ErrorState errors;
    jpeg_decompress_struct jpeg{};

    ReadSession()
    {
        installErrors(errors);
        jpeg.err = &errors;
    }
    ~ReadSession() { jpeg_destroy_decompress(&jpeg); }
    ReadSession(const ReadSession&) = delete;
    ReadSession& operator=(const ReadSession&) = delete;
};

struct WriteSession {
    ErrorState errors;
    jpeg_compress_struct jpeg{};
    unsigned char* buffer = nullptr;
    unsigned long size = 0;

    WriteSession()
    {
        installErrors(errors);
        jpeg.err = &errors;
    }
    ~WriteSession()
    {
        jpeg_destroy_compress(&jpeg);
        std::free(buffer);
    }
    WriteSession(const WriteSession&) = delete;
    WriteSession& operator=(const WriteSession&) = delete;
};

bool startReading(ReadSession& session, const std::string& bytes)
{
    if (setjmp(session.errors.target))
        return false;
    jpeg_decompress_struct& jpeg = session.jpeg;
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&jpeg, TRUE);
    const J_COLOR_SPACE stored = jpeg.jpeg_color_space;
    if (stored == JCS_GRAYSCALE || stored == JCS_CMYK)
        jpeg.out_color_space = stored;
    else
        jpeg.out_color_space = stored == JCS_YCCK ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&jpeg);
    return true;
}

bool readRows(ReadSession& session, Image& image)
{
    if (setjmp(session.errors.target))
        return false;
    while (session.jpeg.output_scanline < session.jpeg.output_height) {
        JSAMPROW row = image.row(static_cast<int>(session.jpeg.output_scanline));
        jpeg_read_scanlines(&session.jpeg, &row, 1);
    }
    jpeg_finish_decompress(&session.jpeg);
    return true;
}

bool writeAll(WriteSession& session, const Image& image, int quality)
{
    if (setjmp(session.errors.target))
        return false;
    jpeg_compress_struct& jpeg = session.jpeg;
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &session.buffer, &session.size);
    jpeg.image_width = static_cast<JDIMENSION>(image.width);
    jpeg.image_height = static_cast<JDIMENSION>(image.height);
    jpeg.input_components = image.channels;
    jpeg.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, quality, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        auto* row = const_cast<JSAMPROW>(image.row(static_cast<int>(jpeg.next_scanline)));
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    return true;
}

/// RGB of inks without a colour profile: white less ink, rounded as Pillow does. Files of Adobe's
/// programs store white less ink already.
Image rgbFromInks(const Image& inks, bool isInverted)
{
    Image rgb = makeImage(inks.width, inks.height, 3);
    const std::size_t count =
        static_cast<std::size_t>(inks.width) * static_cast<std::size_t>(inks.height);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t* from = inks.pixels.data() + 4 * i;
        const unsigned flip = isInverted ? 255 : 0;
        const unsigned light = 255 - (from[3] ^ flip);
        for (std::size_t c = 0; c < 3; ++c) {
            const unsigned product = (from[c] ^ flip) * light + 128;
            rgb.pixels[3 * i + c] =
                static_cast<std::uint8_t>(light - (((product >> 8) + product) >> 8));
        }
    }
    return rgb;
}

[[noreturn]] void throwUnreadable(const std::filesystem::path& path, const std::string& reason)
{
    throw InputError(fmt::format("Cannot read the JPEG image {}: {}.", path.string(), reason));
}

} // namespace

Image readJpeg(const std::filesystem::path& path)
{
    return decodeJpeg(readFile(path), path);
}

Image decodeJpeg(const std::string& bytes, const std::filesystem::path& path)
{
    ReadSession session;
    if (!startReading(session, bytes))
        throwUnreadable(path, session.errors.reason);
    const auto width = static_cast<int>(session.jpeg.output_width),
               height = static_cast<int>(session.jpeg.output_height);
    const int channels = session.jpeg.output_components;
    if (static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
            static_cast<std::size_t>(channels) >
        kLargestImageBytes)
        throwUnreadable(path, fmt::format("{} x {} pixels are too many", width, height));
    Image image = makeImage(width, height, channels);
    if (!readRows(session, image))
        throwUnreadable(path, session.errors.reason);
    if (channels == 4)
        return rgbFromInks(image, session.jpeg.saw_Adobe_marker == TRUE);
    return image;
}

std::string encodeJpeg(const Image& image, int quality)
{
    expects(image.channels == 1 || image.channels == 3,
            "encodeJpeg: JPEG has one or three channels");
    expects(image.width > 0 && image.height > 0 && image.width <= 65500 && image.height <= 65500,
            "encodeJpeg: 1 to 65500 pixels per side");
    expects(quality >= 1 && quality <= 100, "encodeJpeg: quality is 1 to 100");
    expects(image.pixels.size() == static_cast<std::size_t>(image.width) *
                                       static_cast<std::size_t>(image.height) *
                                       static_cast<std::size_t>(image.channels),
            "encodeJpeg: pixel count differs from the size");
    WriteSession session;
    if (!writeAll(session, image, quality))
        throw Error(fmt::format("Cannot encode a JPEG image: {}.", session.errors.reason));
    return {reinterpret_cast<const char*>(session.buffer), session.size};
}

void writeJpeg(const std::filesystem::path& path, const Image& image, int quality)
{
    writeFileAtomic(path, encodeJpeg(image, quality));
}

} // namespace vergence
