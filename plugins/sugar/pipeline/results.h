#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/run/run_context.h"
#include "plugins/sugar/pipeline/workspace.h"
#include "plugins/sugar/view/splat_viewer.h"

namespace vergence::sugar {

// Files of a run, below artifacts. Every function ends early where `stop` says so.

/// <folder>gaussians.ply and the other formats asked for, in the scene's own frame.
void writeGaussians(RunContext& context, GaussianCloud cloud, const Workspace& workspace,
                    const std::string& folder);
/// From the recentred world to the scene's own.
void moveBack(TriangleMesh& mesh, const std::array<double, 3>& origin);
/// cameras.json: poses and lenses of all pictures, in the layout that splat viewers read.
void writeCameras(RunContext& context, const Workspace& workspace);
/// evaluation.json with every test of the run, evaluation.csv with the last.
void writeEvaluations(RunContext& context, const std::vector<EvaluationResult>& evaluations);
/// report.json, and report.html for reading: stages with their times, scene, measures of the mesh,
/// last test and what differs from the defaults; the pictures that lie beside.
void writeReport(RunContext& context, const Workspace& workspace, const nlohmann::json& stages);
/// test/<name>/{render,photo,difference}.png of the held-out pictures.
void writeTestPictures(RunContext& context, const Workspace& workspace, const SplatSource& shown);
/// turntable/frame-000.png … and turntable.gif.
void writeTurntable(RunContext& context, const Workspace& workspace, const SplatSource& shown);
/// mesh_turntable.gif of the newest mesh, in the same frames; nothing where there is no mesh.
void writeMeshTurntable(RunContext& context, const Workspace& workspace);

} // namespace vergence::sugar
