#include "plugins/sugar/pipeline/mesh_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plugins/sugar/io/mesh_ply.h"
#include "plugins/sugar/mesh/mesh_quality.h"
#include "plugins/sugar/pipeline/grouped.h"
#include "plugins/sugar/pipeline/results.h"
#include "plugins/sugar/pipeline/surface_settings.h"

namespace vergence::sugar {

void reportMesh(RunContext& context, const TriangleMesh& mesh, const Workspace& workspace,
                const std::string& name)
{
    const MeshQuality q = measured(mesh);
    nlohmann::json rows = nlohmann::json::array();
    const auto add = [&](const char* figure, const std::string& value) {
        rows.push_back({figure, value});
    };
    const double unit = workspace.extent;
    add("score", fmt::format("{:.0f} of 100, {}", q.score, q.label));
    add("vertices, edges, triangles",
        fmt::format("{}, {}, {}", grouped(q.vertices), grouped(q.edges), grouped(q.faces)));
    add("Euler number", fmt::format("{}", q.eulerNumber));
    add("components", fmt::format("{}", q.components));
    add("boundary loops, edges", fmt::format("{}, {}", q.boundaryLoops, q.boundaryEdges));
    add("non-manifold edges, vertices",
        fmt::format("{}, {}", q.nonManifoldEdges, q.nonManifoldVertices));
    add("edges wound against each other", fmt::format("{}", q.windingConflicts));
    add("area, in squared extents", fmt::format("{:.4g}", q.area / (unit * unit)));
    add("mean edge, in extents", fmt::format("{:.4g}", q.meanEdge / unit));
    add("edge uniformity", fmt::format("{:.3f}", q.edgeUniformity));
    add("aspect: mean, share below 0.3",
        fmt::format("{:.3f}, {:.1f} %", q.meanAspect, 100 * q.lowAspectShare));
    add("cut by others, of those looked at",
        fmt::format("{} of {}", q.intersectingFaces, q.sampledFaces));
    context.table({{"id", "mesh_quality"},
                   {"title", "Mesh"},
                   {"columns", {"figure", "value"}},
                   {"rows", rows}});
    context.artifacts().writeText(name + "-quality.json", toJson(q).dump(1), "quality",
                                  "Measures of the mesh");
}

void writeMesh(RunContext& context, TriangleMesh mesh, const Workspace& workspace,
               const std::string& name)
{
    moveBack(mesh, workspace.origin);
    writeMeshPly(context.artifacts().pathFor(name + ".ply"), mesh, meshAxes(workspace));
    context.artifacts().add(name + ".ply", "mesh",
                            fmt::format("{} triangles", grouped(mesh.faces())));
}

} // namespace vergence::sugar
