#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/issue.h"

namespace vergence {

class Config;

/// What a lab found in the data that a configuration names.
struct DataReport {
    std::string key;     ///< setting that names the data: "scene"; empty: there is none to look at
    std::string summary; ///< "COLMAP, 4 of 5 images, 1 camera, 212 points"; empty: unreadable
    /// Rules are problem ids ("E-DATA", "E-MISSING"); the place is relative to the data's folder.
    std::vector<ConfigIssue> issues{};
    std::string remedy{}; ///< `key=value` under which a run leaves out what is broken; or empty
};

/// A lab that can say what is in its data before a run implements this beside LabPlugin. Found with
/// a dynamic cast; called in a process of its own (`vergence validate`), never in the window's.
class LabInspector {
public:
    virtual ~LabInspector();
    /// Reads descriptions and headers, decodes no picture. What is wrong with the data comes back
    /// as issues.
    virtual DataReport inspect(const Config& config) const = 0;
};

nlohmann::json toJson(const DataReport& report);
/// Throws ContractError where a field is missing or of another type.
DataReport dataReportFromJson(const nlohmann::json& json);

} // namespace vergence
