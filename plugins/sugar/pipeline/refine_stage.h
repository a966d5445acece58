#pragma once

#include <memory>

#include "plugins/sugar/pipeline/stage.h"
#include "plugins/sugar/refine/refiner.h"

namespace vergence::sugar {

/// S7: Gaussians bound to the triangles are trained, and the vertices with them.
class RefineStage final : public Stage {
public:
    const char* id() const override { return "S7"; }
    const char* title() const override { return "Refinement"; }
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
    std::unique_ptr<Refiner> m_refiner;
};

} // namespace vergence::sugar
