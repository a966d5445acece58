#include "plugins/sugar/io/picture_plan.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/exif.h"
#include "core/artifact/image_ops.h"
#include "core/base/error.h"
#include "plugins/sugar/io/area_scaling.h"

namespace vergence::sugar {

namespace {

constexpr std::uint8_t kCounts = 128; ///< least value of a mask or an opacity that counts

/// 255 where the mask is set; empty where it is.
Image imageOf(const std::vector<std::uint8_t>& mask, int width, int height)
{
    if (mask.empty())
        return {};
    Image image = makeImage(width, height, 1);
    std::transform(mask.begin(), mask.end(), image.pixels.begin(),
                   [](std::uint8_t seen) { return static_cast<std::uint8_t>(seen ? 255 : 0); });
    return image;
}

/// A scaled pixel counts where all of its area does. Empty where all count, or for no image.
std::vector<std::uint8_t> scaledMask(const Image& image, int width, int height)
{
    if (image.width == 0)
        return {};
    std::vector<std::uint8_t> mask = areaScaled(image, width, height).pixels;
    for (std::uint8_t& value : mask)
        value = value == 255 ? 1 : 0;
    if (std::find(mask.begin(), mask.end(), 0) == mask.end())
        mask.clear();
    return mask;
}

std::vector<std::uint8_t> both(std::vector<std::uint8_t> a, const std::vector<std::uint8_t>& b)
{
    if (a.empty())
        return b;
    for (std::size_t i = 0; i < b.size(); ++i)
        a[i] = a[i] & b[i];
    return a;
}

/// 255 where the mask's file and the photograph's opacity say that a pixel counts, turned upright;
/// empty where neither says anything.
Image countingPixels(const Image& decoded, const Image& mask, const PicturePlan& plan,
                     bool alphaMasks)
{
    const bool hasAlpha = alphaMasks && decoded.channels == 4;
    if (mask.width == 0 && !hasAlpha)
        return {};
    Image counting = makeImage(decoded.width, decoded.height, 1, 255);
    if (mask.width > 0) {
        if (mask.width != decoded.width || mask.height != decoded.height)
            throw InputError(fmt::format("The mask {} has {} × {} pixels and its photograph {} × "
                                         "{}; make it the same size, or remove it.",
                                         plan.mask.string(), mask.width, mask.height, decoded.width,
                                         decoded.height));
        const auto step = static_cast<std::size_t>(mask.channels);
        for (std::size_t i = 0; i < counting.pixels.size(); ++i)
            counting.pixels[i] = mask.pixels[step * i] >= kCounts ? 255 : 0;
    }
    for (std::size_t i = 0; hasAlpha && i < counting.pixels.size(); ++i) {
        if (decoded.pixels[4 * i + 3] < kCounts)
            counting.pixels[i] = 0;
    }
    return upright(counting, plan.orientation);
}

/// Empty where the picture is opaque.
Image transparencyOf(const Image& decoded, const PicturePlan& plan)
{
    if (decoded.channels != 4)
        return {};
    Image shares = makeImage(decoded.width, decoded.height, 1);
    for (std::size_t i = 0; i < shares.pixels.size(); ++i)
        shares.pixels[i] = static_cast<std::uint8_t>(255 - decoded.pixels[4 * i + 3]);
    const bool isOpaque = std::ranges::all_of(shares.pixels, [](auto share) { return share == 0; });
    return isOpaque ? Image() : upright(shares, plan.orientation);
}

/// Where the result has less than half the size, shrinking to twice that first saves time and
/// keeps the bilinear samples free of aliases.
ImageHeader workingSize(const PicturePlan& plan)
{
    return {std::min(plan.source.width, 2 * plan.width),
            std::min(plan.source.height, 2 * plan.height)};
}

} // namespace

ImageHeader scaledSize(int width, int height, const PhotographSettings& settings)
{
    const auto rounded = [](double value) {
        return std::max(1, static_cast<int>(std::lround(value)));
    };
    ImageHeader size{rounded(width / settings.scale), rounded(height / settings.scale)};
    if (settings.maxWidth > 0 && size.width > settings.maxWidth) {
        size.height = rounded(static_cast<double>(height) * settings.maxWidth / width);
        size.width = settings.maxWidth;
    }
    return size;
}

Image opaque(const Image& image, const std::array<float, 3>& background)
{
    if (image.channels != 4)
        return toRgb(image);
    Image result = makeImage(image.width, image.height, 3);
    const std::size_t count = image.pixels.size() / 4;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t* from = image.pixels.data() + 4 * i;
        const float alpha = static_cast<float>(from[3]) / 255;
        for (std::size_t c = 0; c < 3; ++c) {
            const float value =
                alpha * static_cast<float>(from[c]) + (1 - alpha) * 255 * background[c];
            result.pixels[3 * i + c] =
                static_cast<std::uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
        }
    }
    return result;
}

Photograph preparedPhotograph(const Image& decoded, const Image& mask, const PicturePlan& plan,
                              const PhotographSettings& settings)
{
    if (decoded.width != plan.stored.width || decoded.height != plan.stored.height)
        throw InputError(fmt::format("{} has changed: it was {} × {} and is {} × {}. Start the run "
                                     "again.",
                                     plan.file.string(), plan.stored.width, plan.stored.height,
                                     decoded.width, decoded.height));
    const Image counting = countingPixels(decoded, mask, plan, settings.alphaMasks);
    const Image image = opaque(upright(decoded, plan.orientation), settings.background);
    const Image shares = settings.keepsTransparency ? transparencyOf(decoded, plan) : Image();
    const auto scaledShares = [&](const Image& from) {
        return from.width == 0 ? std::vector<std::uint8_t>()
                               : areaScaled(from, plan.width, plan.height).pixels;
    };
    if (plan.source.isPinhole())
        return {areaScaled(image, plan.width, plan.height),
                scaledMask(counting, plan.width, plan.height), scaledShares(shares)};
    const ImageHeader working = workingSize(plan);
    const auto straight = [&](const Image& bent) {
        return undistorted(areaScaled(bent, working.width, working.height),
                           plan.source.resized(working.width, working.height),
                           plan.pinhole.resized(working.width, working.height));
    };
    const UndistortedImage result = straight(image);
    std::vector<std::uint8_t> seen =
        scaledMask(imageOf(result.mask, working.width, working.height), plan.width, plan.height);
    if (counting.width > 0)
        seen = both(std::move(seen), scaledMask(straight(counting).image, plan.width, plan.height));
    return {areaScaled(result.image, plan.width, plan.height), std::move(seen),
            scaledShares(shares.width == 0 ? Image() : straight(shares).image)};
}

} // namespace vergence::sugar
