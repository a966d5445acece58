#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace vergence {

class Config;
class Device;

/// Something a lab can measure: `vergence bench <plugin> <name>`.
struct BenchMode {
    std::string name, help;
};

/// What `vergence bench` hands to a lab.
struct BenchRequest {
    std::string mode; ///< name of one of benchModes()
    const Config& config;
    std::shared_ptr<Device> device;
    std::filesystem::path store{}; ///< folder of the lab's own kept measurements
    std::optional<std::string> saveAs{}, compareWith{}; ///< names of kept measurements
    bool isForced = false;                              ///< compare even what is not comparable
    int repeats = 1;                                    ///< 0: as many as the lab likes best
    std::optional<double> seconds{};                    ///< of one measurement
    /// Measures the same once more in a fresh process and returns its report. Throws Error where
    /// that fails.
    std::function<nlohmann::json()> measureAfresh{};
    std::function<void(const std::string&)> progress{}; ///< one line for people
};

/// What a lab answers.
struct BenchAnswer {
    /// 0 ok, 1 regression, 2 not comparable with what was kept, 3 the measurement failed.
    int exitCode = 0;
    std::string markdown; ///< for people
    std::string csv;      ///< the main table; may be empty
    nlohmann::json report;
};

/// A lab that offers benchmarks implements this beside LabPlugin. The command line looks for it
/// with a dynamic cast, so labs that do not are none the wiser. Called in a process of its own,
/// never in the window's; failures are thrown.
class LabBenchmark {
public:
    virtual ~LabBenchmark();
    virtual std::vector<BenchMode> benchModes() const = 0; ///< the first is the default
    virtual BenchAnswer bench(const BenchRequest& request) const = 0;
};

} // namespace vergence
