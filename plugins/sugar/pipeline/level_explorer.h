#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "core/view/view_input.h"
#include "plugins/sugar/pipeline/surface_solver.h"
#include "plugins/sugar/surface/surface_points.h"

namespace vergence::sugar {

/// Other surfaces of a run that has its mesh: the viewer moves level, depth, quantile and number of
/// triangles, and explorer/mesh.ply follows. What a change does not touch is kept from before.
class LevelExplorer {
public:
    explicit LevelExplorer(const SugarConfig& config);

    std::vector<ViewControl> controls() const;
    /// Takes over what the viewer moved. True where another mesh is wanted.
    bool apply(const ViewInput& input);
    /// Makes that mesh from the Gaussians that the surface belongs to, which are asked for only
    /// where a surface must be solved. A stop leaves the old one.
    void update(RunContext& context, const Workspace& workspace,
                const std::function<GaussianCloud()>& gaussians);

private:
    bool findPoints(RunContext& context, Workspace& own);
    bool fuse(RunContext& context, const Workspace& own);

    bool m_isOn = false;
    SurfaceChoice m_choice;
    Index m_triangles = 100'000;
    std::vector<std::string> m_solvers;

    std::map<double, SurfacePoints> m_points;             ///< by level
    std::map<int, std::unique_ptr<TsdfVolume>> m_volumes; ///< by depth
    std::optional<SurfaceChoice> m_fullOf;
    TriangleMesh m_full; ///< not reduced
};

} // namespace vergence::sugar
