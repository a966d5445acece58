#pragma once

#include <array>
#include <cstdint>

#include "core/compute/optim/schedule.h"
#include "plugins/foveated_vlm/model/foveated_model.h"

namespace vergence::fvlm {

/// The parts of the model that have rates and gradient norms of their own.
enum class Part { Vit, Connector, Llm };
inline constexpr std::array<const char*, 3> kPartNames = {"vit", "connector", "llm"};

/// What may change while a run goes on. Takes effect with the next update (λ's with the next
/// micro-step). Specification, section 6.
struct LiveSettings {
    std::array<double, 3> rates = {1e-5, 1e-3, 1e-5}; ///< base rates by Part
    double targetRate = 3e-5;                         ///< of all parts at the end, converging
    double clipNorm = 1;                              ///< of all gradients; 0 clips nothing
    double coarse = 0;                                ///< λ of the coarse loss
    double recon = 0.5;                               ///< λ of latents in joint training
    double contrast = 0;                              ///< λ of likeness of both looks
    double entropyMargin = 0; ///< of the hinge that sharpens the fine look, nats; 0: none
    int logEvery = 20;        ///< micro-steps between readings of the ring, at least 1

    bool operator==(const LiveSettings&) const = default;
};

enum class Objective { Losses, Preferences };

struct TrainSettings {
    LiveSettings live;
    Index updates = 1; ///< of the run: where schedules end
    ScheduleKind schedule = ScheduleKind::Cosine;
    double warmup = 0.03;     ///< share of the updates below 1, else their count
    double cosineFloor = 0.1; ///< factor at the end
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double ema = 0; ///< decay of the moving average of weights; 0: none
    Objective objective = Objective::Losses;
    double preferenceBeta = 0.1;
    bool trainsCoarseOnly = false; ///< the matched control
    int refinements = 1;
    bool weightsRefinements = false;
    int mostBuckets = 16; ///< recorded steps that are kept; the one unused for longest goes
    Index skipLimit = 3;  ///< updates in a row that may not be finite before the run ends

    Index warmupUpdates() const;
    /// Rates of the groups of FoveatedModel for update s = 0, 1, …
    std::array<double, FoveatedModel::kGroups> ratesAt(Index s) const;
    double rateAt(Part part, Index s) const;
};

} // namespace vergence::fvlm
