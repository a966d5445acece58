#include "plugins/light_field/compute/eye.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/base/error.h"
#include "plugins/light_field/compute/optics.h"
#include "plugins/light_field/compute/optics_math.h"

namespace vergence::light_field {

namespace {

std::vector<double> accommodations(const EyeStateSettings& settings)
{
    const int count = settings.accommodationCount;
    expects(count >= 1 && settings.eyeCount >= 1, "eye states: counts must be at least 1");
    if (count == 1)
        return {(settings.accommodationNear + settings.accommodationFar) / 2};
    std::vector<double> values;
    for (int i = 0; i < count; ++i) {
        values.push_back(settings.accommodationNear +
                         (settings.accommodationFar - settings.accommodationNear) * i /
                             (count - 1));
    }
    return values;
}

double fraction(double value)
{
    return value - std::floor(value);
}

void subtractMean(std::vector<RaySample>& samples, double RaySample::*member)
{
    double mean = 0;
    for (const RaySample& sample : samples)
        mean += sample.*member;
    mean /= static_cast<double>(samples.size());
    for (RaySample& sample : samples)
        sample.*member -= mean;
}

} // namespace

std::vector<EyeState> trainingStates(const EyeStateSettings& settings)
{
    const std::vector<double> focus = accommodations(settings);
    std::vector<EyeState> states;
    for (int eye = 0; eye < settings.eyeCount; ++eye) {
        const double angle =
            eye == 0 ? 0 : 2 * std::numbers::pi * (eye - 1) / (settings.eyeCount - 1);
        const double radius = eye == 0 ? 0 : settings.eyeboxRadius;
        for (const double accommodation : focus)
            states.push_back({radius * std::cos(angle), radius * std::sin(angle), accommodation});
    }
    return states;
}

std::vector<EyeState> heldOutStates(const EyeStateSettings& settings)
{
    const std::vector<double> focus = accommodations(settings);
    const double shift = settings.eyeCount > 1 ? 0.3536 * settings.eyeboxRadius : 0.0;
    if (focus.size() == 1)
        return {{shift, shift, focus.front()}};
    std::vector<EyeState> states;
    for (std::size_t i = 0; i + 1 < focus.size(); ++i)
        states.push_back({shift, shift, (focus[i] + focus[i + 1]) / 2});
    return states;
}

std::vector<RaySample> samplePattern(int raysPerPixel, double pupilDiameter)
{
    expects(raysPerPixel >= 1, "samplePattern: at least one ray per pixel is needed");
    std::vector<RaySample> samples(static_cast<std::size_t>(raysPerPixel));
    if (raysPerPixel == 1)
        return samples;
    const double pupilRadius = pupilDiameter / 2;
    const double goldenAngle = std::numbers::pi * (3 - std::sqrt(5.0));
    for (int m = 0; m < raysPerPixel; ++m) {
        const double radius = pupilRadius * std::sqrt((m + 0.5) / raysPerPixel);
        RaySample& sample = samples[static_cast<std::size_t>(m)];
        sample.pupilX = radius * std::cos(m * goldenAngle);
        sample.pupilY = radius * std::sin(m * goldenAngle);
        sample.jitterX = fraction(0.5 + m * 0.7548776662466927) - 0.5;
        sample.jitterY = fraction(0.5 + m * 0.5698402909980532) - 0.5;
    }
    for (const auto member :
         {&RaySample::pupilX, &RaySample::pupilY, &RaySample::jitterX, &RaySample::jitterY})
        subtractMean(samples, member);
    double farthest = 0;
    for (const RaySample& sample : samples)
        farthest = std::max(farthest, std::hypot(sample.pupilX, sample.pupilY));
    if (farthest > pupilRadius) {
        for (RaySample& sample : samples) {
            sample.pupilX *= pupilRadius / farthest;
            sample.pupilY *= pupilRadius / farthest;
        }
    }
    return samples;
}

std::vector<RaySample> seedSamplePattern(int raysPerPixel, double pupilDiameter)
{
    expects(raysPerPixel >= 1, "seedSamplePattern: at least one ray per pixel is needed");
    std::vector<RaySample> samples(static_cast<std::size_t>(raysPerPixel));
    if (raysPerPixel == 1)
        return samples;
    const double pupilRadius = pupilDiameter / 2;
    for (int m = 0; m < raysPerPixel; ++m) {
        const double angle = 2 * std::numbers::pi * m / raysPerPixel;
        const double radius = pupilRadius * std::sqrt(0.1 + 0.9 * m / (raysPerPixel - 1));
        const auto x = static_cast<float>(radius * std::cos(angle));
        const auto y = static_cast<float>(radius * std::sin(angle));
        const bool inside = std::sqrt(x * x + y * y) <= static_cast<float>(pupilRadius);
        RaySample& sample = samples[static_cast<std::size_t>(m)];
        sample.pupilX = inside ? x : std::numeric_limits<double>::quiet_NaN();
        sample.pupilY = inside ? y : std::numeric_limits<double>::quiet_NaN();
    }
    return samples;
}

double pixelSlopeX(const Optics& optics, double column)
{
    return pixelSlope(optics.slopeExtent(), optics.renderResolution, column, 0);
}

double pixelSlopeY(const Optics& optics, double row)
{
    return -pixelSlope(optics.slopeExtent(), optics.renderResolution, row, 0);
}

} // namespace vergence::light_field
