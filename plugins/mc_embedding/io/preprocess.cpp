#include "plugins/mc_embedding/io/preprocess.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/exif.h"
#include "core/artifact/image_ops.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence::mc_embedding {

namespace {

/// Changes with every change of decoding or resampling that changes bytes.
constexpr int kDecoderVersion = 1;

/// Sixteen bits become eight by leaving out the low ones, as the reference decoders do.
Image upperBytes(const Image16& deep)
{
    Image image = makeImage(deep.width, deep.height, deep.channels);
    std::transform(deep.pixels.begin(), deep.pixels.end(), image.pixels.begin(),
                   [](std::uint16_t value) { return static_cast<std::uint8_t>(value >> 8); });
    return image;
}

Image decoded(const std::string& bytes, const std::filesystem::path& name)
{
    constexpr std::size_t kBitDepth = 24; // of a PNG file, in its header chunk
    if (bytes.starts_with("\x89PNG\r\n\x1a\n")) {
        if (bytes.size() > kBitDepth && bytes[kBitDepth] == 16)
            return upperBytes(decodePng16(bytes, name));
        return decodePng(bytes, name);
    }
    if (bytes.starts_with("\xff\xd8\xff"))
        return decodeJpeg(bytes, name);
    const auto fail = [&](const char* what) {
        throw InputError(
            fmt::format("Cannot read {}: {} Convert it to PNG or JPEG.", name.string(), what));
    };
    if (bytes.starts_with("BM"))
        fail("this build has no decoder for BMP images.");
    if (bytes.starts_with("RIFF") &&
        bytes.substr(std::min<std::size_t>(8, bytes.size()), 4) == "WEBP")
        fail("this build has no decoder for WebP images.");
    fail(bytes.empty() ? "the file is empty." : "it is neither a PNG nor a JPEG image.");
    return {};
}

} // namespace

std::string Preprocess::fingerprint() const
{
    return sha256Hex(
        fmt::format("mc-embedding pixels, decoder {}, size {}, {}, crop {}, exif {}, {}",
                    kDecoderVersion, size, stretches ? "stretch" : "short side",
                    stretches    ? "none"
                    : floorsCrop ? "floor"
                                 : "torch",
                    rotatesByExif, filter == Filter::Bicubic ? "bicubic" : "bilinear"));
}

Preprocess defaultPreprocess(const TowerShape& tower)
{
    Preprocess how;
    how.size = tower.imageSize;
    if (tower.family == Family::Clip) {
        how.mean = {0.48145466f, 0.4578275f, 0.40821073f};
        how.deviation = {0.26862954f, 0.26130258f, 0.27577711f};
    } else {
        how.stretches = true;
        how.filter = Filter::Bilinear;
        how.mean = how.deviation = {0.5f, 0.5f, 0.5f};
    }
    return how;
}

Image decodeRgb(const std::filesystem::path& path, bool rotatesByExif)
{
    return decodeRgb(readFile(path), path, rotatesByExif);
}

Image decodeRgb(const std::string& bytes, const std::filesystem::path& name, bool rotatesByExif)
{
    Image image = decoded(bytes, name);
    if (image.channels != 3)
        image = toRgb(image);
    if (rotatesByExif)
        return upright(image, exifOrientation(bytes));
    return image;
}

} // namespace vergence::mc_embedding
