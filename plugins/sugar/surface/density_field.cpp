#include "plugins/sugar/surface/density_field.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "plugins/sugar/compute/alignment/density_field_math.h"

namespace vergence::sugar {

namespace {

constexpr double kFarthest = 1e8; ///< squared distance in standard deviations

DensityLobe lobeOf(const GaussianCloud& cloud, std::size_t i)
{
    const FieldGaussian<double> g = [&] {
        double position[3], logScale[3], rotation[4];
        std::copy_n(&cloud.position[3 * i], 3, position);
        std::copy_n(&cloud.logScale[3 * i], 3, logScale);
        std::copy_n(&cloud.rotation[4 * i], 4, rotation);
        const double filter = cloud.filter.empty() ? 0.0 : cloud.filter[i];
        return FieldGaussian<double>(position, logScale, rotation, cloud.opacity[i], filter);
    }();
    DensityLobe lobe{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        lobe.position[axis] = static_cast<float>(g.position[axis]);
        for (std::size_t row = 0; row < 3; ++row)
            lobe.whitening[3 * axis + row] =
                static_cast<float>(g.rotation[3 * row + axis] / g.scale[axis]);
    }
    lobe.opacity = static_cast<float>(g.opacity);
    lobe.smallest = static_cast<float>(g.smallest());
    return lobe;
}

/// y = S⁻¹ Rᵀ (x − p) and |y|².
struct Whitened {
    double y[3], squares = 0;

    Whitened(const DensityLobe& lobe, const double* x)
    {
        const double d[3] = {x[0] - static_cast<double>(lobe.position[0]),
                             x[1] - static_cast<double>(lobe.position[1]),
                             x[2] - static_cast<double>(lobe.position[2])};
        for (int axis = 0; axis < 3; ++axis) {
            const float* row = &lobe.whitening[3 * axis];
            y[axis] = row[0] * d[0] + row[1] * d[1] + row[2] * d[2];
            squares += y[axis] * y[axis];
        }
    }
    double weight(const DensityLobe& lobe) const
    {
        return squares < kFarthest ? lobe.opacity * std::exp(-0.5 * squares) : 0.0;
    }
};

} // namespace

DensityField::DensityField(const GaussianCloud& cloud, NeighbourTable neighbours)
    : m_neighbours(std::move(neighbours)),
      m_position(cloud.position)
{
    expects(m_neighbours.count == cloud.count() && m_neighbours.valid >= 1 &&
                m_neighbours.valid <= kMostFieldNeighbours,
            "DensityField: the neighbour table is not that of the Gaussians");
    m_lobes.reserve(static_cast<std::size_t>(cloud.count()));
    for (std::size_t i = 0; i < static_cast<std::size_t>(cloud.count()); ++i)
        m_lobes.push_back(lobeOf(cloud, i));
    m_tree = std::make_unique<PointTree<float>>(std::span<const float>(m_position));
}

DensityField::~DensityField() = default;
DensityField::DensityField(DensityField&&) noexcept = default;
DensityField& DensityField::operator=(DensityField&&) noexcept = default;

std::span<const std::uint32_t> DensityField::around(std::uint32_t i) const
{
    return m_neighbours.row(i).first(static_cast<std::size_t>(m_neighbours.valid));
}

std::uint32_t DensityField::nearest(const float* x) const
{
    std::array<std::uint32_t, 1> index{};
    std::array<double, 1> squared{};
    const std::size_t found = m_tree->nearest(x, 1, index, squared);
    expects(found == 1, "DensityField: there is no Gaussian");
    return index[0];
}

std::uint32_t DensityField::nearestAround(std::uint32_t of, const double* x) const
{
    std::uint32_t best = of;
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t i : around(of)) {
        double squares = 0;
        for (std::size_t k = 0; k < 3; ++k)
            squares += std::pow(x[k] - static_cast<double>(m_lobes[i].position[k]), 2);
        if (squares < least) {
            least = squares;
            best = i;
        }
    }
    return best;
}

double DensityField::density(std::uint32_t of, const double* x) const
{
    double sum = 0;
    for (const std::uint32_t i : around(of))
        sum += Whitened(m_lobes[i], x).weight(m_lobes[i]);
    return sum;
}

DensitySample DensityField::sample(std::uint32_t of, const double* x) const
{
    DensitySample result;
    for (const std::uint32_t i : around(of)) {
        const Whitened whitened(m_lobes[i], x);
        const double weight = whitened.weight(m_lobes[i]);
        result.density += weight;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            for (std::size_t row = 0; row < 3; ++row)
                result.gradient[row] -=
                    weight * whitened.y[axis] * m_lobes[i].whitening[3 * axis + row];
        }
    }
    return result;
}

double DensityField::spreadAlong(std::uint32_t i, const double* direction) const
{
    // Rows of the whitening are R's columns over s: |row| = 1/s, row · v = (Rᵀ v)/s.
    double squares = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const float* row = &m_lobes[i].whitening[3 * axis];
        const double inverse = row[0] * row[0] + row[1] * row[1] + row[2] * row[2];
        const double along =
            (row[0] * direction[0] + row[1] * direction[1] + row[2] * direction[2]) / inverse;
        squares += along * along;
    }
    return std::sqrt(squares);
}

} // namespace vergence::sugar
