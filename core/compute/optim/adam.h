#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/compute/graph/parameter.h"

namespace vergence {

/// m, v ← moving means of g and g²; p ← p (1 − η decay) − η m̂ / (√v̂ + epsilon).
/// Sources: Adam (2015), algorithm 1; Decoupled Weight Decay Regularization (2019), algorithm 2.
struct AdamOptions {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    bool decoupledDecay = true; ///< AdamW; false adds decay · p to the gradient (Adam)
    double clipNorm = 0;        ///< gradients are scaled down to this global norm; 0 clips nothing
    /// Reads all gradients once before the update: needed for clipping, for the norm, and to leave
    /// out an update that is not finite. false saves that pass.
    bool measuresNorm = true;
};

/// Adam over the flat arrays of a ParameterSet, one launch per group: reads the gradient, clips,
/// updates both moments, the master value and its 16-bit shadow. Rates and the step count lie in
/// device memory, so that a recorded step can be replayed; nothing waits for the host. Frozen
/// groups keep their bits and have no moments. A gradient that is not finite leaves everything as
/// it was and counts in skippedSteps(), unless the options forgo the check.
class Adam {
public:
    /// Rates are 0 until setRates().
    Adam(ParameterSet& parameters, Stream& stream, AdamOptions options = {});

    /// One rate per group; takes effect in later steps (queued before them, also before a replay).
    void setRates(Stream& stream, const std::vector<double>& rates);
    /// One update from the gradients; they are left as they are.
    void step(Stream& stream);

    /// Before clipping, of the last step; not finite where it was skipped; 0 where the options say
    /// that it is not measured. Waits for the stream.
    double gradientNorm(Stream& stream) const;
    Index steps(Stream& stream) const;        ///< updates so far, from the device
    Index skippedSteps(Stream& stream) const; ///< updates left out
    /// For checkpoints: "first_moment" and "second_moment" [trained] in the master type, laid out
    /// like the gradients, and "counters" (I64 [2]: updates, skipped updates).
    std::vector<std::pair<std::string, Tensor>> state() const;

private:
    ParameterSet& m_parameters;
    AdamOptions m_options;
    Tensor m_first, m_second; ///< moments, [trained], master type
    Tensor m_rates;           ///< [groups] F64
    Tensor m_counters;        ///< I64 [2]: updates, skipped updates
    Tensor m_norm;            ///< F64 [5], an AdamNorm
};

/// average ← decay · average + (1 − decay) · value over all parameters; starts at the values.
class MovingAverage {
public:
    MovingAverage(const ParameterSet& parameters, Stream& stream, double decay);
    void update(Stream& stream);
    const Tensor& values() const { return m_average; } ///< laid out like ParameterSet::values()

private:
    const ParameterSet& m_parameters;
    double m_decay;
    Tensor m_average;
};

} // namespace vergence
