#pragma once

#include <QObject>

#include "core/plugin/lab_inspector.h"
#include "core/plugin/lab_plugin.h"

namespace vergence::mc_embedding {

/// The MC embedding study as a plugin.
class McEmbeddingPlugin : public QObject, public LabPlugin, public LabInspector {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID "org.vergence.LabPlugin/1" FILE "mc_embedding.json")
    Q_INTERFACES(vergence::LabPlugin)
public:
    ConfigSchema schema() const override;
    std::vector<MetricDecl> metrics() const override;
    std::vector<StreamDecl> streams() const override;
    std::unique_ptr<Run> createRun(const Config& config) const override;
    DataReport inspect(const Config& config) const override;
};

} // namespace vergence::mc_embedding
