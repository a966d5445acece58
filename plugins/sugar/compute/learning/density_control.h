#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "plugins/sugar/compute/rasteriser.h"

namespace vergence::sugar {

/// Everything that has one row per Gaussian, so that rows are copied, dropped and sorted together.
struct TrainedGaussians {
    Gaussians gaussians;
    GaussianArrays moment1, moment2;
    DensityStatistics statistics;

    Index count() const { return gaussians.count; }
    Index capacity() const { return gaussians.value.capacity(); }
};

/// Allocates moments and statistics (all 0) for Gaussians of the given capacity.
TrainedGaussians trained(Stream& stream, Gaussians gaussians,
                         MomentFormat format = MomentFormat::F32);

struct DensitySettings {
    /// Which statistic asks for more Gaussians: the plain one, the absolute one, or both: the plain
    /// one, and for splits also the absolute one above the quantile that selects as large a share
    /// (Gaussian Opacity Fields, 2024). Mcmc: relocate() instead.
    enum class Mode { Classic, Absolute, Mcmc, Combined };
    Mode mode = Mode::Classic;
    double gradient = 2e-4;         ///< of the plain statistic
    double absoluteGradient = 8e-4; ///< of the absolute one
    double percentDense = 0.01;     ///< of the extent: larger ones are split, smaller ones cloned
    double pruneOpacity = 0.005;
    double maxWorldScale = 0.1;  ///< of the extent; pruned above, once opacities were reset
    double maxScreenRadius = 20; ///< px; likewise
    bool revisedOpacity = false; ///< children of a split get 1 − sqrt(1 − o)
    Index cap = 6'000'000;       ///< never more Gaussians than this
    /// Where the cap is passed, more of the faint ones are pruned (up to an opacity of 0.08) before
    /// any Gaussian is kept from growing.
    bool bisectsCap = false;
};

struct DensityReport {
    Index cloned = 0, split = 0, pruned = 0, relocated = 0, born = 0;
    Index count = 0;         ///< afterwards
    double pruneOpacity = 0; ///< below which Gaussians were pruned
};

/// Clones, splits and prunes by the statistics, then sets them to 0. New rows and copies get zero
/// moments. Rows that stay keep their order; clones follow, then the halves of what was split, both
/// in the order of their parents. `afterReset`: also prunes what is too large in the world (split
/// ones: whose halves are) or on the screen (unless it is split). Under the cap the highest
/// statistics win, or faint Gaussians make room. Random numbers are functions of (seed, step, row).
/// Waits for the stream. Source: 3D Gaussian Splatting (2023), section 5; AbsGS (2024).
DensityReport densify(Stream& stream, TrainedGaussians& trained, const DensitySettings& settings,
                      double extent, bool afterReset, std::uint64_t seed, std::int64_t step);

/// Moves dead Gaussians onto living ones and adds 5 % up to the cap. Rows keep their places, births
/// come last. Waits for the stream.
/// Source: 3D Gaussian splatting as Markov chain Monte Carlo (2024), equations 9 and 10.
DensityReport relocate(Stream& stream, TrainedGaussians& trained, const DensitySettings& settings,
                       std::uint64_t seed, std::int64_t step);

/// Opacity and scale factor of each of n copies that stand in for one of opacity `o`.
struct RelocatedShape {
    double opacity = 0, scaleFactor = 1;
};
RelocatedShape relocatedShape(double opacity, int copies);

/// p += Σ η σ(−100 (o − 0.005)) · rate · 5e5, η normal, a function of (seed, step, row). Same
/// source, equation 8.
void addNoise(Stream& stream, Gaussians& gaussians, double positionRate, std::uint64_t seed,
              std::int64_t step);

/// o ← min(o, limit) (of the filtered opacity where there is a filter); the moments of all
/// opacities become 0.
void resetOpacity(Stream& stream, TrainedGaussians& trained, double limit = 0.01);

/// Drops rows with opacity below the limit (without a filter's share); returns how many. Waits for
/// the stream.
Index pruneByOpacity(Stream& stream, TrainedGaussians& trained, double opacity);

/// Sorts all rows along a Z-order curve of their positions.
void sortByPlace(Stream& stream, TrainedGaussians& trained);

/// Terms of the loss with relocation: weight · mean opacity and weight · mean standard deviation.
/// Same source, equation 11.
struct RegulariserWeights {
    double opacity = 0.01, scale = 0.01;
};
struct RegulariserValue {
    double opacity = 0, scale = 0;
};
/// Adds the derivatives to `gradients` (logits and logarithms of scales alone are touched) and
/// returns the terms. A weight of 0 leaves a term out. Waits for the stream.
RegulariserValue addRegularisers(Stream& stream, const Gaussians& gaussians,
                                 const RegulariserWeights& weights, GaussianArrays& gradients);

/// New arrays made of rows `source` of the old ones (copies allowed); moments and statistics of row
/// i are 0 where isNew[i]. Capacity grows by a quarter where it is too small, but past `cap` only
/// as far as it must; rows beyond the count become 0. Arrays are replaced one after another:
/// handles of old ones stay as they were. The building block of all above. Waits for the stream.
void rearrange(Stream& stream, TrainedGaussians& trained, const std::vector<std::uint32_t>& source,
               const std::vector<std::uint8_t>& isNew,
               Index cap = std::numeric_limits<Index>::max());

} // namespace vergence::sugar
