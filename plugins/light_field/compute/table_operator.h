#pragma once

#include <span>
#include <vector>

#include "plugins/light_field/compute/eye.h"
#include "plugins/light_field/compute/linear_operator.h"
#include "plugins/light_field/compute/optics.h"

namespace vergence::light_field {

struct OperatorTables;
struct LaneScene;

/// Profile P: the operator as separable tables per axis (state, plane, sample), computed in double
/// and kept in the element type of the unknowns. F32 runs the tuned drivers; F64 (1 lane or more)
/// runs the plain ones and is meant for proofs.
class TableOperator final : public LinearOperator {
public:
    TableOperator(Stream& stream, std::shared_ptr<Device> device, Optics optics,
                  std::vector<EyeState> states, int raysPerPixel, DType type = DType::F32);
    ~TableOperator() override;

    const Optics& optics() const { return m_optics; }
    const std::vector<EyeState>& eyeStates() const { return m_states; }
    int raysPerPixel() const { return m_raysPerPixel; }

    /// Rebuilds the tables for other eye states of the same number; takes a few milliseconds.
    void setEyeStates(Stream& stream, std::vector<EyeState> states);
    /// Chooses the plain drivers, which the tuned ones are tested against.
    void usePlainDrivers(bool plain);

    DType elementType() const override { return m_type; }
    Index unknowns() const override;
    Index measurements() const override;
    int states() const override { return static_cast<int>(m_states.size()); }
    int resolution() const override { return m_optics.renderResolution; }
    int planes() const override { return m_optics.planes(); }
    int panelResolution() const override { return m_optics.panelResolution; }
    double raysPerPass() const override;
    std::size_t bytes() const override;

    void forward(Stream& stream, const Tensor& x, Tensor& images) const override;
    /// As forward() for the planes first … first + count − 1 only.
    void forwardPlanes(Stream& stream, const Tensor& x, int first, int count, Tensor& images) const;
    ResidualSums residual(Stream& stream, const Tensor& x, const Tensor& target,
                          const Tensor& weights, Tensor& images, Tensor& residual,
                          RowSubset rows = {}) const override;
    UpdateSums adjointUpdate(Stream& stream, const Tensor& residual, int lanes,
                             const TexelUpdate& update, RowSubset rows = {}) const override;
    Tensor expandPlanes(Stream& stream, const Tensor& x, float fill) const override;
    Tensor gatherPlanes(Stream& stream, const Tensor& planes) const override;

    OperatorTables& tables() const { return *m_tables; }

private:
    void build(Stream& stream);

    Optics m_optics;
    std::vector<EyeState> m_states;
    int m_raysPerPixel;
    DType m_type;
    bool m_plain = false;
    std::unique_ptr<OperatorTables> m_tables;
};

/// The analytic competitor: colour and depth along every ray of the operator, blended linearly in
/// vergence between the two neighbouring planes, splatted and normalised; no optimisation. Scenes
/// fill consecutive lanes as in renderTargets(). Returns [K, R, R, L].
Tensor directPlanes(Stream& stream, const TableOperator& op, std::span<const LaneScene> scenes);

} // namespace vergence::light_field
