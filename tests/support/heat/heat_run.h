#pragma once

#include "core/compute/tensor.h"
#include "core/run/run.h"
#include "tests/support/heat/heat_config.h"

namespace vergence::heat {

/// Relaxes heat on a plate whose upper edge is hot.
class HeatRun : public Run {
public:
    explicit HeatRun(HeatConfig config) : m_config(config) {}

    void prepare(RunContext& context) override;
    StepOutcome step(RunContext& context) override;
    std::int64_t totalSteps() const override { return m_config.sweeps; }
    void save(RunContext& context, Checkpoint& checkpoint) override;
    void load(RunContext& context, const Checkpoint& checkpoint) override;
    void finish(RunContext& context) override;

private:
    HeatConfig m_config;
    Tensor m_current, m_next; ///< [size, size] fp32, K
};

} // namespace vergence::heat
