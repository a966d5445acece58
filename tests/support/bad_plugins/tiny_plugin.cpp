#include "core/plugin/lab_plugin.h"

/// A lab with one parameter that cannot run; enough to be described.
class TinyPlugin : public QObject, public vergence::LabPlugin {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID VERGENCE_LAB_PLUGIN_IID FILE "descriptor.json")
    Q_INTERFACES(vergence::LabPlugin)

public:
    vergence::ConfigSchema schema() const override
    {
        vergence::Field field;
        field.key = "size";
        field.type = vergence::FieldType::Int;
        field.defaultValue = std::int64_t{1};
        return vergence::ConfigSchema("debug_build", 1, {field});
    }
    std::vector<vergence::MetricDecl> metrics() const override { return {}; }
    std::vector<vergence::StreamDecl> streams() const override { return {}; }
    std::unique_ptr<vergence::Run> createRun(const vergence::Config&) const override
    {
        throw vergence::Error("This plugin has nothing to run.");
    }
};

#include "tiny_plugin.moc"
