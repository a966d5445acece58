#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/compute/tensor.h"
#include "plugins/light_field/compute/update_math.h"

namespace vergence::light_field {

/// Sums over one residual pass, per lane.
struct ResidualSums {
    std::vector<double> squared;  ///< Σ (A x − y)², unweighted
    std::vector<double> weighted; ///< Σ ω (A x − y)²
};

/// Sums over one update pass.
struct UpdateSums {
    std::vector<double> restart;  ///< per lane ⟨z − x⁺, x⁺ − x⟩
    double gradientSquared = 0;   ///< Σ g² over reachable texels
    double atZero = 0, atOne = 0; ///< number of reachable texel values at the bounds
};

/// Brings sums of an update, a TexelSums in `texelSums`, to the host.
UpdateSums toUpdateSums(Stream& stream, const Tensor& texelSums, int lanes);

/// Rows that take part: row i of state σ where (i + σ) mod count = index. The default is all rows.
struct RowSubset {
    int count = 1;
    int index = 0;
};

/// The retinal images as a linear function of the panel texels: constant, sparse, non-negative.
/// Unknowns are [N, L], images [V, L] with L = 1, 4 or 16 lanes (channels or boards) that share all
/// geometry. All functions overwrite their outputs and give the same bytes for any number of
/// threads and any tile size. Not thread-safe: one stream at a time.
class LinearOperator {
public:
    virtual ~LinearOperator();

    virtual Index unknowns() const = 0;     ///< N: texels (profile P) or touched texels (profile S)
    virtual Index measurements() const = 0; ///< V: states × W × W
    virtual int states() const = 0;
    virtual int resolution() const = 0;      ///< W
    virtual int planes() const = 0;          ///< K
    virtual int panelResolution() const = 0; ///< R
    virtual double raysPerPass() const = 0;  ///< rays of one forward pass, for throughput figures
    virtual std::size_t bytes() const = 0;   ///< memory of the tables or index lists

    /// images = A x.
    virtual void forward(Stream& stream, const Tensor& x, Tensor& images) const = 0;

    /// images = A x; residual = ω (A x − y). `weights` is ω [V] or empty for 1. Rows outside `rows`
    /// keep a residual of 0.
    virtual ResidualSums residual(Stream& stream, const Tensor& x, const Tensor& target,
                                  const Tensor& weights, Tensor& images, Tensor& residual,
                                  RowSubset rows = {}) const = 0;

    /// Forms the gradient g = Aᵀ residual texel by texel and applies `update` to each, so that g
    /// need not be stored.
    virtual UpdateSums adjointUpdate(Stream& stream, const Tensor& residual, int lanes,
                                     const TexelUpdate& update, RowSubset rows = {}) const = 0;

    /// gradient = Aᵀ residual.
    void adjoint(Stream& stream, const Tensor& residual, Tensor& gradient,
                 RowSubset rows = {}) const;

    /// r = A·1 as [V]: the brightness seen with all texels at 1.
    Tensor rowSums(Stream& stream) const;
    /// c = Aᵀ·1 as [N]: how strongly a texel is seen; 0 = no ray reaches it.
    Tensor columnSums(Stream& stream, RowSubset rows = {}) const;
    /// d = AᵀΩ(A·1) as [N], a diagonal that majorises AᵀΩA. `weights` as in residual().
    Tensor majoriser(Stream& stream, const Tensor& weights) const;

    /// Unknowns [N, L] as full planes [K, R, R, L]; texels that are no unknowns get `fill`.
    virtual Tensor expandPlanes(Stream& stream, const Tensor& x, float fill) const = 0;
    /// Planes [K, R, R, L] to unknowns [N, L].
    virtual Tensor gatherPlanes(Stream& stream, const Tensor& planes) const = 0;

    /// Element type of unknowns and images: F32, or F64 for proofs.
    virtual DType elementType() const { return DType::F32; }
    const std::shared_ptr<Device>& device() const { return m_device; }
    /// Rays one scheduled piece of work covers at least; never changes a result.
    int tileRays() const { return m_tileRays; }
    void setTileRays(int rays);

protected:
    explicit LinearOperator(std::shared_ptr<Device> device) : m_device(std::move(device)) {}

    /// A tensor [count] of the operator's element type.
    Tensor filled(Stream& stream, Index count, double value) const;

    std::shared_ptr<Device> m_device;
    int m_tileRays = 8192;
};

} // namespace vergence::light_field
