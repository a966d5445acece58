#include "core/artifact/gif.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <gif_lib.h>

#include <fmt/format.h>

#include "core/artifact/gif_palette.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

/// A GIF being written into memory; giflib reports by return values, collected here.
class GifWriter {
public:
    GifWriter()
    {
        m_stream = ::open_memstream(&m_buffer, &m_size);
        if (m_stream)
            m_gif = EGifOpen(m_stream, writeBytes, &m_error);
    }
    ~GifWriter()
    {
        if (m_gif)
            EGifCloseFile(m_gif, &m_error);
        if (m_stream)
            std::fclose(m_stream);
        std::free(m_buffer);
    }
    GifWriter(const GifWriter&) = delete;
    GifWriter& operator=(const GifWriter&) = delete;

    bool begin(int width, int height, const GifPalette& palette, bool loops)
    {
        if (!m_gif)
            return false;
        EGifSetGifVersion(m_gif, true);
        ColorMapObject* map =
            GifMakeMapObject(static_cast<int>(palette.padded().size()), palette.padded().data());
        const bool good = map && EGifPutScreenDesc(m_gif, width, height, 8, 0, map) == GIF_OK;
        GifFreeMapObject(map);
        return good && (!loops || putLoop());
    }

    /// `indices` is not const because giflib masks what it writes.
    bool addFrame(std::vector<std::uint8_t>& indices, int width, int height, int delay)
    {
        const GraphicsControlBlock control{DISPOSE_DO_NOT, false, delay, NO_TRANSPARENT_COLOR};
        GifByteType packed[4];
        const auto length = static_cast<int>(EGifGCBToExtension(&control, packed));
        if (EGifPutExtension(m_gif, GRAPHICS_EXT_FUNC_CODE, length, packed) != GIF_OK ||
            EGifPutImageDesc(m_gif, 0, 0, width, height, false, nullptr) != GIF_OK)
            return false;
        for (int y = 0; y < height; ++y) {
            GifPixelType* line =
                indices.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width);
            if (EGifPutLine(m_gif, line, width) != GIF_OK)
                return false;
        }
        return true;
    }

    bool finish()
    {
        GifFileType* gif = std::exchange(m_gif, nullptr);
        return EGifCloseFile(gif, &m_error) == GIF_OK && std::fflush(m_stream) == 0;
    }

    std::string_view bytes() const { return {m_buffer, m_size}; }
    std::string reason() const
    {
        const char* text = GifErrorString(m_gif ? m_gif->Error : m_error);
        return text ? text : "out of memory";
    }

private:
    static int writeBytes(GifFileType* gif, const GifByteType* bytes, int count)
    {
        return static_cast<int>(std::fwrite(bytes, 1, static_cast<std::size_t>(count),
                                            static_cast<std::FILE*>(gif->UserData)));
    }

    /// Application extension: repeat for ever.
    bool putLoop()
    {
        static constexpr GifByteType kForEver[] = {1, 0, 0};
        return EGifPutExtensionLeader(m_gif, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
               EGifPutExtensionBlock(m_gif, 11, "NETSCAPE2.0") == GIF_OK &&
               EGifPutExtensionBlock(m_gif, sizeof(kForEver), kForEver) == GIF_OK &&
               EGifPutExtensionTrailer(m_gif) == GIF_OK;
    }

    std::FILE* m_stream = nullptr;
    char* m_buffer = nullptr;
    std::size_t m_size = 0;
    GifFileType* m_gif = nullptr;
    int m_error = 0;
};

/// A GIF read from memory.
class GifReader {
public:
    explicit GifReader(std::string_view bytes) : m_rest(bytes)
    {
        m_gif = DGifOpen(this, readBytes, &m_error);
    }
    ~GifReader()
    {
        if (m_gif)
            DGifCloseFile(m_gif, &m_error);
    }
    GifReader(const GifReader&) = delete;
    GifReader& operator=(const GifReader&) = delete;

    GifFileType* gif() const { return m_gif; }
    bool slurp() { return DGifSlurp(m_gif) == GIF_OK; }
    std::string reason() const
    {
        const char* text = GifErrorString(m_gif ? m_gif->Error : m_error);
        return text ? text : "damaged";
    }

private:
    static int readBytes(GifFileType* gif, GifByteType* target, int count)
    {
        auto* self = static_cast<GifReader*>(gif->UserData);
        const std::size_t taken = std::min(self->m_rest.size(), static_cast<std::size_t>(count));
        std::memcpy(target, self->m_rest.data(), taken);
        self->m_rest.remove_prefix(taken);
        return static_cast<int>(taken);
    }

    std::string_view m_rest;
    GifFileType* m_gif = nullptr;
    int m_error = 0;
};

bool isLoop(const ExtensionBlock& block)
{
    return block.Function == APPLICATION_EXT_FUNC_CODE && block.ByteCount == 11 &&
           std::memcmp(block.Bytes, "NETSCAPE2.0", 11) == 0;
}

bool hasLoop(const ExtensionBlock* blocks, int count)
{
    return std::any_of(blocks, blocks + count, isLoop);
}

GraphicsControlBlock controlOf(GifFileType* gif, int frame)
{
    GraphicsControlBlock control{DISPOSAL_UNSPECIFIED, false, 0, NO_TRANSPARENT_COLOR};
    DGifSavedExtensionToGCB(gif, frame, &control);
    return control;
}

/// Draws one saved image over the canvas.
void compose(Image& canvas, const SavedImage& saved, const ColorMapObject* map, int transparent)
{
    const GifImageDesc& at = saved.ImageDesc;
    for (int y = 0; y < at.Height && at.Top + y < canvas.height; ++y) {
        for (int x = 0; x < at.Width && at.Left + x < canvas.width; ++x) {
            const int index =
                saved.RasterBits[static_cast<std::size_t>(y) * static_cast<std::size_t>(at.Width) +
                                 static_cast<std::size_t>(x)];
            if (index == transparent || index >= map->ColorCount)
                continue;
            const GifColorType& colour = map->Colors[index];
            std::uint8_t* out = canvas.row(at.Top + y) + static_cast<std::size_t>(at.Left + x) * 3;
            out[0] = colour.Red;
            out[1] = colour.Green;
            out[2] = colour.Blue;
        }
    }
}

void expectUniform(const std::vector<Image>& frames)
{
    expects(!frames.empty(), "writeGif: no frames");
    for (const Image& frame : frames) {
        expects(frame.channels == 3, "writeGif: frames must be RGB");
        expects(frame.width == frames[0].width && frame.height == frames[0].height,
                "writeGif: frames must have one size");
        expects(frame.pixels.size() == static_cast<std::size_t>(frame.width) *
                                           static_cast<std::size_t>(frame.height) * 3,
                "writeGif: pixel count differs from the size");
    }
    expects(frames[0].width >= 1 && frames[0].height >= 1 && frames[0].width <= 65535 &&
                frames[0].height <= 65535,
            "writeGif: 1 to 65535 pixels per side");
}

} // namespace

bool writeGif(const std::filesystem::path& path, const std::vector<Image>& frames,
              const GifOptions& options)
{
    expectUniform(frames);
    expects(options.delayCentiseconds >= 0 && options.delayCentiseconds <= 65535,
            "writeGif: delay is 0 to 65535");
    expects(options.lastDelayCentiseconds >= 0 && options.lastDelayCentiseconds <= 65535,
            "writeGif: delay is 0 to 65535");
    GifPalette palette(frames);
    GifWriter writer;
    bool good = writer.begin(frames[0].width, frames[0].height, palette, options.loops);
    for (std::size_t i = 0; good && i < frames.size(); ++i) {
        if (options.isStopped && options.isStopped())
            return false;
        auto indices = options.dithers      ? palette.dither(frames[i])
                       : options.ordersDots ? palette.order(frames[i])
                                            : palette.nearest(frames[i]);
        const bool isHeld = i + 1 == frames.size() && options.lastDelayCentiseconds > 0;
        good = writer.addFrame(indices, frames[i].width, frames[i].height,
                               isHeld ? options.lastDelayCentiseconds : options.delayCentiseconds);
    }
    if (!good || !writer.finish())
        throw OutputError(
            fmt::format("Cannot write the GIF {}: {}.", path.string(), writer.reason()));
    writeFileAtomic(path, writer.bytes());
    return true;
}

GifContent readGif(const std::filesystem::path& path)
{
    const std::string bytes = readFile(path);
    GifReader reader(bytes);
    const auto fail = [&](const std::string& reason) {
        throw InputError(fmt::format("Cannot read the GIF {}: {}.", path.string(), reason));
    };
    GifFileType* gif = reader.gif();
    if (!gif)
        fail(reader.reason());
    constexpr long kLargestScreen = 1L << 26;
    if (static_cast<long>(gif->SWidth) * gif->SHeight > kLargestScreen)
        fail(fmt::format("{} x {} pixels are too many", gif->SWidth, gif->SHeight));
    if (!reader.slurp())
        fail(reader.reason());
    GifContent content;
    content.loops = hasLoop(gif->ExtensionBlocks, gif->ExtensionBlockCount);
    Image canvas = makeImage(gif->SWidth, gif->SHeight, 3);
    for (int i = 0; i < gif->ImageCount; ++i) {
        const SavedImage& saved = gif->SavedImages[i];
        const ColorMapObject* map =
            saved.ImageDesc.ColorMap ? saved.ImageDesc.ColorMap : gif->SColorMap;
        if (!map)
            fail(fmt::format("frame {} has no palette", i + 1));
        const GraphicsControlBlock control = controlOf(gif, i);
        content.loops = content.loops || hasLoop(saved.ExtensionBlocks, saved.ExtensionBlockCount);
        const Image before = control.DisposalMode == DISPOSE_PREVIOUS ? canvas : Image{};
        compose(canvas, saved, map, control.TransparentColor);
        content.frames.push_back(canvas);
        content.delaysCentiseconds.push_back(control.DelayTime);
        if (control.DisposalMode == DISPOSE_PREVIOUS)
            canvas = before;
        else if (control.DisposalMode == DISPOSE_BACKGROUND)
            paste(canvas, makeImage(saved.ImageDesc.Width, saved.ImageDesc.Height, 3),
                  saved.ImageDesc.Left, saved.ImageDesc.Top);
    }
    return content;
}

} // namespace vergence
