#pragma once

#include <array>
#include <vector>

#include "plugins/light_field/compute/solver.h"
#include "plugins/light_field/compute/vector_kernels.h"

namespace vergence::light_field {

/// Everything a solver keeps. One function per method below; each does one iteration and returns
/// its sums.
struct Solver::State {
    struct Pass {
        ResidualSums residual;
        UpdateSums update;
        double forwardSeconds = 0, adjointSeconds = 0;
    };

    State(Stream& stream, std::shared_ptr<const LinearOperator> op, Targets given,
          SolverSettings settings);

    Pass pga(Stream& stream);
    Pass adam(Stream& stream);
    Pass sirt(Stream& stream);
    Pass orderedSubsets(Stream& stream);
    Pass cg(Stream& stream);

    /// Residual at `point`, then the update with its gradient, timed.
    Pass updateAt(Stream& stream, const Tensor& point, const TexelUpdate& update,
                  RowSubset rows = {});
    /// One step of sirt with column sums `sums`.
    Pass backprojected(Stream& stream, const Tensor& sums, RowSubset rows);
    void checkArguments() const;
    void makeWeights(Stream& stream);
    void makeDiagonals(Stream& stream);
    void reset(Stream& stream);
    void startCg(Stream& stream);
    void smoothness(Stream& stream, const Tensor& point, TexelUpdate& update);
    IterationRecord record(const Pass& pass);
    NamedTensors tensors();
    double meanOver() const; ///< number of values a mean squared error of one channel is over

    std::shared_ptr<const LinearOperator> linear;
    Targets targets;
    SolverSettings settings;
    int lanes = 1;
    int iteration = 0;
    Tensor x, z;                         ///< [N, L]; z for pga
    Tensor first, second;                ///< [N, L]; moments of Adam; residual and direction of cg
    Tensor product;                      ///< [N, L]; cg
    Tensor images, residual;             ///< [S, W, W, L]
    Tensor weights;                      ///< ω [V], empty for 1; for sirt 1 / row sums
    Tensor diagonal;                     ///< [N] majoriser, or column sums
    std::vector<Tensor> subsetDiagonals; ///< [N] each; os_sirt
    Tensor laplacian;                    ///< [N, L] where smoothness > 0
    std::array<double, kMaxLanes> theta{}; ///< pga: momentum parameter per lane; cg: ⟨r, M r⟩
    double lastLoss = 0;                   ///< for the stop rule
    double reachable = 0;                  ///< texels with d > 0
    int flatIterations = 0;                ///< consecutive iterations below the tolerance
};

} // namespace vergence::light_field
