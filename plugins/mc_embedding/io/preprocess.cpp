#include "plugins/mc_embedding/io/preprocess.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/exif.h"
#include "core/artifact/image_ops.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/half.h"

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
    std::string text =
        fmt::format("mc-embedding pixels, decoder {}, size {}, {}, crop {}, exif {}, {}",
                    kDecoderVersion, size, stretches ? "stretch" : "short side",
                    stretches    ? "none"
                    : floorsCrop ? "floor"
                                 : "torch",
                    rotatesByExif, filter == Filter::Bicubic ? "bicubic" : "bilinear");
    if (stored != PixelType::U8)
        text += fmt::format(", {} by {:.9g} and {:.9g}", nameOf(stored), fmt::join(mean, " "),
                            fmt::join(deviation, " "));
    return sha256Hex(text);
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

std::vector<std::uint8_t> storedPixels(const Image& image, const Preprocess& how)
{
    if (how.stored == PixelType::U8)
        return image.pixels;
    const std::size_t count = image.pixels.size() / 3, each = bytesOf(how.stored);
    std::vector<std::uint8_t> bytes(image.pixels.size() * each);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
        const std::size_t c = i % 3;
        // As the patches of 8-bit pixels are normalised: the same bits.
        const float value =
            (static_cast<float>(image.pixels[i]) / 255.0f - how.mean[c]) / how.deviation[c];
        std::uint8_t* target = bytes.data() + (c * count + i / 3) * each;
        if (how.stored == PixelType::F16) {
            const Float16 half(value);
            std::memcpy(target, &half, each);
        } else {
            std::memcpy(target, &value, each);
        }
    }
    return bytes;
}

Image pictureOf(std::span<const std::uint8_t> stored, const Preprocess& how)
{
    Image image = makeImage(how.size, how.size, 3);
    const std::size_t count = image.pixels.size() / 3, each = bytesOf(how.stored);
    expects(stored.size() == image.pixels.size() * each, "pictureOf: pixels of this preprocessing");
    if (how.stored == PixelType::U8) {
        image.pixels.assign(stored.begin(), stored.end());
        return image;
    }
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
        const std::size_t c = i % 3;
        const std::uint8_t* source = stored.data() + (c * count + i / 3) * each;
        float value = 0;
        if (how.stored == PixelType::F16) {
            Float16 half;
            std::memcpy(&half, source, each);
            value = static_cast<float>(half);
        } else {
            std::memcpy(&value, source, each);
        }
        const float level = (value * how.deviation[c] + how.mean[c]) * 255.0f;
        image.pixels[i] = static_cast<std::uint8_t>(std::lround(std::clamp(level, 0.0f, 255.0f)));
    }
    return image;
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
