#include "plugins/sugar/view/display.h"

#include <algorithm>
#include <cmath>

namespace vergence::sugar {

namespace {

constexpr float kShC0 = 0.28209479177387814F;
constexpr float kHidden = -12, kOpaque = 6; ///< logits
constexpr float kEllipsoid = 1.5F;          ///< standard deviations that are shown as solid
constexpr float kSolid = 1.17F;             ///< where the alpha of an opaque splat falls to a half

float opacityOf(float logit)
{
    return 1 / (1 + std::exp(-logit));
}

/// One number per Gaussian for the modes that show one.
std::vector<float> scalarOf(Stream& stream, const DisplayValues& from, const GaussianCloud& cloud,
                            SplatMode mode)
{
    const auto count = static_cast<std::size_t>(cloud.count());
    const DensityStatistics* statistics = from.statistics;
    std::vector<float> values(count, 0.0F);
    if (mode == SplatMode::Opacity) {
        std::transform(cloud.opacity.begin(), cloud.opacity.end(), values.begin(), opacityOf);
    } else if (mode == SplatMode::FilterSize && !cloud.filter.empty()) {
        values = cloud.filter;
    } else if (mode == SplatMode::TestError && from.testError.size() == count) {
        values = from.testError;
    } else if (mode == SplatMode::Gradient && statistics) {
        const auto sum = statistics->gradient.toHost<float>(stream);
        const auto seen = statistics->visible.toHost<float>(stream);
        for (std::size_t i = 0; i < count; ++i)
            values[i] = seen[i] > 0 ? sum[i] / seen[i] : 0;
    }
    return values;
}

/// 0 to the 98th percentile, so that a few extremes do not hide the rest.
ColourSpan spanOf(std::vector<float> values, SplatMode mode)
{
    if (mode == SplatMode::Opacity || values.empty())
        return {0, 1};
    const auto at =
        values.begin() + static_cast<std::ptrdiff_t>(0.98 * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return {0, *at > 0 ? static_cast<double>(*at) : 1.0};
}

void colourBy(GaussianCloud& cloud, const std::vector<float>& values, const ColourSpan& span)
{
    cloud.degree = 0;
    cloud.shRest.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto colour = turbo(static_cast<float>(values[i] / span.high));
        for (std::size_t c = 0; c < 3; ++c)
            cloud.shDc[3 * i + c] = (colour[c] - 0.5F) / kShC0;
    }
}

void hideFaint(GaussianCloud& cloud, double cut)
{
    if (cut <= 0)
        return;
    for (float& logit : cloud.opacity) {
        if (static_cast<double>(opacityOf(logit)) < cut)
            logit = kHidden;
    }
}

void makeOpaque(GaussianCloud& cloud)
{
    for (float& logit : cloud.opacity) {
        if (logit > kHidden)
            logit = kOpaque;
    }
}

} // namespace

bool DisplaySettings::isPlain() const
{
    return opacityCut <= 0 && splatScale == 1 && !isPerGaussian(mode) &&
           mode != SplatMode::Centres && mode != SplatMode::Ellipsoids;
}

Gaussians displayed(Stream& stream, const Gaussians& gaussians, const DisplayValues& from,
                    const DisplaySettings& settings, double extent, ColourSpan* span)
{
    GaussianCloud cloud = download(stream, gaussians);
    if (isPerGaussian(settings.mode)) {
        const std::vector<float> values = scalarOf(stream, from, cloud, settings.mode);
        const ColourSpan used = spanOf(values, settings.mode);
        colourBy(cloud, values, used);
        if (span)
            *span = used;
    }
    hideFaint(cloud, settings.opacityCut);
    float grow = std::log(static_cast<float>(std::max(1e-3, settings.splatScale)));
    if (settings.mode == SplatMode::Ellipsoids) {
        makeOpaque(cloud);
        grow += std::log(kEllipsoid / kSolid);
    }
    for (float& scale : cloud.logScale)
        scale += grow;
    if (settings.mode == SplatMode::Centres) {
        makeOpaque(cloud);
        const auto dot = static_cast<float>(std::log(settings.dotSize * extent / 2));
        std::fill(cloud.logScale.begin(), cloud.logScale.end(), dot + grow);
        std::fill(cloud.filter.begin(), cloud.filter.end(), 0.0F);
    }
    return upload(stream, gaussians.device(), cloud, std::max<Index>(1, cloud.count()),
                  cloud.degree);
}

} // namespace vergence::sugar
