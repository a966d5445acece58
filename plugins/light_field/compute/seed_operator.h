#pragma once

#include <vector>

#include "plugins/light_field/compute/linear_operator.h"
#include "plugins/light_field/compute/optics.h"

namespace vergence::light_field {

struct SeedOptics;
/// The same display for the float formulas of seed_math.h.
SeedOptics seedOpticsOf(const Optics& optics, double eyeFocalLength);

/// Counts that the geometry of the seed profile fixes.
struct SeedCounts {
    Index validRays = 0;             ///< over all planes
    std::vector<Index> raysPerPlane; ///< valid ones
    Index activeTexels = 0;          ///< distinct texels touched
    Index touchedMost = 0;           ///< rays on the texel touched most often
    Index litPixels = 0;             ///< pixels with at least one valid ray
};

/// A sparse matrix by rows on a device, see SparseView in seed_kernels.h.
struct SeedLists {
    Tensor start, index, weight;             ///< weight is empty where all entries are 1
    Tensor packStart, packIndex, packWeight; ///< the same in packs; empty but on the CPU

    std::size_t bytes() const;
};

/// Profile S: the seed's unit-vector optics traced once in float, kept as compact lists pixel →
/// texels and texel → pixels. Texels are renumbered in order of first touch; only those are
/// unknowns. One state. Float only.
class SeedOperator final : public LinearOperator {
public:
    SeedOperator(Stream& stream, std::shared_ptr<Device> device, Optics optics,
                 double eyeFocalLength, int raysPerPixel);
    ~SeedOperator() override;

    const Optics& optics() const { return m_optics; }
    const SeedCounts& counts() const { return m_counts; }

    Index unknowns() const override { return m_counts.activeTexels; }
    Index measurements() const override;
    int states() const override { return 1; }
    int resolution() const override { return m_optics.renderResolution; }
    int planes() const override { return m_optics.planes(); }
    int panelResolution() const override { return m_optics.panelResolution; }
    double raysPerPass() const override { return static_cast<double>(m_counts.validRays); }
    std::size_t bytes() const override;

    void forward(Stream& stream, const Tensor& x, Tensor& images) const override;
    ResidualSums residual(Stream& stream, const Tensor& x, const Tensor& target,
                          const Tensor& weights, Tensor& images, Tensor& residual,
                          RowSubset rows = {}) const override;
    UpdateSums adjointUpdate(Stream& stream, const Tensor& residual, int lanes,
                             const TexelUpdate& update, RowSubset rows = {}) const override;
    Tensor expandPlanes(Stream& stream, const Tensor& x, float fill) const override;
    Tensor gatherPlanes(Stream& stream, const Tensor& planes) const override;

private:
    Optics m_optics;
    SeedCounts m_counts;
    SeedLists m_rows;           ///< pixel → texels
    SeedLists m_columns;        ///< texel → pixels
    Tensor m_texelOf;           ///< [N] index of an unknown in the planes [K, R, R]
    Tensor m_sums, m_texelSums; ///< results of the passes, on the device
};

} // namespace vergence::light_field
