#pragma once

#include <memory>

#include "plugins/sugar/pipeline/stage.h"
#include "plugins/sugar/train/aligner.h"

namespace vergence::sugar {

/// S4: drives opacities to 0 or 1 and the Gaussians flat onto the surface.
class AlignStage final : public Stage {
public:
    const char* id() const override { return "S4"; }
    const char* title() const override { return "Alignment"; }
    std::vector<std::string> keys() const override;
    std::int64_t totalSteps(const Workspace& workspace) const override;
    bool start(RunContext& context, Workspace& workspace) override;
    bool step(RunContext& context, Workspace& workspace) override;
    bool isDone() const override;
    void save(RunContext& context, Checkpoint& checkpoint) const override;
    void load(RunContext& context, Workspace& workspace, const Checkpoint& checkpoint) override;
    void finish(RunContext& context, Workspace& workspace) override;
    void writeResults(RunContext& context, const Workspace& workspace) const override;
    void release() override;
    std::vector<HostTensor> pack(const Workspace& workspace) const override;
    void unpack(Workspace& workspace, const SafetensorsFile& file) const override;
    const Gaussians* gaussians() const override;
    RasterSettings raster() const override;

private:
    void report(RunContext& context, const AlignmentReport& report) const;

    std::unique_ptr<Aligner> m_aligner;
};

} // namespace vergence::sugar
