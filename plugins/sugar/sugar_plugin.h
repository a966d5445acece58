#pragma once

#include <QObject>

#include "core/plugin/lab_inspector.h"
#include "core/plugin/lab_plugin.h"

namespace vergence::sugar {

class SugarPlugin final : public QObject, public LabPlugin, public LabInspector {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID VERGENCE_LAB_PLUGIN_IID FILE "sugar.json")
    Q_INTERFACES(vergence::LabPlugin)
public:
    ConfigSchema schema() const override;
    std::vector<MetricDecl> metrics() const override;
    std::vector<StreamDecl> streams() const override;
    std::unique_ptr<Run> createRun(const Config& config) const override;
    DataReport inspect(const Config& config) const override;
};

} // namespace vergence::sugar
