#pragma once

#include <memory>

#include "plugins/sugar/pipeline/stage.h"
#include "plugins/sugar/surface/surface_points.h"

namespace vergence::sugar {

/// S5: points where camera rays meet the surface. One step is one picture, the last one drops
/// outliers.
class PointsStage final : public Stage {
public:
    const char* id() const override { return "S5"; }
    const char* title() const override { return "Surface points"; }
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

private:
    Gaussians m_gaussians;
    std::unique_ptr<SurfaceExtractor> m_extractor;
    SurfacePoints m_points;
    Index m_done = 0, m_cameras = 0;
};

} // namespace vergence::sugar
