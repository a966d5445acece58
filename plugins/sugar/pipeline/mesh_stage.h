#pragma once

#include <array>
#include <memory>

#include "plugins/sugar/pipeline/stage.h"
#include "plugins/sugar/pipeline/surface_solver.h"
#include "plugins/sugar/surface/depth_view.h"
#include "plugins/sugar/surface/scene_box.h"
#include "plugins/sugar/surface/tsdf.h"

namespace vergence::sugar {

/// S6: triangles through the surface points, or from fused depth; cleaned, reduced and coloured.
class MeshStage final : public Stage {
public:
    const char* id() const override { return "S6"; }
    const char* title() const override { return "Mesh"; }
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
    bool work(RunContext& context, Workspace& workspace, std::int64_t unit);
    bool fuse(RunContext& context, const Workspace& workspace, std::size_t picture);
    bool solve(RunContext& context, const Workspace& workspace, Region region);
    bool reduce(RunContext& context, const Workspace& workspace, Region region);
    void join();
    TriangleMesh& part(Region region) { return m_parts[static_cast<std::size_t>(region)]; }
    std::unique_ptr<TsdfVolume>& volume(Region region)
    {
        return m_volumes[static_cast<std::size_t>(region)];
    }

    SurfaceChoice m_choice;
    SceneBox m_box;
    std::array<TriangleMesh, 2> m_parts; ///< foreground, background
    std::array<std::unique_ptr<TsdfVolume>, 2> m_volumes;
    std::unique_ptr<DepthRenderer> m_renderer;
    Gaussians m_gaussians;
    std::vector<Camera> m_cameras;
    TriangleMesh m_mesh; ///< both parts
    std::int64_t m_done = 0, m_total = 0, m_replay = 0;
};

} // namespace vergence::sugar
