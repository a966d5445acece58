#include "plugins/foveated_vlm/foveated_vlm_plugin.h"

#include "plugins/foveated_vlm/foveated_vlm_run.h"
#include "plugins/foveated_vlm/session/streams.h"
#include "plugins/foveated_vlm/view/metric_decls.h"

namespace vergence::fvlm {

ConfigSchema FoveatedVlmPlugin::schema() const
{
    return foveatedVlmSchema();
}

std::vector<MetricDecl> FoveatedVlmPlugin::metrics() const
{
    return metricDecls();
}

std::vector<StreamDecl> FoveatedVlmPlugin::streams() const
{
    return streamDecls();
}

std::unique_ptr<Run> FoveatedVlmPlugin::createRun(const Config& config) const
{
    return std::make_unique<FoveatedVlmRun>(readFoveatedVlmConfig(config));
}

} // namespace vergence::fvlm
