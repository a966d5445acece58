#pragma once

#include <memory>

#include "core/run/run.h"
#include "plugins/sugar/pipeline/level_explorer.h"
#include "plugins/sugar/pipeline/pipeline.h"
#include "plugins/sugar/view/splat_viewer.h"

namespace vergence::sugar {

/// From the photographs of a scene to the goal of the configuration. With nothing to do it only
/// shows what it starts from.
class SugarRun final : public Run {
public:
    explicit SugarRun(SugarConfig config);
    ~SugarRun() override;

    void prepare(RunContext& context) override;
    StepOutcome step(RunContext& context) override;
    std::int64_t totalSteps() const override;
    void save(RunContext& context, Checkpoint& checkpoint) override;
    void load(RunContext& context, const Checkpoint& checkpoint) override;
    void finish(RunContext& context) override;
    void view(RunContext& context, const ViewInput& input) override;

private:
    SplatSource viewSource(RunContext& context) const;
    void offerExplorer(RunContext& context);

    SugarConfig m_config;
    std::unique_ptr<Pipeline> m_pipeline;
    SplatViewer m_viewer;
    std::unique_ptr<LevelExplorer> m_explorer; ///< once the run has its mesh
    bool m_isFinished = false;
};

} // namespace vergence::sugar
