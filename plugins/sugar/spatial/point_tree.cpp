#include "plugins/sugar/spatial/point_tree.h"

#include <limits>

#include <nanoflann.hpp>

#include "core/base/error.h"

namespace vergence::sugar {

namespace {

constexpr std::size_t kLeaf = 16;

/// What the search tree asks of its points.
template <class Real>
struct Positions {
    std::span<const Real> values;

    std::size_t kdtree_get_point_count() const { return values.size() / 3; }
    double kdtree_get_pt(std::size_t i, std::size_t axis) const
    {
        return static_cast<double>(values[3 * i + axis]);
    }
    template <class Box>
    bool kdtree_get_bbox(Box&) const
    {
        return false;
    }
};

/// The nearest points so far, in order of distance, then of index.
class Nearest {
public:
    using DistanceType = double;

    Nearest(std::span<std::uint32_t> indices, std::span<double> squaredDistances, std::size_t room)
        : m_indices(indices),
          m_distances(squaredDistances),
          m_room(room)
    {
    }

    std::size_t size() const { return m_count; }
    bool full() const { return m_count == m_room; }
    /// Slightly too far: points as far as the last one are looked at too, and so are cells whose
    /// distance, a sum of differences, came out too large by rounding.
    double worstDist() const
    {
        return full() ? m_distances[m_room - 1] * (1 + 1e-9) + std::numeric_limits<double>::min()
                      : std::numeric_limits<double>::max();
    }
    bool addPoint(double distance, std::size_t index)
    {
        const auto point = static_cast<std::uint32_t>(index);
        std::size_t at = m_count;
        while (at > 0 && isBefore(distance, point, at - 1))
            --at;
        if (at == m_room)
            return true;
        m_count += full() ? 0 : 1;
        for (std::size_t i = m_count - 1; i > at; --i) {
            m_distances[i] = m_distances[i - 1];
            m_indices[i] = m_indices[i - 1];
        }
        m_distances[at] = distance;
        m_indices[at] = point;
        return true;
    }
    void sort() const {} // they are in order

private:
    bool isBefore(double distance, std::uint32_t point, std::size_t at) const
    {
        return distance < m_distances[at] || (distance == m_distances[at] && point < m_indices[at]);
    }

    std::span<std::uint32_t> m_indices;
    std::span<double> m_distances;
    std::size_t m_room, m_count = 0;
};

} // namespace

template <class Real>
struct PointTree<Real>::Impl {
    using Metric = nanoflann::L2_Simple_Adaptor<Real, Positions<Real>, double>;
    using Tree = nanoflann::KDTreeSingleIndexAdaptor<Metric, Positions<Real>, 3>;

    Positions<Real> positions;
    std::unique_ptr<Tree> tree; ///< none without points
};

template <class Real>
PointTree<Real>::PointTree(std::span<const Real> position) : m_impl(std::make_unique<Impl>())
{
    expects(position.size() % 3 == 0, "PointTree: positions must be [N, 3]");
    expects(position.size() / 3 < std::numeric_limits<std::uint32_t>::max(),
            "PointTree: more than 2^32 - 2 points");
    Real sum = 0; // becomes NaN with the first number that is not finite
    for (const Real value : position)
        sum += value * Real(0);
    expects(sum == Real(0), "PointTree: a position is not finite");
    m_impl->positions.values = position;
    if (!position.empty())
        m_impl->tree = std::make_unique<typename Impl::Tree>(
            3, m_impl->positions, nanoflann::KDTreeSingleIndexAdaptorParams(kLeaf));
}

template <class Real>
PointTree<Real>::~PointTree() = default;
template <class Real>
PointTree<Real>::PointTree(PointTree&&) noexcept = default;
template <class Real>
PointTree<Real>& PointTree<Real>::operator=(PointTree&&) noexcept = default;

template <class Real>
std::size_t PointTree<Real>::count() const
{
    return m_impl->positions.kdtree_get_point_count();
}

template <class Real>
std::size_t PointTree<Real>::nearest(const Real* point, std::size_t k,
                                     std::span<std::uint32_t> indices,
                                     std::span<double> squaredDistances) const
{
    if (!m_impl->tree || k == 0)
        return 0;
    Nearest found(indices, squaredDistances, k);
    m_impl->tree->findNeighbors(found, point, {});
    return found.size();
}

template class PointTree<float>;
template class PointTree<double>;

} // namespace vergence::sugar
