#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/mc_embedding/study/variants.h"

namespace vergence::mc_embedding {

/// Passes over all images of one degradation ("none" first) of one model.
struct MeasurementPlan {
    std::string degradation = "none";
    int images = 0, trials = 0;
    std::vector<int> passes;         ///< ascending
    std::vector<std::string> scores; ///< names of scoreKinds()
    int geometryTrials = 0;          ///< whole shape of the cloud in the first so many trials
    bool keepsClouds = false;        ///< all passes of some images, for the views

    double passImages() const { return 1.0 * images * trials * passes.back(); }
};

/// One model measured in one way: everything that its experiments need, planned once.
struct ModelPlan {
    std::string label, model; ///< "clip_b32-mlp_only", "clip_b32"
    Variant variant;
    std::vector<std::string> experiments; ///< what uses it
    std::vector<MeasurementPlan> measurements;
    bool judges = false; ///< zero-shot logits for exp5 and conformal
};

struct StudyPlan {
    std::vector<ModelPlan> models;
    int images = 0; ///< the most that a model needs
};

/// The union of what the configured experiments need. Exp 0, 0b, 4, 1, 3 and mnist_grid share one
/// measurement; exp5 joins it, or has its own where exp5_count says so; degraded copies follow the
/// clean one. Specification, sections 7 and 11.3e.
StudyPlan makePlan(const McEmbeddingConfig& config);

/// Images of a chunk and passes at once: from the work of one pass of one image, so that one block
/// takes a tenth of a second on this kind of device, or a whole tile of products where that is
/// more.
struct BatchSize {
    int images = 1, passes = 1;
};
BatchSize chosenBatch(const McEmbeddingConfig& config, const TowerShape& tower, bool isCpu,
                      int mostPasses);
/// Blocks that so many images of a measurement take.
std::int64_t blocksOf(const MeasurementPlan& plan, const BatchSize& batch, std::size_t images);

} // namespace vergence::mc_embedding
