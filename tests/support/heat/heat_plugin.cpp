#include <cstdlib>
#include <fstream>

#include "core/plugin/lab_plugin.h"
#include "tests/support/heat/heat_run.h"

namespace vergence::heat {

namespace {

/// Leaves a trace where VERGENCE_TEST_MARKER names a file: tests see whether this code was opened
/// at all.
[[maybe_unused]] const bool kMarked = [] {
    if (const char* marker = std::getenv("VERGENCE_TEST_MARKER"))
        std::ofstream(marker) << "opened\n";
    return true;
}();

} // namespace

class HeatPlugin : public QObject, public LabPlugin {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID VERGENCE_LAB_PLUGIN_IID FILE "heat.json")
    Q_INTERFACES(vergence::LabPlugin)

public:
    ConfigSchema schema() const override { return heatSchema().build(); }
    std::vector<MetricDecl> metrics() const override
    {
        return {{"heat/residual", "Residual", "K", MetricDecl::Better::Lower, true}};
    }
    std::vector<StreamDecl> streams() const override
    {
        return {{"temperature", "Temperature", StreamKind::HeatMap, "The plate.", ""}};
    }
    std::unique_ptr<Run> createRun(const Config& config) const override
    {
        return std::make_unique<HeatRun>(heatSchema().read(config));
    }
};

} // namespace vergence::heat

#include "heat_plugin.moc"
