#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/compute/device.h"
#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/mesh/triangle_mesh.h"
#include "plugins/sugar/pipeline/forecast.h"
#include "plugins/sugar/sugar_config.h"
#include "plugins/sugar/surface/surface_points.h"
#include "plugins/sugar/train/evaluation.h"
#include "plugins/sugar/train/training_pictures.h"

namespace vergence::sugar {

/// What stages hand to each other. The world is that of the recentred pictures; `origin` leads back
/// to the scene's own.
struct Workspace {
    SugarConfig config;
    std::shared_ptr<TrainingPictures> pictures;
    std::vector<bool> isTest; ///< one per picture
    std::array<double, 3> origin{};
    double extent = 1;  ///< world units
    Index bandRows = 0; ///< of the bands that pictures are learnt in; 0: whole pictures
    std::vector<EvaluationResult> evaluations;
    std::vector<StageForecast> forecasts; ///< of memory; empty before the first stage starts

    GaussianCloud gaussians; ///< of the newest finished stage
    SurfacePoints points;
    TriangleMesh mesh;     ///< the newest: reconstructed, or refined
    TexturedMesh textured; ///< empty before it is made

    std::vector<std::size_t> learnt() const; ///< numbers of the pictures that are not held out
    std::vector<Camera> learntCameras() const;
    /// How the newest Gaussians are rendered.
    RasterSettings raster() const;
};

} // namespace vergence::sugar
