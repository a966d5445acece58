#pragma once

#include "tests/support/cuda_emulation/convolutions/heuristics.h"

namespace vergence::emulation::convolutions {

/// CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR.
struct Plan : Meaning {
    std::shared_ptr<const GraphEngine> engine;
    int device = 0;

    std::int64_t workspaceBytes() const { return engine->engine().workspaceBytes(*engine->graph); }
    bool answer(cudnnBackendAttributeName_t name, Answer& answer) const override;
};

/// CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR.
struct VariantPack : Meaning {
    std::map<std::int64_t, void*> addresses; ///< by unique id
    void* workspace = nullptr;
};

extern const Kind kPlanKind, kVariantPackKind;

} // namespace vergence::emulation::convolutions
