#include "plugins/sugar/surface/surface_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/sugar/surface/level_crossing.h"

namespace vergence::sugar {

namespace {

using Vector3 = std::array<double, 3>;

constexpr int kSamples = 21; ///< places along a ray
constexpr int kMiddle = (kSamples - 1) / 2;
constexpr double kSpread = 3; ///< standard deviations to each side
constexpr std::size_t kMostLevels = 8, kChunk = 512, kBatch = 16'384;

template <class T>
void appendAll(std::vector<T>& to, const std::vector<T>& from)
{
    to.insert(to.end(), from.begin(), from.end());
}

/// A pixel's ray about the densest place of its front Gaussian: x(t) = hit + t · step, with t from
/// −kMiddle to kMiddle.
struct Candidate {
    Vector3 hit{}, direction{}, step{};
    std::uint32_t front = 0;
    std::size_t pixel = 0;
};

Candidate candidateOf(const DensityField& field, const DepthView& view, const FrontHit& hit,
                      std::uint32_t pixel)
{
    const Camera& camera = view.camera;
    const auto width = static_cast<std::uint32_t>(camera.width);
    const Vector3 inCamera{(pixel % width + 0.5 - camera.cx) / camera.fx,
                           (pixel / width + 0.5 - camera.cy) / camera.fy, 1};
    const Vector3 centre = camera.centre();
    Candidate result;
    result.pixel = pixel;
    double squares = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t k = 0; k < 3; ++k)
            result.direction[i] += camera.rotation[3 * k + i] * inCamera[k];
        result.hit[i] = centre[i] + result.direction[i] * static_cast<double>(hit.depth);
        squares += result.direction[i] * result.direction[i];
    }
    for (double& value : result.direction)
        value /= std::sqrt(squares);
    result.front = hit.gaussian;
    const double reach =
        kSpread / kMiddle * field.spreadAlong(result.front, result.direction.data());
    for (std::size_t i = 0; i < 3; ++i)
        result.step[i] = reach * result.direction[i];
    return result;
}

Vector3 placeAt(const Candidate& candidate, double t)
{
    Vector3 place = candidate.hit;
    for (std::size_t i = 0; i < 3; ++i)
        place[i] += t * candidate.step[i];
    return place;
}

/// ln(density/level), which is nearly straight where the density falls off like a Gaussian.
double logExcess(double density, double level)
{
    return std::log(std::max(density, 1e-30) / level);
}

/// Where the density reaches `level` between t0 (where it is d0, below) and t1 (d1, not below).
double refined(const DensityField& field, const Candidate& candidate, double level, double t0,
               double d0, double t1, double d1)
{
    constexpr int kSteps = 2;
    double f0 = logExcess(d0, level), f1 = logExcess(d1, level);
    const auto crossing = [&] { return t0 - f0 * (t1 - t0) / (f1 - f0); };
    for (int i = 0; i < kSteps; ++i) {
        const double t = crossing();
        const double f =
            logExcess(field.density(candidate.front, placeAt(candidate, t).data()), level);
        (f < 0 ? t0 : t1) = t;
        (f < 0 ? f0 : f1) = f;
    }
    return f1 > f0 ? crossing() : t1;
}

/// A place on the ray and the density there, in the neighbourhood of the nearest Gaussian.
struct Crossing {
    Vector3 place;
    DensitySample sample;
    std::uint32_t nearest;
};

/// The crossing at t moved to where it is for the neighbours of the Gaussian nearest to it: far
/// from the middle of the front Gaussian, some of those are not among its own. By Newton's method,
/// at most one sample a step; none where that does not lead back to the level.
std::optional<Crossing> recentred(const DensityField& field, const Candidate& candidate,
                                  double level, double t)
{
    constexpr int kSteps = 3;
    constexpr double kClose = 0.05;
    Crossing crossing{placeAt(candidate, t), {}, candidate.front};
    crossing.nearest = field.nearestAround(candidate.front, crossing.place.data());
    crossing.sample = field.sample(crossing.nearest, crossing.place.data());
    for (int i = 0; i < kSteps && crossing.nearest != candidate.front; ++i) {
        double slope = 0;
        for (std::size_t k = 0; k < 3; ++k)
            slope += crossing.sample.gradient[k] * candidate.step[k];
        t -= std::clamp(logExcess(crossing.sample.density, level) * crossing.sample.density / slope,
                        -1.0, 1.0);
        crossing.place = placeAt(candidate, t);
        crossing.sample = field.sample(crossing.nearest, crossing.place.data());
    }
    const bool isClose = std::abs(crossing.sample.density - level) < kClose * level;
    return isClose ? std::optional(crossing) : std::nullopt;
}

/// The points of a run of pixels.
class Chunk {
public:
    Chunk(const DensityField& field, const DepthView& view, const FrontSplats& front,
          const SurfaceSettings& settings)
        : m_field(&field),
          m_view(&view),
          m_front(&front),
          m_settings(&settings)
    {
    }

    void add(std::uint32_t pixel);

    SurfacePoints points;
    SurfaceCounts counts;

private:
    const DensityField* m_field;
    const DepthView* m_view;
    const FrontSplats* m_front;
    const SurfaceSettings* m_settings;

    void addPoint(const Candidate& candidate, std::size_t level, double t);
};

void Chunk::add(std::uint32_t pixel)
{
    const std::optional<FrontHit> hit = m_front->at(pixel);
    if (!hit)
        return;
    const Candidate candidate = candidateOf(*m_field, *m_view, *hit, pixel);
    const DensityAlongRay density(*m_field, candidate.front, candidate.hit.data(),
                                  candidate.step.data());
    std::array<float, kSamples> sampled;
    int known = 0;
    const auto at = [&](int m) {
        for (; known <= m; ++known)
            sampled[static_cast<std::size_t>(known)] =
                density.at(static_cast<float>(known - kMiddle));
        return sampled[static_cast<std::size_t>(m)];
    };
    for (std::size_t level = 0; level < m_settings->levels.size(); ++level) {
        const float wanted = m_settings->levels[level];
        ++counts.candidates;
        if (at(0) >= wanted) {
            ++counts.inside;
            continue;
        }
        int m = 1;
        while (m < kSamples && !(at(m) >= wanted))
            ++m;
        if (m == kSamples) {
            ++counts.missed;
            continue;
        }
        addPoint(
            candidate, level,
            refined(*m_field, candidate, wanted, m - 1 - kMiddle, at(m - 1), m - kMiddle, at(m)));
    }
}

void Chunk::addPoint(const Candidate& candidate, std::size_t level, double t)
{
    std::optional<Crossing> crossing =
        recentred(*m_field, candidate, static_cast<double>(m_settings->levels[level]), t);
    if (!crossing) {
        ++counts.missed;
        return;
    }
    Vector3& place = crossing->place;
    const DensitySample& sample = crossing->sample;
    double squares = 0, facing = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        squares += sample.gradient[i] * sample.gradient[i];
        facing -= sample.gradient[i] * candidate.direction[i];
    }
    const double length = std::sqrt(squares);
    if (!(length > 0)) {
        ++counts.missed;
        return;
    }
    // Of a Gaussian profile, |∇d|/d is the height above the ridge over the variance.
    const double variance = std::pow(m_field->lobe(crossing->nearest).smallest, 2);
    const double toRidge = m_settings->centreBias ? variance * length / sample.density : 0;
    for (std::size_t i = 0; i < 3; ++i) {
        place[i] += toRidge * sample.gradient[i] / length;
        points.position.push_back(static_cast<float>(place[i]));
        points.normal.push_back(
            static_cast<float>((facing > 0 ? 1 : -1) * sample.gradient[i] / length));
        points.colour.push_back(m_view->colour[3 * candidate.pixel + i]);
    }
    points.level.push_back(static_cast<std::uint8_t>(level));
}

} // namespace

void SurfacePoints::append(const SurfacePoints& more)
{
    appendAll(position, more.position);
    appendAll(normal, more.normal);
    appendAll(colour, more.colour);
    appendAll(level, more.level);
}

SurfacePoints SurfacePoints::selected(const std::vector<std::uint8_t>& isKept) const
{
    expects(isKept.size() == level.size(), "SurfacePoints: one mark per point is needed");
    SurfacePoints result;
    for (std::size_t i = 0; i < level.size(); ++i) {
        if (isKept[i] == 0)
            continue;
        for (std::size_t k = 3 * i; k < 3 * i + 3; ++k) {
            result.position.push_back(position[k]);
            result.normal.push_back(normal[k]);
            result.colour.push_back(colour[k]);
        }
        result.level.push_back(level[i]);
    }
    return result;
}

SurfacePoints SurfacePoints::ofLevel(std::uint8_t index) const
{
    std::vector<std::uint8_t> isKept(level.size());
    std::transform(level.begin(), level.end(), isKept.begin(),
                   [&](std::uint8_t of) { return static_cast<std::uint8_t>(of == index); });
    return selected(isKept);
}

std::vector<std::uint32_t> drawnPixels(const DepthView& view, Index count, std::uint64_t seed,
                                       std::uint64_t stream)
{
    expects(count >= 0, "drawnPixels: the count must not be negative");
    struct Ticket {
        std::uint32_t number, pixel;
    };
    const Rng rng(seed, stream);
    std::vector<Ticket> tickets;
    for (std::uint32_t pixel = 0; pixel < view.depth.size(); ++pixel) {
        if (view.depth[pixel] > 0)
            tickets.push_back({rng.bits(pixel), pixel});
    }
    if (static_cast<std::size_t>(count) < tickets.size()) { // the lowest numbers win
        std::nth_element(tickets.begin(), tickets.begin() + count, tickets.end(),
                         [](const Ticket& a, const Ticket& b) {
                             return std::tie(a.number, a.pixel) < std::tie(b.number, b.pixel);
                         });
        tickets.resize(static_cast<std::size_t>(count));
    }
    std::vector<std::uint32_t> pixels;
    pixels.reserve(tickets.size());
    for (const Ticket& ticket : tickets)
        pixels.push_back(ticket.pixel);
    std::sort(pixels.begin(), pixels.end());
    return pixels;
}

SurfacePoints levelCrossings(const DensityField& field, const DepthView& view,
                             std::span<const std::uint32_t> pixels, const FrontSplats& front,
                             const SurfaceSettings& settings, SurfaceCounts& counts)
{
    expects(settings.levels.size() <= kMostLevels && view.colour.size() == 3 * view.depth.size(),
            "levelCrossings: at most 8 levels, and a view with colours");
    const std::size_t chunks = (pixels.size() + kChunk - 1) / kChunk;
    std::vector<Chunk> results(chunks, Chunk(field, view, front, settings));
    tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t chunk) {
        for (const std::uint32_t pixel :
             pixels.subspan(chunk * kChunk, std::min(kChunk, pixels.size() - chunk * kChunk)))
            results[chunk].add(pixel);
    });
    SurfacePoints all;
    for (const Chunk& result : results) {
        all.append(result.points);
        counts.candidates += result.counts.candidates;
        counts.inside += result.counts.inside;
        counts.missed += result.counts.missed;
    }
    return all;
}

SurfaceExtractor::SurfaceExtractor(Stream& stream, const Gaussians& gaussians,
                                   const RasterSettings& raster, NeighbourTable neighbours,
                                   SurfaceSettings settings, std::vector<Camera> cameras)
    : m_gaussians(&gaussians),
      m_raster(raster),
      m_settings(std::move(settings)),
      m_cameras(std::move(cameras)),
      m_cloud(downloadShapes(stream, gaussians)),
      m_field(m_cloud, std::move(neighbours)),
      m_renderer(gaussians.device(), raster, DepthKind::Expected)
{
    expects(gaussians.count > 0 && !m_cameras.empty(),
            "SurfaceExtractor: there must be a Gaussian and a camera");
    expects(m_settings.points > 0 && m_settings.scale > 0,
            "SurfaceExtractor: points and scale must be above 0");
    expects(!m_settings.levels.empty() && m_settings.levels.size() <= kMostLevels &&
                std::all_of(m_settings.levels.begin(), m_settings.levels.end(),
                            [](float level) { return level > 0; }),
            "SurfaceExtractor: there must be 1 to 8 levels above 0");
}

bool SurfaceExtractor::extract(Stream& stream, Index camera, SurfacePoints& append,
                               const std::function<bool()>& stop)
{
    expects(camera >= 0 && camera < cameras(), "SurfaceExtractor: no such camera");
    m_renderer.setStop(stop);
    const DepthView view = m_renderer.render(
        stream, *m_gaussians, m_cameras[static_cast<std::size_t>(camera)], m_settings.scale);
    if (stop && stop())
        return false;
    // The first cameras take one pixel more where the total cannot be shared evenly.
    const Index share =
        m_settings.points / cameras() + (camera < m_settings.points % cameras() ? 1 : 0);
    const std::vector<std::uint32_t> pixels =
        drawnPixels(view, share, m_settings.seed, static_cast<std::uint64_t>(camera));
    const FrontSplats front(m_cloud, view.camera, m_raster);
    SurfacePoints found;
    SurfaceCounts counts = m_counts;
    for (std::size_t first = 0; first < pixels.size(); first += kBatch) {
        if (stop && stop())
            return false;
        const std::size_t count = std::min(kBatch, pixels.size() - first);
        found.append(levelCrossings(m_field, view, std::span(pixels).subspan(first, count), front,
                                    m_settings, counts));
    }
    append.append(found);
    m_counts = counts;
    return true;
}

} // namespace vergence::sugar
