#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <png.h>

#include <fmt/format.h>

#include "core/artifact/image.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

constexpr std::size_t kLargestImageBytes = std::size_t{2} << 30;

// libpng reports errors by longjmp. Every function that a jump may leave holds no object with a
// destructor; what must be freed belongs to a session that lives outside of it.

struct Session {
    png_structp png = nullptr;
    png_infop info = nullptr;
    std::FILE* stream = nullptr;
    char reason[160] = "out of memory";
};

[[noreturn]] void onError(png_structp png, png_const_charp message)
{
    auto* session = static_cast<Session*>(png_get_error_ptr(png));
    std::snprintf(session->reason, sizeof(session->reason), "%s", message);
    std::longjmp(png_jmpbuf(png), 1);
}

void onWarning(png_structp, png_const_charp) {}

class ReadSession : public Session {
public:
    explicit ReadSession(const std::string& bytes)
    {
        stream = ::fmemopen(const_cast<char*>(bytes.data()), std::max<std::size_t>(bytes.size(), 1),
                            "rb");
        png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<Session*>(this), onError,
                                     onWarning);
        info = png ? png_create_info_struct(png) : nullptr;
    }
    ~ReadSession()
    {
        png_destroy_read_struct(&png, &info, nullptr);
        if (stream)
            std::fclose(stream);
    }
    ReadSession(const ReadSession&) = delete;
    ReadSession& operator=(const ReadSession&) = delete;
};

class WriteSession : public Session {
public:
    WriteSession()
    {
        stream = ::open_memstream(&buffer, &size);
        png = png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<Session*>(this), onError,
                                      onWarning);
        info = png ? png_create_info_struct(png) : nullptr;
    }
    ~WriteSession()
    {
        png_destroy_write_struct(&png, &info);
        if (stream)
            std::fclose(stream);
        std::free(buffer);
    }
    WriteSession(const WriteSession&) = delete;
    WriteSession& operator=(const WriteSession&) = delete;

    char* buffer = nullptr;
    std::size_t size = 0;
};

struct Layout {
    int width = 0, height = 0, channels = 0, bits = 0;
};

/// Reads up to the pixels and asks for whole channels of `bits` bits: palettes and small depths
/// expanded, grey with alpha as RGBA.
bool readHeader(ReadSession& session, int bits, Layout& layout)
{
    png_structp png = session.png;
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_init_io(png, session.stream);
    png_set_user_limits(png, 65536, 65536);
    png_read_info(png, session.info);
    const int colour = png_get_color_type(png, session.info);
    png_set_expand(png);
    if (bits == 8)
        png_set_scale_16(png);
    else
        png_set_expand_16(png);
    if (bits == 16)
        png_set_swap(png);
    if (colour == PNG_COLOR_TYPE_GRAY_ALPHA ||
        (colour == PNG_COLOR_TYPE_GRAY && png_get_valid(png, session.info, PNG_INFO_tRNS)))
        png_set_gray_to_rgb(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, session.info);
    layout.width = static_cast<int>(png_get_image_width(png, session.info));
    layout.height = static_cast<int>(png_get_image_height(png, session.info));
    layout.channels = png_get_channels(png, session.info);
    layout.bits = png_get_bit_depth(png, session.info);
    return true;
}

bool readRows(ReadSession& session, png_bytepp rows)
{
    if (setjmp(png_jmpbuf(session.png)))
        return false;
    png_read_image(session.png, rows);
    png_read_end(session.png, session.info);
    return true;
}

[[noreturn]] void throwUnreadable(const std::filesystem::path& path, const std::string& reason)
{
    throw InputError(fmt::format("Cannot read the PNG image {}: {}.", path.string(), reason));
}

/// Decodes into `pixels`, resized here.
template <class Value>
Layout decode(ReadSession& session, const std::filesystem::path& path, std::vector<Value>& pixels)
{
    if (!session.stream || !session.info)
        throwUnreadable(path, session.reason);
    Layout layout;
    if (!readHeader(session, static_cast<int>(sizeof(Value) * 8), layout))
        throwUnreadable(path, session.reason);
    const std::size_t rowValues =
        static_cast<std::size_t>(layout.width) * static_cast<std::size_t>(layout.channels);
    if (rowValues * static_cast<std::size_t>(layout.height) * sizeof(Value) > kLargestImageBytes)
        throwUnreadable(path,
                        fmt::format("{} x {} pixels are too many", layout.width, layout.height));
    pixels.resize(rowValues * static_cast<std::size_t>(layout.height));
    std::vector<png_bytep> rows(static_cast<std::size_t>(layout.height));
    for (std::size_t y = 0; y < rows.size(); ++y)
        rows[y] = reinterpret_cast<png_bytep>(pixels.data() + y * rowValues);
    if (!readRows(session, rows.data()))
        throwUnreadable(path, session.reason);
    return layout;
}

struct Pixels {
    const void* data;
    Layout layout;
    std::size_t rowBytes;
};

bool writeAll(WriteSession& session, const Pixels& pixels, png_textp texts, int textCount)
{
    png_structp png = session.png;
    if (setjmp(png_jmpbuf(png)))
        return false;
    static constexpr int kColours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                       PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    const Layout& layout = pixels.layout;
    png_init_io(png, session.stream);
    png_set_user_limits(png, 65536, 65536);
    png_set_IHDR(png, session.info, static_cast<png_uint_32>(layout.width),
                 static_cast<png_uint_32>(layout.height), layout.bits,
                 kColours[layout.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (layout.bits == 8)
        png_set_sRGB(png, session.info, PNG_sRGB_INTENT_PERCEPTUAL);
    if (textCount > 0)
        png_set_text(png, session.info, texts, textCount);
    png_write_info(png, session.info);
    if (layout.bits == 16)
        png_set_swap(png);
    const auto* bytes = static_cast<const png_byte*>(pixels.data);
    for (int y = 0; y < layout.height; ++y)
        png_write_row(png, bytes + static_cast<std::size_t>(y) * pixels.rowBytes);
    png_write_end(png, session.info);
    return std::fflush(session.stream) == 0;
}

/// tEXt for ASCII and iTXt for the rest. The library copies what the pointers name.
std::vector<png_text> textChunks(const std::map<std::string, std::string>& texts)
{
    std::vector<png_text> chunks;
    for (const auto& [key, text] : texts) {
        expects(!key.empty() && key.size() < 80, "writePng: keys of texts have 1 to 79 characters");
        const bool ascii = std::all_of(text.begin(), text.end(),
                                       [](char c) { return static_cast<signed char>(c) >= 0; });
        png_text chunk{};
        chunk.compression = ascii ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
        chunk.key = const_cast<char*>(key.c_str());
        chunk.text = const_cast<char*>(text.c_str());
        chunk.text_length = ascii ? text.size() : 0;
        chunk.itxt_length = ascii ? 0 : text.size();
        chunk.lang = const_cast<char*>("");
        chunk.lang_key = const_cast<char*>("");
        chunks.push_back(chunk);
    }
    return chunks;
}

void write(const std::filesystem::path& path, const Pixels& pixels,
           const std::map<std::string, std::string>& texts)
{
    expects(pixels.layout.width > 0 && pixels.layout.height > 0, "writePng: the image is empty");
    std::vector<png_text> chunks = textChunks(texts);
    WriteSession session;
    if (!session.stream || !session.info ||
        !writeAll(session, pixels, chunks.data(), static_cast<int>(chunks.size())))
        throw OutputError(
            fmt::format("Cannot write the PNG image {}: {}.", path.string(), session.reason));
    writeFileAtomic(path, std::string_view(session.buffer, session.size));
}

} // namespace

void writePng(const std::filesystem::path& path, const Image& image)
{
    const std::size_t rowBytes =
        static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
    expects(image.channels >= 1 && image.channels <= 4 &&
                image.pixels.size() == rowBytes * static_cast<std::size_t>(image.height),
            "writePng: pixel count differs from the size");
    write(path, {image.pixels.data(), {image.width, image.height, image.channels, 8}, rowBytes},
          image.text);
}

void writePng16(const std::filesystem::path& path, const Image16& image)
{
    const std::size_t rowValues =
        static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
    expects(image.channels >= 1 && image.channels <= 4 &&
                image.pixels.size() == rowValues * static_cast<std::size_t>(image.height),
            "writePng16: pixel count differs from the size");
    write(path,
          {image.pixels.data(), {image.width, image.height, image.channels, 16}, rowValues * 2},
          {});
}

Image readPng(const std::filesystem::path& path)
{
    return decodePng(readFile(path), path);
}

Image decodePng(const std::string& bytes, const std::filesystem::path& path)
{
    ReadSession session(bytes);
    Image image;
    const Layout layout = decode(session, path, image.pixels);
    image.width = layout.width;
    image.height = layout.height;
    image.channels = layout.channels;
    png_textp texts = nullptr;
    int count = 0;
    png_get_text(session.png, session.info, &texts, &count);
    for (int i = 0; i < count; ++i)
        image.text[texts[i].key] = texts[i].text ? texts[i].text : "";
    return image;
}

Image16 readPng16(const std::filesystem::path& path)
{
    return decodePng16(readFile(path), path);
}

Image16 decodePng16(const std::string& bytes, const std::filesystem::path& path)
{
    ReadSession session(bytes);
    Image16 image;
    const Layout layout = decode(session, path, image.pixels);
    image.width = layout.width;
    image.height = layout.height;
    image.channels = layout.channels;
    return image;
}

} // namespace vergence
