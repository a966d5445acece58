#pragma once

#include "core/run/run_context.h"
#include "plugins/sugar/pipeline/workspace.h"

namespace vergence::sugar {

/// The measures of a mesh as the table "mesh_quality" and as <name>-quality.json.
void reportMesh(RunContext& context, const TriangleMesh& mesh, const Workspace& workspace,
                const std::string& name);
/// <name>.ply with colours, in the scene's own frame.
void writeMesh(RunContext& context, TriangleMesh mesh, const Workspace& workspace,
               const std::string& name);

} // namespace vergence::sugar
