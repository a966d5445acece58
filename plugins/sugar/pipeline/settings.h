#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "plugins/sugar/sugar_config.h"
#include "plugins/sugar/train/picture_source.h"
#include "plugins/sugar/train/trainer.h"

namespace vergence::sugar {

// From the configuration to what the parts want.

/// The scene of a folder; nothing where it is built in or there is none.
std::optional<Scene> sceneOf(const SugarConfig& config);
/// `scene` is that of sceneOf(), so that several sizes of its pictures take one reading. Of no use
/// where `isStopped` said so meanwhile.
std::unique_ptr<PictureSource> picturesOf(const SugarConfig& config,
                                          const std::optional<Scene>& scene,
                                          const std::function<bool()>& isStopped = {});
/// Which pictures are held out: those named, those of the scene's own split, or every n-th.
std::vector<bool> heldOut(const SugarConfig& config, const PictureSource& pictures);
/// World units; what `near` says, or what follows from the extent.
float nearPlane(const SugarConfig& config, double extent);
std::array<float, 3> backgroundOf(const SugarConfig& config);
/// Whether only Gaussians that a camera sees are updated, where there are `count` of them.
bool usesSparseAdam(const SugarConfig& config, Index count);
MomentFormat momentFormat(const SugarConfig& config);
TrainerSettings trainerSettings(const SugarConfig& config, double extent,
                                const GaussianCloud& start);
/// 1.1 · the distance of the farthest Gaussian of the middle 90 % from their centre.
double cloudExtent(const GaussianCloud& cloud);
/// Gaussians to start from: a file, the scene's points, or random ones; in the frame of the
/// pictures. `droppedRows`: see readGaussians(); unset where there is no file.
GaussianCloud startingCloud(const SugarConfig& config, const PictureSource& pictures, double extent,
                            Index* droppedRows = nullptr);

} // namespace vergence::sugar
