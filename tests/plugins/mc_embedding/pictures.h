#pragma once

#include <cstdint>
#include <filesystem>

#include <QString>

#include <zlib.h>

#include "core/artifact/image.h"

namespace vergence::test {

/// The source of case V18.
inline Image patternImage(int width, int height)
{
    Image image = makeImage(width, height, 3);
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            std::uint8_t* pixel = image.row(y) + x * 3;
            pixel[0] = static_cast<std::uint8_t>(37 * x + 11 * y);
            pixel[1] = static_cast<std::uint8_t>(5 * x + 91 * y + 40);
            pixel[2] = static_cast<std::uint8_t>(13 * x * y + 7);
        }
    }
    return image;
}

inline QString crcOf(const Image& image)
{
    const uLong crc = crc32_z(0, image.pixels.data(), image.pixels.size());
    return QStringLiteral("%1").arg(static_cast<qulonglong>(crc), 8, 16, QLatin1Char('0'));
}

} // namespace vergence::test
