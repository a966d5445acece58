#include "plugins/mc_embedding/study/inspection.h"

#include "core/config/rule_issues.h"
#include "plugins/mc_embedding/models/vision_model.h"

namespace vergence::mc_embedding {

namespace {

ConfigIssue dataIssue(IssueSeverity severity, const std::string& key, const std::string& sentence)
{
    ConfigIssue issue = ruleIssue(severity, key, sentence);
    issue.rule = "E-DATA";
    return issue;
}

} // namespace

DataReport inspectedModels(const McEmbeddingConfig& config)
{
    DataReport report;
    std::size_t usable = 0;
    for (const std::string& model : config.models) {
        const std::filesystem::path folder = config.folderOf(model);
        usable += folder.empty() && (isDemoModel(model) || config.allowRandom) ? 1 : 0;
        if (folder.empty())
            continue;
        const std::string key = "folder_" + model;
        const FolderReport found = inspectFolder(model, folder);
        const auto add = [&](IssueSeverity severity, const std::string& sentence) {
            report.issues.push_back(dataIssue(severity, key, sentence));
        };
        if (report.key.empty() || !found.contradiction.empty())
            report.key = key;
        if (!found.summary.empty())
            report.summary += (report.summary.empty() ? "" : "; ") + found.summary;
        if (!found.contradiction.empty())
            add(IssueSeverity::Error, found.contradiction);
        if (!found.unusable.empty())
            add(IssueSeverity::Warning, model + " will be left out: " + found.unusable);
        for (const std::string& note : found.notes)
            add(IssueSeverity::Note, model + ": " + note + ".");
        usable += found.unusable.empty() ? 1 : 0;
    }
    if (usable == 0 && !report.issues.empty()) // nothing is left to measure
        report.issues.front().severity = IssueSeverity::Error;
    return report;
}

} // namespace vergence::mc_embedding
