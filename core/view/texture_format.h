#pragma once

#include "core/view/frame.h"

namespace vergence {

/// How the pixels of a format lie in an OpenGL texture: three numbers of the OpenGL registry, as
/// glTexImage2D takes them. Core includes no OpenGL header, so they are written out; the uploaders,
/// which do, compare them with their names when they are compiled.
struct TextureFormat {
    int internal;    ///< sized internal format
    unsigned layout; ///< of the pixels in memory
    unsigned type;   ///< of one number in memory
    constexpr bool operator==(const TextureFormat&) const = default;
};

/// The only such table, for every uploader and for whoever reads a texture back.
constexpr TextureFormat textureFormat(PixelFormat format)
{
    switch (format) {
    case PixelFormat::Rgba16F:
        return {0x881A, 0x1908, 0x140B}; // GL_RGBA16F, GL_RGBA, GL_HALF_FLOAT
    case PixelFormat::R32F:
        return {0x822E, 0x1903, 0x1406}; // GL_R32F, GL_RED, GL_FLOAT
    case PixelFormat::Rgba8:
        break;
    }
    return {0x8058, 0x1908, 0x1401}; // GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE
}

} // namespace vergence
