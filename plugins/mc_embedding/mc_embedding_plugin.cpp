#include "plugins/mc_embedding/mc_embedding_plugin.h"

#include "plugins/mc_embedding/mc_embedding_run.h"
#include "plugins/mc_embedding/report/study_views.h"
#include "plugins/mc_embedding/study/inspection.h"

namespace vergence::mc_embedding {

ConfigSchema McEmbeddingPlugin::schema() const
{
    return mcEmbeddingSchema();
}

std::vector<MetricDecl> McEmbeddingPlugin::metrics() const
{
    using Better = MetricDecl::Better;
    // Series of one model and T carry no declaration, their groups do.
    return {{"icc/best", "Best ICC", "", Better::Higher, true},
            {"icc", "ICC", "", Better::Higher, false},
            {"spearman", "Spearman ρ", "", Better::Higher, false},
            {"snr", "SNR", "", Better::Higher, false},
            {"speed/pass_images", "Passes times images", "1/s", Better::Higher, false},
            {"speed/tflops", "Throughput", "TFLOP/s", Better::Higher, false},
            {"progress/flop_share", "Work done", "", Better::Higher, false},
            {"progress/eta_s", "Time left", "s", Better::Lower, false}};
}

std::vector<StreamDecl> McEmbeddingPlugin::streams() const
{
    return StudyViews::streams();
}

std::unique_ptr<Run> McEmbeddingPlugin::createRun(const Config& config) const
{
    return std::make_unique<McEmbeddingRun>(readMcEmbeddingConfig(config));
}

DataReport McEmbeddingPlugin::inspect(const Config& config) const
{
    return inspectedModels(readMcEmbeddingConfig(config));
}

} // namespace vergence::mc_embedding
