#pragma once

#include <vector>

#include "core/compute/tensor.h"

namespace vergence::mc_embedding {

/// Sums over passes of δ = e − shift in double, for every image and dimension of a chunk, in two
/// spaces: features as they are (pre) and divided by their norm (post). Passes are added one after
/// the other, so the sums do not depend on how many arrive at once. Specification, section 5.3.
class Moments {
public:
    /// shift: [B, D] F32, the deterministic features; the post space shifts by them normalised.
    Moments(Stream& stream, const Tensor& shift);

    void clear(Stream& stream);
    /// features [P, B, D] F32, rows of passes in ascending order.
    void add(Stream& stream, const Tensor& features);
    Index count() const { return m_count; } ///< passes since clear()

    /// What the host needs of one state: all F64.
    struct Snapshot {
        Index passes = 0, images = 0, dimensions = 0;
        std::vector<double> sum, squares;         ///< [B, D] of δ, pre
        std::vector<double> postSum, postSquares; ///< [B, D] of δ̂
        std::vector<double> shift, postShift;     ///< [B, D]

        /// (S2 − S1²/T)/(T − 1) at least 0; /T where biased.
        std::vector<double> variance(bool post, bool biased = false) const; ///< [B, D]
        std::vector<double> mean(bool post) const;                          ///< [B, D]
        /// (1/D) Σ_d variance, [B].
        std::vector<double> trace(bool post, bool biased = false) const;
    };
    Snapshot snapshot(Stream& stream) const;
    /// Puts a saved state back (for resuming within a chunk).
    void restore(Stream& stream, const Snapshot& saved);

private:
    Tensor m_shift, m_postShift; ///< [B, D] F64
    Tensor m_sums;               ///< [4, B, D] F64: S1, S2, post S1, post S2
    Index m_count = 0;
};

} // namespace vergence::mc_embedding
