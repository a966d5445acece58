#include "plugins/live_diffusion/live_diffusion_plugin.h"

#include "plugins/live_diffusion/live_diffusion_config.h"
#include "plugins/live_diffusion/live_diffusion_run.h"
#include "plugins/live_diffusion/session/bench_session.h"
#include "plugins/live_diffusion/session/source_report.h"
#include "plugins/live_diffusion/session/streams.h"

namespace vergence::live {

ConfigSchema LiveDiffusionPlugin::schema() const
{
    return liveDiffusionSchema();
}

std::vector<MetricDecl> LiveDiffusionPlugin::metrics() const
{
    return metricDecls();
}

std::vector<StreamDecl> LiveDiffusionPlugin::streams() const
{
    return streamDecls();
}

std::unique_ptr<Run> LiveDiffusionPlugin::createRun(const Config&) const
{
    return std::make_unique<LiveDiffusionRun>();
}

std::vector<BenchMode> LiveDiffusionPlugin::benchModes() const
{
    return liveBenchModes();
}

BenchAnswer LiveDiffusionPlugin::bench(const BenchRequest& request) const
{
    return benchSession(request);
}

DataReport LiveDiffusionPlugin::inspect(const Config& config) const
{
    return sourceReport(readLiveDiffusionConfig(config));
}

} // namespace vergence::live
