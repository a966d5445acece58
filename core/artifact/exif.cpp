#include "core/artifact/exif.h"

#include <cstdint>
#include <cstring>
#include <optional>

#include "core/base/error.h"

namespace vergence {

namespace {

/// Numbers of a byte string, in either order of bytes; 0 beyond the end.
struct Bytes {
    std::string_view text;
    bool bigEndian = true;

    std::uint32_t number(std::size_t at, std::size_t count) const
    {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t from = at + (bigEndian ? i : count - 1 - i);
            value = value << 8 | (from < text.size() ? static_cast<unsigned char>(text[from]) : 0u);
        }
        return value;
    }
};

/// The TIFF structure of an Exif block, without "Exif\0\0".
int orientationOf(std::string_view tiff)
{
    constexpr std::uint32_t kOrientation = 0x0112;
    const Bytes bytes{tiff, tiff.starts_with("MM")};
    if (!bytes.bigEndian && !tiff.starts_with("II"))
        return 1;
    const std::size_t directory = bytes.number(4, 4);
    const std::uint32_t count = directory < tiff.size() ? bytes.number(directory, 2) : 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::size_t entry = directory + 2 + i * std::size_t{12};
        if (entry + 12 > tiff.size())
            break;
        if (bytes.number(entry, 2) == kOrientation) {
            const std::uint32_t value = bytes.number(entry + 8, 2);
            return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
        }
    }
    return 1;
}

std::optional<std::string_view> exifOfJpeg(std::string_view file)
{
    const Bytes bytes{file};
    for (std::size_t at = 2; at + 4 <= file.size();) {
        const std::uint32_t marker = bytes.number(at, 2), length = bytes.number(at + 2, 2);
        if (marker < 0xFF00 || marker == 0xFFDA || length < 2)
            break;
        const std::string_view block = file.substr(at + 4, length - 2);
        if (marker == 0xFFE1 && block.starts_with(std::string_view("Exif\0\0", 6)))
            return block.substr(6);
        at += 2 + std::size_t{length};
    }
    return std::nullopt;
}

std::optional<std::string_view> exifOfPng(std::string_view file)
{
    const Bytes bytes{file};
    for (std::size_t at = 8; at + 12 <= file.size();) {
        const std::size_t length = bytes.number(at, 4);
        if (file.substr(at + 4, 4) == "eXIf")
            return file.substr(at + 8, length);
        at += 12 + length;
    }
    return std::nullopt;
}

} // namespace

int exifOrientation(std::string_view file)
{
    const auto exif = file.starts_with("\xff\xd8") ? exifOfJpeg(file) : exifOfPng(file);
    return exif ? orientationOf(*exif) : 1;
}

Image upright(const Image& image, int orientation)
{
    expects(orientation >= 1 && orientation <= 8, "upright: an orientation from 1 to 8");
    if (orientation == 1)
        return image;
    const bool swapsAxes = orientation >= 5;
    const bool mirrorsX =
        orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool mirrorsY =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    Image result = makeImage(swapsAxes ? image.height : image.width,
                             swapsAxes ? image.width : image.height, image.channels);
    const auto channels = static_cast<std::size_t>(image.channels);
    for (int y = 0; y < result.height; ++y) {
        for (int x = 0; x < result.width; ++x) {
            int fromX = swapsAxes ? y : x, fromY = swapsAxes ? x : y;
            if (mirrorsX)
                fromX = image.width - 1 - fromX;
            if (mirrorsY)
                fromY = image.height - 1 - fromY;
            std::memcpy(result.row(y) + static_cast<std::size_t>(x) * channels,
                        image.row(fromY) + static_cast<std::size_t>(fromX) * channels, channels);
        }
    }
    return result;
}

} // namespace vergence
