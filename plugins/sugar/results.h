#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/run/run_context.h"
#include "plugins/sugar/sugar_config.h"
#include "plugins/sugar/train/evaluation.h"
#include "plugins/sugar/train/trainer.h"

namespace vergence::sugar {

// Files of a run, below artifacts. Every function ends early where `stop` says so.

/// <folder>gaussians.ply and the other formats asked for, in the scene's own frame.
void writeGaussians(RunContext& context, const Trainer& trainer, const SugarConfig& config,
                    const std::array<double, 3>& origin, const std::string& folder);
/// cameras.json: poses and lenses of all pictures, in the layout that splat viewers read.
void writeCameras(RunContext& context, const PictureSource& pictures,
                  const std::vector<bool>& isTest, const std::array<double, 3>& origin);
/// evaluation.json with every test of the run, evaluation.csv with the last.
void writeEvaluations(RunContext& context, const std::vector<EvaluationResult>& evaluations);
/// test/<name>/{render,photo,difference}.png of the held-out pictures.
void writeTestPictures(RunContext& context, const Trainer& trainer, TrainingPictures& pictures,
                       const std::vector<bool>& isTest);
/// turntable/frame-000.png … and turntable.gif.
void writeTurntable(RunContext& context, const Trainer& trainer, const SugarConfig& config,
                    const PictureSource& pictures);

} // namespace vergence::sugar
