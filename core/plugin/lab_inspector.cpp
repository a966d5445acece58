#include "core/plugin/lab_inspector.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence {

LabInspector::~LabInspector() = default;

nlohmann::json toJson(const DataReport& report)
{
    auto issues = nlohmann::json::array();
    for (const ConfigIssue& issue : report.issues)
        issues.push_back(toJson(issue));
    return {{"key", report.key},
            {"summary", report.summary},
            {"issues", issues},
            {"remedy", report.remedy}};
}

DataReport dataReportFromJson(const nlohmann::json& json)
{
    try {
        DataReport report;
        report.key = json.at("key").get<std::string>();
        report.summary = json.at("summary").get<std::string>();
        for (const nlohmann::json& issue : json.at("issues"))
            report.issues.push_back(issueFromJson(issue));
        report.remedy = json.at("remedy").get<std::string>();
        return report;
    } catch (const nlohmann::json::exception& error) {
        throw ContractError(std::string("Cannot read a report on data from JSON: ") + error.what());
    }
}

} // namespace vergence
