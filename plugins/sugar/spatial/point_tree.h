#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace vergence::sugar {

/// Finds the nearest of a set of points: a k-d tree with leaves of 16, built once. Queries may come
/// from several threads. `Real` is float or double; distances are double either way.
template <class Real>
class PointTree {
public:
    /// position: [N, 3] finite, at most 2^32 − 2 points, not copied: must stay while the tree is in
    /// use. Takes about 0.3 s for a million points.
    explicit PointTree(std::span<const Real> position);
    ~PointTree();
    PointTree(PointTree&&) noexcept;
    PointTree& operator=(PointTree&&) noexcept;

    std::size_t count() const;

    /// The `k` points nearest to `point` ([3] finite), nearest first, the smaller index first where
    /// distances are equal. Both spans have room for k. Returns how many there are: k, or all.
    std::size_t nearest(const Real* point, std::size_t k, std::span<std::uint32_t> indices,
                        std::span<double> squaredDistances) const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

extern template class PointTree<float>;
extern template class PointTree<double>;

} // namespace vergence::sugar
