#pragma once

#include <QObject>

#include "core/plugin/lab_benchmark.h"
#include "core/plugin/lab_inspector.h"
#include "core/plugin/lab_plugin.h"

namespace vergence::live {

class LiveDiffusionPlugin final : public QObject,
                                  public LabPlugin,
                                  public LabBenchmark,
                                  public LabInspector {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID VERGENCE_LAB_PLUGIN_IID FILE "live_diffusion.json")
    Q_INTERFACES(vergence::LabPlugin)
public:
    ConfigSchema schema() const override;
    std::vector<MetricDecl> metrics() const override;
    std::vector<StreamDecl> streams() const override;
    std::unique_ptr<Run> createRun(const Config& config) const override;
    std::vector<BenchMode> benchModes() const override;
    BenchAnswer bench(const BenchRequest& request) const override;
    DataReport inspect(const Config& config) const override;
};

} // namespace vergence::live
