#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/mc_embedding/io/pixel_type.h"
#include "plugins/mc_embedding/study/variants.h"

namespace vergence::mc_embedding {

/// Passes over all images, or all prompts, of one model in one way.
struct MeasurementPlan {
    enum class Kind {
        Clean,     ///< the study's images; the first of every model
        Degraded,  ///< degraded copies under the same masks
        Way,       ///< other rates or another placement: exp1, exp3, exp11
        Features,  ///< degraded copies without masks: exp7
        Synthetic, ///< pictures painted for exp2
        Texts      ///< prompts under masks on the text tower: exp10
    };
    Kind kind = Kind::Clean;
    std::string folder = "none"; ///< of its chunks; no two of a model share one
    std::string degradation = "none";
    Variant variant;
    std::string experiment, way;    ///< of a Way: "exp1", "0.02"
    std::vector<double> groupRates; ///< of exp11
    int images = 0, trials = 0;
    std::vector<int> passes;             ///< ascending
    std::vector<std::string> scores;     ///< names of scoreKinds()
    int geometryTrials = 0;              ///< whole shape of the cloud in the first so many trials
    bool keepsClouds = false;            ///< all passes of some images, for the views
    bool needsClouds = false;            ///< an experiment reads them
    std::optional<DType> storedFeatures; ///< F16 or F32: features of all passes are kept

    /// Of image towers; texts count for nothing.
    double passImages() const
    {
        return kind == Kind::Texts ? 0.0 : 1.0 * images * trials * passes.back();
    }
};

/// One model measured in one way: everything that its experiments need, planned once.
struct ModelPlan {
    std::string label, model; ///< "clip_b32-mlp_only", "clip_b32"
    Variant variant;
    std::vector<std::string> experiments; ///< what uses it
    std::vector<MeasurementPlan> measurements;
    std::vector<MeasurementPlan> cleanWays; ///< ways that are just what the clean measurement does
    bool judges = false;                    ///< zero-shot logits, for exp5 and all that read them
};

struct StudyPlan {
    std::vector<ModelPlan> models;
    int images = 0; ///< the most that a model needs
};

/// The union of what the configured experiments need. Most share one measurement; exp5 joins it, or
/// has its own where exp5_count says so; degraded copies and other ways follow the clean one.
/// Specification, sections 7 and 11.3e.
StudyPlan makePlan(const McEmbeddingConfig& config);

/// What the later experiments (exp1 to exp3, 7, 10, 11) measure beside the clean images.
void addLaterMeasurements(const McEmbeddingConfig& config, ModelPlan& plan);

/// Images of a chunk and passes at once: from the work of one pass of one image, so that one block
/// takes a tenth of a second on this kind of device, or a whole tile of products where that is
/// more.
struct BatchSize {
    int images = 1, passes = 1;
};
/// Passes of all trials of the first measurement.
int mostPasses(const ModelPlan& plan);
BatchSize chosenBatch(const McEmbeddingConfig& config, const TowerShape& tower, bool isCpu,
                      int mostPasses);
/// Blocks that so many images of a measurement take.
std::int64_t blocksOf(const MeasurementPlan& plan, const BatchSize& batch, std::size_t images);

} // namespace vergence::mc_embedding
