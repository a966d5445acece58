#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/spatial/neighbours.h"
#include "plugins/sugar/spatial/point_tree.h"

namespace vergence::sugar {

/// One Gaussian of the field: e(x) = opacity · exp(−|whitening · (x − position)|²/2).
struct DensityLobe {
    float position[3];
    float whitening[9]; ///< S⁻¹ Rᵀ, row-major
    float opacity;
    float smallest; ///< smallest standard deviation
};

struct DensitySample {
    double density = 0;
    std::array<double, 3> gradient{}; ///< ∂d/∂x
};

/// The density d(x) = Σ e over the neighbours of one Gaussian, on the host. Shapes are the
/// filtered ones where the Gaussians have a filter. Thread-safe after construction.
/// Source: SuGaR (2024), equation 3; formulas in density_field_math.h.
class DensityField {
public:
    /// Keeps copies of what it needs: 14 floats a Gaussian, the table and a tree of the centres.
    /// `neighbours`: of the positions of all `cloud.count()` Gaussians; k up to 32.
    DensityField(const GaussianCloud& cloud, NeighbourTable neighbours);
    ~DensityField();
    DensityField(DensityField&&) noexcept;
    DensityField& operator=(DensityField&&) noexcept;

    Index count() const { return static_cast<Index>(m_lobes.size()); }
    const DensityLobe& lobe(std::uint32_t i) const { return m_lobes[i]; }
    /// The Gaussians that are added up about Gaussian i.
    std::span<const std::uint32_t> around(std::uint32_t i) const;

    /// The Gaussian whose centre is nearest to x ([3], finite). There must be one.
    std::uint32_t nearest(const float* x) const;
    /// Of Gaussian `of` and its neighbours, the one whose centre is nearest to x ([3]).
    std::uint32_t nearestAround(std::uint32_t of, const double* x) const;

    /// Density of the neighbours of Gaussian `of` at x ([3]).
    double density(std::uint32_t of, const double* x) const;
    DensitySample sample(std::uint32_t of, const double* x) const;
    /// Standard deviation of Gaussian i along a unit direction: |s ∘ Rᵀ v|.
    double spreadAlong(std::uint32_t i, const double* direction) const;

private:
    std::vector<DensityLobe> m_lobes;
    NeighbourTable m_neighbours;
    std::vector<float> m_position; ///< [N, 3], what the tree refers to
    std::unique_ptr<PointTree<float>> m_tree;
};

} // namespace vergence::sugar
