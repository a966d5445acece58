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

/// A pixel of the smaller mask is seen where all of its area is.
std::vector<std::uint8_t> scaledMask(const std::vector<std::uint8_t>& mask, int fromWidth,
                                     int fromHeight, int width, int height)
{
    if (mask.empty())
        return mask;
    Image image = makeImage(fromWidth, fromHeight, 1);
    std::transform(mask.begin(), mask.end(), image.pixels.begin(),
                   [](std::uint8_t seen) { return static_cast<std::uint8_t>(seen ? 255 : 0); });
    std::vector<std::uint8_t> result = areaScaled(image, width, height).pixels;
    for (std::uint8_t& seen : result)
        seen = seen == 255 ? 1 : 0;
    return result;
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

Photograph preparedPhotograph(Image decoded, const PicturePlan& plan,
                              const std::array<float, 3>& background)
{
    if (decoded.width != plan.stored.width || decoded.height != plan.stored.height)
        throw InputError(fmt::format("{} has changed: it was {} × {} and is {} × {}. Start the run "
                                     "again.",
                                     plan.file.string(), plan.stored.width, plan.stored.height,
                                     decoded.width, decoded.height));
    Image image = opaque(upright(decoded, plan.orientation), background);
    if (plan.source.isPinhole())
        return {areaScaled(image, plan.width, plan.height), {}};
    const ImageHeader working = workingSize(plan);
    UndistortedImage straight = undistorted(areaScaled(image, working.width, working.height),
                                            plan.source.resized(working.width, working.height),
                                            plan.pinhole.resized(working.width, working.height));
    return {areaScaled(straight.image, plan.width, plan.height),
            scaledMask(straight.mask, working.width, working.height, plan.width, plan.height)};
}

} // namespace vergence::sugar
