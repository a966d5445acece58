#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/light_field/compute/ground_truth.h"
#include "plugins/light_field/compute/linear_operator.h"

namespace vergence::light_field {

/// Direct is no solver: see directPlanes().
enum class SolverKind { Pga, Adam, AdamW, Sirt, OsSirt, Cg };

enum class InitMode { Black, MidGrey, Given };

struct SolverSettings {
    SolverKind kind = SolverKind::Pga;
    int iterations = 30;
    double learningRate = 0.03; ///< Adam and AdamW
    double weightDecay = 0.0;   ///< AdamW: decoupled decay
    double epsilon = 1e-12;     ///< Adam and AdamW; the seed profile uses 1e-8
    double smoothness = 0.0;    ///< λ_s
    double roiWeight = 1.0;     ///< ω inside the region of interest
    double backgroundWeight = 1.0;
    double tolerance = 1e-4; ///< pga, sirt, cg stop where the relative loss change stays below for
                             ///< 5 iterations; 0 = never
    int subsets = 4;         ///< os_sirt
    bool accelerated = true; ///< pga: momentum with restart
};

/// What one iteration reports. Loss and mse belong to the point at which the gradient was taken,
/// before the update.
struct IterationRecord {
    int iteration = 0; ///< from 1
    double loss = 0;   ///< ½ Σ ω (A x − y)² (without the smoothness term)
    double mse =
        0; ///< mean of (A x − y)² over states, pixels and channels, unweighted and unclamped
    double psnr = 0;         ///< −10 log10 mse
    double gradientNorm = 0; ///< of the mean squared error; not a number for os_sirt
    double shareAtZero = 0,
           shareAtOne = 0; ///< of the reachable texels; not a number for os_sirt, cg
    double forwardSeconds = 0, adjointSeconds = 0; ///< the adjoint contains the update
    double raysPerSecond = 0;
    std::vector<double> laneMse; ///< mse of every channel or board
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Finds texels in [0, 1] whose images through the operator match the targets. One call of
/// iterate() is one iteration; between calls the state can be read, saved and restored. Boards in
/// different lanes do not influence each other (but share the stop rule).
class Solver {
public:
    /// Keeps references to the operator and to the tensors of `targets`. Throws ContractError where
    /// shapes differ.
    Solver(Stream& stream, std::shared_ptr<const LinearOperator> op, Targets targets,
           SolverSettings settings);
    ~Solver();
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;

    /// Starts over. `planes` [K, R, R, L] is needed for InitMode::Given. Called with Black by the
    /// constructor.
    void initialise(Stream& stream, InitMode mode, const Tensor& planes = {});

    IterationRecord iterate(Stream& stream);
    int iteration() const; ///< iterations done
    bool isDone() const;   ///< iterations used up or the stop rule met

    /// Panel images in [0, 1], [K, R, R, L] float; a copy.
    Tensor planes(Stream& stream) const;
    /// Images of the last residual pass [S, W, W, L], valid until the next iterate().
    const Tensor& preview() const;
    /// Which texels any ray reaches, [K, R, R] float: column sums.
    Tensor seenWeight(Stream& stream) const;

    /// All that continuing exactly needs; the tensors share memory with the solver.
    NamedTensors state() const;
    /// Takes back what state() gave. Throws ContractError that names a missing or misshapen tensor.
    void restore(Stream& stream, const NamedTensors& tensors);

    std::size_t allocatedBytes() const; ///< solver arrays, operator tables, targets

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace vergence::light_field
