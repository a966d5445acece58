#pragma once

#include <memory>

#include "plugins/sugar/pipeline/stage.h"
#include "plugins/sugar/train/trainer.h"

namespace vergence::sugar {

/// S3: Gaussians from photographs. One step is one picture.
class TrainStage final : public Stage {
public:
    const char* id() const override { return "S3"; }
    const char* title() const override { return "Gaussians"; }
    std::vector<std::string> keys() const override;
    std::int64_t totalSteps(const Workspace& workspace) const override;
    bool start(RunContext& context, Workspace& workspace) override;
    bool step(RunContext& context, Workspace& workspace) override;
    bool isDone() const override { return m_trainer && m_trainer->isDone(); }
    void save(RunContext& context, Checkpoint& checkpoint) const override;
    void load(RunContext& context, Workspace& workspace, const Checkpoint& checkpoint) override;
    void finish(RunContext& context, Workspace& workspace) override;
    void writeResults(RunContext& context, const Workspace& workspace) const override;
    void release() override { m_trainer.reset(); }
    std::vector<HostTensor> pack(const Workspace& workspace) const override;
    void unpack(Workspace& workspace, const SafetensorsFile& file) const override;
    const Gaussians* gaussians() const override;
    const DensityStatistics* statistics() const override;
    RasterSettings raster() const override;

private:
    void report(RunContext& context, const Workspace& workspace, const StepReport& report) const;
    void keepMilestone(RunContext& context, const Workspace& workspace) const;

    std::unique_ptr<Trainer> m_trainer;
};

} // namespace vergence::sugar
