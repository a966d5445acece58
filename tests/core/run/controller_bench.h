#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <QTemporaryDir>

#include <nlohmann/json.hpp>

#include "core/metrics/metric_store.h"
#include "core/run/run_controller.h"
#include "tests/core/run/fake_run.h"
#include "tests/support/patience.h"

namespace vergence::testing {

/// A run folder, a FakeRun and the controllers that drive it one after the other.
class ControllerBench {
public:
    ControllerBench();

    RunSettings settings;
    FakeScript script;
    std::vector<nlohmann::json> messages; ///< of all polls

    /// A new controller over the folder, started.
    RunController& start(std::int64_t steps);
    RunController& start(const Config& config);
    RunController& controller() { return *m_controller; }
    /// Polls until `condition` holds; false after a minute.
    bool pollUntil(const std::function<bool()>& condition);
    bool reaches(RunState state);
    bool ends();
    void drop() { m_controller.reset(); }

    bool hasMessage(const std::string& type, const std::string& member,
                    const nlohmann::json& value) const;
    /// "step name value" of every line of metrics.csv of the series `name`, in order.
    std::vector<std::string> curve(const std::string& name = "train/loss") const;
    const RunFolder& folder() const { return settings.folder; }

private:
    QTemporaryDir m_directory;
    std::unique_ptr<RunController> m_controller;
};

/// Curve of an undisturbed run of `steps`, to compare interrupted ones with.
std::vector<std::string> wholeCurve(std::int64_t steps);

} // namespace vergence::testing
