#include "core/plugin/lab_plugin.h"
#include "tests/support/chaos/chaos_run.h"

namespace vergence::chaos {

class ChaosPlugin : public QObject, public LabPlugin {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID VERGENCE_LAB_PLUGIN_IID FILE "chaos.json")
    Q_INTERFACES(vergence::LabPlugin)

public:
    ConfigSchema schema() const override { return chaosSchema().build(); }
    std::vector<MetricDecl> metrics() const override
    {
        return {{"train/loss", "Loss", "", MetricDecl::Better::Lower, true}};
    }
    std::vector<StreamDecl> streams() const override
    {
        return {{"picture", "Picture", StreamKind::Image, "A gradient at the chosen level.", ""}};
    }
    std::unique_ptr<Run> createRun(const Config& config) const override
    {
        return std::make_unique<ChaosRun>(chaosSchema().read(config));
    }
};

} // namespace vergence::chaos

#include "chaos_plugin.moc"
