#include "plugins/sugar/compute/learning/memory_forecast.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "plugins/sugar/compute/gaussians.h"

namespace vergence::sugar {

namespace {

constexpr double kFloat = 4;
constexpr double kValueAndMoments = 3 * kFloat, kCompactValueAndMoments = 3 * 2;
constexpr double kBaseNumbers = 14; ///< position, scale, rotation, opacity, dc
constexpr double kScreenGradients = 15 * kFloat;
constexpr double kProjectedRecord = 48 + 8 + 16 + 4; ///< record, bounds, depth sort, scan
constexpr double kPhotometricPixel = 71, kGeometryPixel = 32;
constexpr double kHostInstance = 4 + 4 + 8 + 16 * kFloat; ///< entry, slot, blocks, record
constexpr double kBandSums = 17 * kFloat; ///< per Gaussian: a record and whether seen
constexpr double kDeviceRuntime = 0.45e9;
constexpr Index kTile = 16, kMostShortKeys = 65'536;
constexpr Index kBandHaloRows = 2 * kTile; ///< 10 to each side are needed; tiles are whole

double real(Index value)
{
    return static_cast<double>(value);
}

double parameterBytes(const MemoryQuestion& q)
{
    const double rest = 3.0 * restCoefficients(q.degree);
    return kBaseNumbers * kValueAndMoments +
           rest * (q.compact ? kCompactValueAndMoments : kValueAndMoments);
}

bool hasBands(const MemoryQuestion& q)
{
    return q.bandRows > 0 && q.bandRows < q.height;
}

/// Rows that are held at once.
Index heldRows(const MemoryQuestion& q)
{
    return hasBands(q) ? std::min(q.height, q.bandRows + kBandHaloRows) : q.height;
}

double pixelBytes(const MemoryQuestion& q)
{
    return real(heldRows(q) * q.width) * (kPhotometricPixel + (q.geometry ? kGeometryPixel : 0));
}

/// Pairs of the rows that are held at once.
double heldInstances(const MemoryQuestion& q)
{
    return q.height == 0 ? 0 : real(q.instances) * real(heldRows(q)) / real(q.height);
}

double bandBytes(const MemoryQuestion& q)
{
    return hasBands(q) ? kBandSums * real(q.gaussians) : 0;
}

/// Keys and values of both buffers of the tile sort.
double instanceBytes(const MemoryQuestion& q, bool shortKeys)
{
    return heldInstances(q) * (shortKeys ? 12 : 16);
}

bool fitsShortKeys(const MemoryQuestion& q)
{
    return ((q.width + kTile - 1) / kTile) * ((q.height + kTile - 1) / kTile) <= kMostShortKeys;
}

/// Per 32 pairs the state of 256 pixels: transmittance and channels.
double bucketBytes(const MemoryQuestion& q)
{
    if (!q.bucketBackward)
        return 0;
    return heldInstances(q) * (q.geometry ? 256 : 128) / (q.compact ? 2 : 1);
}

double neighbourBytes(const MemoryQuestion& q)
{
    return real(q.gaussians * q.neighbours) * 4;
}

MemoryForecast forecast(std::vector<MemoryPart> parts)
{
    std::erase_if(parts, [](const MemoryPart& part) { return part.bytes == 0; });
    return {std::move(parts)};
}

void expectSizes(const MemoryQuestion& q)
{
    expects(q.gaussians >= 0 && q.width >= 0 && q.height >= 0 && q.instances >= 0 &&
                q.neighbours >= 0 && q.photographs >= 0,
            "memory forecast: sizes must not be negative");
    expects(q.degree >= 0 && q.degree <= 3, "memory forecast: the degree must be 0 to 3");
}

} // namespace

double MemoryForecast::total() const
{
    double sum = 0;
    for (const MemoryPart& part : parts)
        sum += part.bytes;
    return sum;
}

double MemoryForecast::bytesOf(const std::string& name) const
{
    const auto part = std::find_if(parts.begin(), parts.end(),
                                   [&](const MemoryPart& each) { return each.name == name; });
    return part == parts.end() ? 0 : part->bytes;
}

double bytesPerGaussian(const MemoryQuestion& q)
{
    const double gradients =
        q.separateGradients ? kFloat * (kBaseNumbers + 3.0 * restCoefficients(q.degree)) : 0;
    return parameterBytes(q) + kScreenGradients + kProjectedRecord + gradients;
}

Index expectedInstances(Index gaussians, Index width, Index height)
{
    constexpr double kSmallImage = 1920.0 * 1244, kLargeImage = 5187.0 * 3361;
    const double enlarged = std::max(1.0, real(width * height) / kSmallImage);
    const double crowd = std::clamp((real(gaussians) - 2e6) / 4e6, 0.0, 1.0);
    const double exponent = std::log((7 - 2 * crowd) / 2) / std::log(kLargeImage / kSmallImage);
    const double perGaussian = 2 * std::pow(enlarged, exponent);
    return std::llround(perGaussian * real(gaussians));
}

MemoryForecast deviceMemory(const MemoryQuestion& q)
{
    expectSizes(q);
    return forecast({{"Gaussians", bytesPerGaussian(q) * real(q.gaussians) * q.headroom},
                     {"Neighbours", neighbourBytes(q)},
                     {"Pixels", pixelBytes(q)},
                     {"Instances", instanceBytes(q, fitsShortKeys(q))},
                     {"Buckets", bucketBytes(q)},
                     {"Bands", bandBytes(q)},
                     {"Runtime", kDeviceRuntime}});
}

MemoryForecast hostMemory(const MemoryQuestion& q, bool trainsOnCpu)
{
    expectSizes(q);
    const double photographs = real(q.photographs * q.width * q.height) * 3;
    const double checkpoint = parameterBytes(q) * real(q.gaussians);
    if (!trainsOnCpu)
        return forecast(
            {{"Photographs", photographs}, {"Checkpoint", checkpoint}, {"Runtime", q.hostRuntime}});
    return forecast({{"Gaussians", bytesPerGaussian(q) * real(q.gaussians) * q.headroom},
                     {"Neighbours", neighbourBytes(q)},
                     {"Pixels", pixelBytes(q)},
                     {"Instances", kHostInstance * heldInstances(q)},
                     {"Bands", bandBytes(q)},
                     {"Photographs", photographs},
                     {"Checkpoint", checkpoint},
                     {"Runtime", q.hostRuntime}});
}

} // namespace vergence::sugar
