#pragma once

#include "tests/support/cuda_emulation/convolutions/engines.h"

namespace vergence::emulation::convolutions {

/// CUDNN_BACKEND_ENGINE_DESCRIPTOR: one of engines(), for a graph.
struct GraphEngine : Meaning {
    std::shared_ptr<const Graph> graph;
    EngineIndex index{};

    const Engine& engine() const { return engines()[static_cast<std::size_t>(index)]; }
    bool answer(cudnnBackendAttributeName_t name, Answer& answer) const override;
};

/// CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR: into how many parts an engine splits its sums, which it
/// does not let be chosen.
struct KnobChoice : Meaning {
    std::int64_t parts = 1;

    bool answer(cudnnBackendAttributeName_t name, Answer& answer) const override;
};

/// CUDNN_BACKEND_ENGINECFG_DESCRIPTOR.
struct Configuration : Meaning {
    std::shared_ptr<const GraphEngine> engine;

    bool answer(cudnnBackendAttributeName_t name, Answer& answer) const override;
};

/// CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR.
struct Heuristic : Meaning {
    std::vector<MeaningPointer> configurations; ///< best first
    std::int64_t possible = 0; ///< how many the library announces; often some fewer come

    bool answer(cudnnBackendAttributeName_t name, Answer& answer) const override;
};

extern const Kind kEngineKind, kKnobChoiceKind, kConfigurationKind, kHeuristicKind;

} // namespace vergence::emulation::convolutions
