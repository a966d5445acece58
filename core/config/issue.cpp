#include "core/config/issue.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence {

namespace {

std::string nameOf(IssueSeverity severity)
{
    switch (severity) {
    case IssueSeverity::Error:
        return "error";
    case IssueSeverity::Warning:
        return "warning";
    case IssueSeverity::Note:
        return "note";
    }
    throw ContractError("config: no such severity");
}

IssueSeverity severityFromName(const std::string& name)
{
    for (const auto severity :
         {IssueSeverity::Error, IssueSeverity::Warning, IssueSeverity::Note}) {
        if (nameOf(severity) == name)
            return severity;
    }
    throw ContractError("config: unknown severity " + name);
}

} // namespace

std::string Place::text() const
{
    if (line <= 0)
        return source;
    const std::string position =
        column > 0 ? fmt::format("line {}, column {}", line, column) : fmt::format("line {}", line);
    return source.empty() ? position : source + " " + position;
}

std::string ConfigIssue::text() const
{
    const std::string where = Place{place.source, place.line, 0}.text();
    return where.empty() ? sentence : where + ": " + sentence;
}

bool hasErrors(const std::vector<ConfigIssue>& issues)
{
    return std::any_of(issues.begin(), issues.end(), [](const ConfigIssue& issue) {
        return issue.severity == IssueSeverity::Error;
    });
}

nlohmann::json toJson(const ConfigIssue& issue)
{
    return {{"severity", nameOf(issue.severity)},
            {"rule", issue.rule},
            {"key", issue.key},
            {"sentence", issue.sentence},
            {"source", issue.place.source},
            {"line", issue.place.line},
            {"column", issue.place.column},
            {"nearest", issue.nearest}};
}

ConfigIssue issueFromJson(const nlohmann::json& json)
{
    try {
        ConfigIssue issue;
        issue.severity = severityFromName(json.at("severity").get<std::string>());
        issue.rule = json.at("rule").get<std::string>();
        issue.key = json.at("key").get<std::string>();
        issue.sentence = json.at("sentence").get<std::string>();
        issue.place.source = json.at("source").get<std::string>();
        issue.place.line = json.at("line").get<int>();
        issue.place.column = json.at("column").get<int>();
        issue.nearest = json.at("nearest").get<std::string>();
        return issue;
    } catch (const nlohmann::json::exception& error) {
        throw ContractError(std::string("Cannot read a configuration issue from JSON: ") +
                            error.what());
    }
}

} // namespace vergence
