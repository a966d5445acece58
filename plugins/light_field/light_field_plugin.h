#pragma once

#include <QObject>

#include "core/plugin/lab_plugin.h"

namespace vergence::light_field {

/// The light-field display optimizer as a plugin.
class LightFieldPlugin : public QObject, public LabPlugin {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID "org.vergence.LabPlugin/1" FILE "light_field.json")
    Q_INTERFACES(vergence::LabPlugin)
public:
    ConfigSchema schema() const override;
    std::vector<MetricDecl> metrics() const override;
    std::vector<StreamDecl> streams() const override;
    std::unique_ptr<Run> createRun(const Config& config) const override;
};

} // namespace vergence::light_field
