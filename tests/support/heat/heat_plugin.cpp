#include <cstdlib>
#include <fstream>

#include "core/plugin/lab_benchmark.h"
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

class HeatPlugin : public QObject, public LabPlugin, public LabBenchmark {
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
    std::vector<BenchMode> benchModes() const override
    {
        return {{"size", "The plate's size, measured as often as asked for."},
                {"broken", "Always fails."}};
    }
    BenchAnswer bench(const BenchRequest& request) const override
    {
        if (request.mode == "broken")
            throw NumericsError("The plate melted.");
        auto sizes = nlohmann::json::array({heatSchema().read(request.config).size});
        for (int i = 1; i < request.repeats; ++i)
            sizes.push_back(request.measureAfresh().at("sizes").at(0));
        BenchAnswer answer;
        answer.exitCode = request.compareWith ? 1 : 0;
        answer.report = {{"sizes", sizes},
                         {"device", request.device->info().uuid},
                         {"store", request.store.string()},
                         {"saved", request.saveAs.value_or("")}};
        answer.markdown = "# sizes\n";
        answer.csv = "size\n";
        return answer;
    }
};

} // namespace vergence::heat

#include "heat_plugin.moc"
