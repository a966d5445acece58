#pragma once

#include <string>
#include <utility>

#include "core/config/issue.h"

namespace vergence {

// What a rule of a schema (core/config/schema.h) has to say about a key.

inline ConfigIssue ruleIssue(IssueSeverity severity, std::string key, std::string sentence)
{
    ConfigIssue issue;
    issue.severity = severity;
    issue.key = std::move(key);
    issue.sentence = std::move(sentence);
    return issue;
}

inline ConfigIssue ruleError(std::string key, std::string sentence)
{
    return ruleIssue(IssueSeverity::Error, std::move(key), std::move(sentence));
}

inline ConfigIssue ruleWarning(std::string key, std::string sentence)
{
    return ruleIssue(IssueSeverity::Warning, std::move(key), std::move(sentence));
}

} // namespace vergence
