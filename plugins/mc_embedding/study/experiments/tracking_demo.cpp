#include "plugins/mc_embedding/study/experiments/tracking_demo.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "plugins/mc_embedding/io/image_random.h"

namespace vergence::mc_embedding {

namespace {

constexpr std::uint32_t kOwner = 0x54524143; // apart from the draws of images
constexpr double kStride = 0.05, kNoise = 0.15;
constexpr double kChange = 8; // of the appearance, in deviations of a pass

struct Place {
    double x = 0, y = 0;
};

double cosine(std::span<const double> a, std::span<const double> b)
{
    double product = 0, aa = 0, bb = 0;
    for (std::size_t d = 0; d < a.size(); ++d) {
        product += a[d] * b[d];
        aa += a[d] * a[d];
        bb += b[d] * b[d];
    }
    return aa > 0 && bb > 0 ? product / std::sqrt(aa * bb) : 0;
}

Place moved(Place place, double reach, Draws& draws)
{
    place.x = std::clamp(place.x + reach * (draws.uniform() - 0.5), 0.0, 1.0);
    place.y = std::clamp(place.y + reach * (draws.uniform() - 0.5), 0.0, 1.0);
    return place;
}

} // namespace

std::vector<TrackingFrame> demoTrackingFrames(std::span<const PassCloud> clouds,
                                              std::span<const double> uncertainty,
                                              std::span<const double> laplace, std::size_t frames,
                                              std::uint64_t seed)
{
    const std::size_t count = clouds.size();
    expects(uncertainty.size() == count && (laplace.empty() || laplace.size() == count),
            "demoTrackingFrames: an uncertainty per image");
    Draws draws(seed, Purpose::Sampling, kOwner);
    std::vector<Place> tracks(count);
    for (Place& place : tracks)
        place = {draws.uniform(), draws.uniform()};
    std::vector<TrackingFrame> result;
    for (std::size_t f = 0; f < frames; ++f) {
        TrackingFrame frame;
        frame.motion = frame.appearance = Matrix(count, count);
        frame.uncertainty.assign(uncertainty.begin(), uncertainty.end());
        frame.laplace.assign(laplace.begin(), laplace.end());
        std::vector<Place> seen;
        for (std::size_t i = 0; i < count; ++i) {
            frame.tracks.push_back(static_cast<int>(i));
            frame.truth.push_back(static_cast<int>(i));
            tracks[i] = moved(tracks[i], kStride, draws);
            seen.push_back(moved(tracks[i], kNoise, draws));
        }
        for (std::size_t j = 0; j < count; ++j) {
            const Matrix& passes = clouds[j].passes;
            const std::size_t row = f % passes.rows;
            std::vector<double> look = clouds[j].deterministic;
            for (std::size_t d = 0; d < look.size(); ++d)
                look[d] += kChange * (passes(row, d) - look[d]);
            for (std::size_t i = 0; i < count; ++i) {
                frame.motion(i, j) = std::hypot(tracks[i].x - seen[j].x, tracks[i].y - seen[j].y);
                frame.appearance(i, j) = 1 - cosine(clouds[i].deterministic, look);
            }
        }
        result.push_back(std::move(frame));
    }
    return result;
}

} // namespace vergence::mc_embedding
