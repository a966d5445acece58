#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "plugins/live_diffusion/profile/layer_profile.h"
#include "plugins/live_diffusion/profile/memory_profile.h"
#include "plugins/live_diffusion/profile/tensor_core_check.h"
#include "plugins/live_diffusion/session/part.h"

namespace vergence::live {

/// Where time and memory of an evaluation go: roofs of the device, each operation in place, memory
/// by operation with what other settings would take, shapes against tensor cores, each operation
/// alone where that takes no longer than some seconds, and time budgets with measured frames of 1,
/// 2 and 4 steps. One of these a step; one network at a time.
///
/// Streams roofline, layers, memory, targets; files profile/layers.csv, profile.json, memory.json,
/// profile.md and the drawings as PNG and SVG; series profile_total_ms (an evaluation nobody
/// observes) and profile_unaccounted (share of it that is in no operation).
class ProfilePart final : public Part {
public:
    explicit ProfilePart(Networks& networks) : m_networks(networks) {}

    void begin(RunContext& context) override;
    std::int64_t stepsLeft() const override;
    void finish(RunContext& context) override;

private:
    bool advance(RunContext& context) override;

    enum class Stage { Roofs, InPlace, Memory, Alone, Targets1, Targets2, Targets4, Done };

    void run(Stage stage, RunContext& context);
    void findRoofs();
    void profileInPlace(RunContext& context);
    void profileMemory(RunContext& context);
    void measureTarget(RunContext& context, int steps);
    void profileAlone(RunContext& context);
    void showAlone(RunContext& context);
    void showTargets(RunContext& context) const;
    std::string markdown() const;

    Networks& m_networks;
    bool m_hasBegun = false;
    Stage m_stage = Stage::Done;
    BenchSubject m_subject;
    std::shared_ptr<FrameNetwork> m_network; ///< until frames are measured, with ones of their own
    FrameCost m_cost;
    std::vector<DevicePeaks> m_peaks; ///< the first counts; published before measured
    std::optional<LayerProfile> m_inPlace, m_alone;
    std::optional<MemoryProfile> m_memory;
    std::vector<WhatIf> m_whatIf;
    std::vector<ShapeIssue> m_shapes, m_plans;
    std::vector<double> m_frameMs; ///< of 1, 2, 4 steps
    double m_bound = 0;            ///< least time of an evaluation, s
};

} // namespace vergence::live
