#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace vergence {

/// 8-bit image, rows from the top, channels interleaved (1 grey, 3 RGB, 4 RGBA), sRGB unless said
/// otherwise.
struct Image {
    int width = 0, height = 0, channels = 3;
    std::vector<std::uint8_t> pixels;
    std::map<std::string, std::string> text; ///< PNG text chunks

    std::uint8_t* row(int y)
    {
        return pixels.data() + static_cast<std::size_t>(y) * width * channels;
    }
    const std::uint8_t* row(int y) const
    {
        return pixels.data() + static_cast<std::size_t>(y) * width * channels;
    }
};

/// 16-bit image as PNG depth maps are; channels interleaved.
struct Image16 {
    int width = 0, height = 0, channels = 1;
    std::vector<std::uint16_t> pixels;
};

Image makeImage(int width, int height, int channels, std::uint8_t fill = 0);
/// From linear [H, W, C] floats; clamps to [0, 1]; sRGB-encodes, or writes value·255 where `raw`.
Image imageFromLinear(std::span<const float> linear, int width, int height, int channels,
                      bool raw = false);
/// Linear [H, W, C] floats in [0, 1].
std::vector<float> linearFromImage(const Image& image);

void writePng(const std::filesystem::path& path, const Image& image); ///< throws OutputError
void writePng16(const std::filesystem::path& path, const Image16& image);
Image readPng(const std::filesystem::path& path);     ///< throws InputError; 16 bits become 8
Image16 readPng16(const std::filesystem::path& path); ///< 8 bits are scaled up
/// Throws InputError with libjpeg's reason. Four inks become RGB without a colour profile.
Image readJpeg(const std::filesystem::path& path);
void writeJpeg(const std::filesystem::path& path, const Image& image, int quality = 92);
Image readImage(const std::filesystem::path& path); ///< PNG or JPEG by content

// The same in memory; `name` is for messages.
Image decodePng(const std::string& bytes, const std::filesystem::path& name);
Image16 decodePng16(const std::string& bytes, const std::filesystem::path& name);
Image decodeJpeg(const std::string& bytes, const std::filesystem::path& name);
std::string encodeJpeg(const Image& image, int quality = 92);

/// Draws `text` (ASCII) in a built-in 5×7 face, `scale` px per dot, top left at (x, y).
void drawText(Image& image, int x, int y, const std::string& text, std::uint8_t red,
              std::uint8_t green, std::uint8_t blue, int scale = 1);
int textWidth(const std::string& text, int scale = 1);
/// Pastes with clipping; channel counts must match.
void paste(Image& target, const Image& source, int x, int y);

} // namespace vergence
