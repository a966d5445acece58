#include "plugins/sugar/sugar_plugin.h"

#include "plugins/sugar/pipeline/inspection.h"
#include "plugins/sugar/pipeline/step_metrics.h"
#include "plugins/sugar/sugar_run.h"

namespace vergence::sugar {

ConfigSchema SugarPlugin::schema() const
{
    return sugarSchema();
}

std::vector<MetricDecl> SugarPlugin::metrics() const
{
    return sugarMetrics();
}

std::vector<StreamDecl> SugarPlugin::streams() const
{
    return SplatViewer::streams();
}

std::unique_ptr<Run> SugarPlugin::createRun(const Config& config) const
{
    return std::make_unique<SugarRun>(readSugarConfig(config));
}

DataReport SugarPlugin::inspect(const Config& config) const
{
    return inspectedScene(readSugarConfig(config));
}

} // namespace vergence::sugar
