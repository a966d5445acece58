#include "plugins/sugar/compute/learning/memory_forecast.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/error.h"
#include "plugins/sugar/compute/alignment/sample_kernels.h"
#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/compute/raster_kernels.h"

namespace vergence::sugar {

namespace {

constexpr double kFloat = 4;
constexpr double kMoments = 2 * kFloat;
constexpr double kCompactMoments = 2 + 2, kCompactRestMoments = 2 + 1; ///< see MomentFormat
constexpr double kBaseNumbers = 14;       ///< position, scale, rotation, opacity, dc
constexpr double kBandSums = 17 * kFloat; ///< per Gaussian: a record and whether seen
constexpr double kDeviceRuntime = 0.45e9;
/// Splats that reach a pixel with an alpha that counts, seen or hidden, as measured by the pairs
/// that pictures made: 21 where the built-in scene is trained, 41 for 50 photographs of a fox, 46
/// to 67 for splats as they are started from points.
constexpr double kCoverings = 45;
constexpr Index kBandHaloRows = 2 * kTile; ///< 10 to each side are needed; tiles are whole

// The GPU's, bytes.
/// Splat, box; key, count, slot and place in the order; four more to sort by; flag.
constexpr double kDeviceProjection = sizeof(Splat) + sizeof(TileBox) + 4 * 4 + 4 * 4 + 1;
/// Gaussian, slot and record of gradients of a pair. Lists grow to a quarter more than is asked.
constexpr double kPair = 4 + 4 + sizeof(SplatRecord), kPairRoom = 1.25;
/// What a pair is sorted by and with, before and after; in what CUB works.
constexpr double kPairSort = 2 * (4 + 8), kPairSortScratch = 4 + 8;
constexpr double kTestPair = 4 * kPairRoom + 2 * 4 + 4; ///< without slots; before and after
constexpr double kDepthSortScratch = 4 + 4;             ///< per Gaussian
/// Colour, transmittance, contributors, last one; gradient of colour; derivatives of SSIM.
constexpr double kDevicePixel = 5 * kFloat + 4 + 3 * kFloat + 9 * kFloat;
/// Without last one and gradient.
constexpr double kTestPixel = 4 * kFloat + 4 + 9 * kFloat;
/// The mean share of a block that the pool's size classes add; at most an eighth.
constexpr double kPoolRoom = 1.05;

// Of both.
constexpr double kFilter = kFloat, kStatistics = 4 * kFloat;
constexpr double kShapeGradients = 11 * kFloat; ///< of terms, without harmonics
/// Depth and normal; their gradients and that of coverage; scratch of the term.
constexpr double kPixelGeometry = 4 * kFloat + 5 * kFloat + 11 * kFloat;
/// The sample and its two values.
constexpr double kSample = sizeof(FieldSample) + 2 * kFloat;
constexpr double kSearched = 3 * kFloat; ///< place where neighbours were last searched

// The CPU's, bytes.
/// Splat, box, mask of tiles, flag; key, count, slot and place in the order; four more to sort by.
constexpr double kProjection = sizeof(Splat) + sizeof(TileBox) + 8 + 1 + 4 * 4 + 4 * 4;
constexpr double kListEntry = 4;
/// Slot, blocks of pixels that it reached, record of gradients.
constexpr double kListEntryBackward = 4 + 8 + sizeof(SplatRecord);
/// Lists have a quarter more room than they needed when they last grew.
constexpr double kListRoom = 1.125;
/// Colour, transmittance, contributors.
constexpr double kHostPixel = 3 * kFloat + kFloat + 4;
/// Last contributor and gradient of colour.
constexpr double kHostPixelBackward = 4 + 3 * kFloat;
constexpr double kSamplePlace = 3 * 4; ///< in its group
/// A neighbour's gradient, its owner and its place in the owner's group.
constexpr double kSampleNeighbour = kRecordNumbers * kFloat + 2 * 4;
constexpr double kGroups = 2 * 4; ///< of samples, per Gaussian

double real(Index value)
{
    return static_cast<double>(value);
}

/// Gaussians, of the rows there are for them.
double inUse(const MemoryQuestion& q)
{
    return real(q.kept > 0 ? q.kept : q.gaussians);
}

/// Parameters of a Gaussian.
double numbersOf(const MemoryQuestion& q)
{
    return kBaseNumbers + 3.0 * restCoefficients(q.degree);
}

double parameterBytes(const MemoryQuestion& q)
{
    const double rest = 3.0 * restCoefficients(q.degree);
    return kFloat * numbersOf(q) + kBaseNumbers * (q.compactMoments ? kCompactMoments : kMoments) +
           rest * (q.compactMoments ? kCompactRestMoments : kMoments);
}

/// What a Gaussian has on any device: values, moments, filter, statistics, gradients of terms.
double learntBytes(const MemoryQuestion& q)
{
    return parameterBytes(q) + (q.filter ? kFilter : 0) + kStatistics +
           (q.separateGradients ? kShapeGradients : 0);
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

double heldPixels(const MemoryQuestion& q)
{
    return real(heldRows(q) * q.width);
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

/// Lists of pairs, and what their sort and that by depth work in.
double devicePairBytes(const MemoryQuestion& q)
{
    const double pairs = heldInstances(q);
    return kPair * kPairRoom * pairs +
           std::max(kPairSortScratch * pairs, kDepthSortScratch * real(q.gaussians));
}

/// A second rasteriser, of pictures with depth and normals at half the size.
double halfGeometryBytes(const MemoryQuestion& q)
{
    if (!q.halfGeometry)
        return 0;
    const double pixels = real(q.width / 2 * (q.height / 2));
    const Index pairs =
        std::min(q.instances, expectedInstances(q.gaussians, q.width / 2, q.height / 2));
    return kDeviceProjection * real(q.gaussians) + kPair * kPairRoom * real(pairs) +
           (5 * kFloat + 4 + kPixelGeometry) * pixels;
}

/// What comes and goes beside the learner on a GPU: pairs while they are sorted, the largest group
/// of numbers while rows are rearranged, or the rasteriser of a test, of a whole picture.
double devicePassingBytes(const MemoryQuestion& q)
{
    const double count = real(q.gaussians), pixels = real(q.width * q.height);
    const double largestGroup = kFloat * std::max(4.0, 3.0 * restCoefficients(q.degree));
    constexpr double kRow = 4 + 1; // where it comes from, whether it is new
    const double sort = kPairSort * heldInstances(q) + 4 * count;
    const double rearranged = q.rearranges ? (largestGroup + kRow) * count : 0;
    const double test = q.tests ? (kDeviceProjection + 4) * count + kTestPair * real(q.instances) +
                                      kTestPixel * pixels
                                : 0;
    return std::max({sort, rearranged, test});
}

/// Neighbours, and where they were searched.
double neighbourBytes(const MemoryQuestion& q)
{
    return q.neighbours == 0 ? 0 : inUse(q) * (real(q.neighbours) * 4 + kSearched);
}

/// Each parent of samples has a record for each of its neighbours. Of N Gaussians, S draws hit
/// N (1 − exp(−S/N)).
double sampleBytes(const MemoryQuestion& q)
{
    if (q.samples == 0 || q.gaussians == 0)
        return 0;
    const double count = inUse(q);
    const double parents = count * -std::expm1(-real(q.samples) / count);
    return real(q.samples) * (kSample + kSamplePlace) +
           parents * real(q.neighbours) * kSampleNeighbour + count * kGroups;
}

/// A Gaussian as files hold it.
double cloudBytes(const MemoryQuestion& q)
{
    return numbersOf(q) * kFloat + (q.filter ? kFilter : 0);
}

/// What comes and goes beside the learner: the copy of a checkpoint, with its largest group once
/// more on the way; the three of a result (kept, moved back and written); or the rasteriser of a
/// test, of a whole picture.
double passingBytes(const MemoryQuestion& q)
{
    const double largestGroup = kFloat * std::max(4.0, 3.0 * restCoefficients(q.degree));
    const double checkpoint =
        parameterBytes(q) + (q.filter ? kFilter : 0) + kStatistics + largestGroup;
    const double test = kProjection * real(q.gaussians) + kListEntry * real(q.instances) +
                        kHostPixel * real(q.width * q.height);
    return std::max(std::max(checkpoint, 3 * cloudBytes(q)) * inUse(q), test);
}

MemoryForecast forecast(std::vector<MemoryPart> parts)
{
    std::erase_if(parts, [](const MemoryPart& part) { return part.bytes == 0; });
    return {std::move(parts)};
}

void expectSizes(const MemoryQuestion& q)
{
    expects(q.gaussians >= 0 && q.width >= 0 && q.height >= 0 && q.instances >= 0 &&
                q.neighbours >= 0 && q.photographs >= 0 && q.samples >= 0,
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
    return learntBytes(q) + kDeviceProjection;
}

double hostBytesPerGaussian(const MemoryQuestion& q)
{
    return learntBytes(q) + kProjection;
}

double projectedBytes()
{
    return kProjection;
}

Index expectedInstances(Index gaussians, Index width, Index height)
{
    constexpr double kSmallImage = 1920.0 * 1244, kLargeImage = 5187.0 * 3361;
    const double enlarged = std::max(1.0, real(width * height) / kSmallImage);
    const double crowd = std::clamp((real(gaussians) - 2e6) / 4e6, 0.0, 1.0);
    const double exponent = std::log((7 - 2 * crowd) / 2) / std::log(kLargeImage / kSmallImage);
    const double assumed = 2 * std::pow(enlarged, exponent) * real(gaussians);
    // Over all splats: Σ 1 + (4/16) Σ r + Σ πr²/256, with πr² the covered area of each.
    const double area = kCoverings * real(width * height);
    const double met = real(gaussians) +
                       4.0 / kTile * std::sqrt(area * real(gaussians) / std::numbers::pi) +
                       area / (kTile * kTile);
    return std::llround(std::max(assumed, met));
}

MemoryForecast deviceMemory(const MemoryQuestion& q)
{
    expectSizes(q);
    const double pixel = kDevicePixel + (q.geometry && !q.halfGeometry ? kPixelGeometry : 0);
    MemoryForecast all = forecast({{"Gaussians", bytesPerGaussian(q) * real(q.gaussians)},
                                   {"Neighbours", neighbourBytes(q)},
                                   {"Pixels", pixel * heldPixels(q)},
                                   {"Instances", devicePairBytes(q)},
                                   {"Bands", bandBytes(q)},
                                   {"Half size", halfGeometryBytes(q)},
                                   {"Samples", kSample * real(q.samples)},
                                   {"Photographs", q.residentPhotographs},
                                   {"Passing", devicePassingBytes(q)}});
    for (MemoryPart& part : all.parts)
        part.bytes *= kPoolRoom;
    all.parts.push_back({"Runtime", kDeviceRuntime});
    return all;
}

MemoryForecast learnerMemory(const MemoryQuestion& q)
{
    expectSizes(q);
    const double pixel = kHostPixel + kHostPixelBackward + (q.geometry ? kPixelGeometry : 0);
    return forecast(
        {{"Gaussians", hostBytesPerGaussian(q) * real(q.gaussians)},
         {"Neighbours", neighbourBytes(q)},
         {"Pixels", pixel * heldPixels(q)},
         {"Instances", (kListEntry + kListEntryBackward) * kListRoom * heldInstances(q)},
         {"Bands", bandBytes(q)},
         {"Samples", sampleBytes(q)}});
}

MemoryForecast hostMemory(const MemoryQuestion& q, bool trainsOnCpu)
{
    expectSizes(q);
    MemoryForecast all = trainsOnCpu ? learnerMemory(q) : MemoryForecast{};
    const double earlier = trainsOnCpu && q.keepsEarlier ? cloudBytes(q) * real(q.gaussians) : 0;
    for (MemoryPart& part : forecast({{"Earlier Gaussians", earlier},
                                      {"Photographs", q.photographs},
                                      {"Checkpoint", passingBytes(q)},
                                      {"Runtime", q.hostRuntime}})
                                .parts)
        all.parts.push_back(std::move(part));
    return all;
}

} // namespace vergence::sugar
