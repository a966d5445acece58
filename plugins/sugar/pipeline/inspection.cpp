#include "plugins/sugar/pipeline/inspection.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"
#include "plugins/sugar/pipeline/grouped.h"
#include "plugins/sugar/pipeline/settings.h"

namespace vergence::sugar {

namespace {

constexpr std::size_t kMostNamed = 3;   ///< missing photographs in a sentence
constexpr std::size_t kMostIssues = 20; ///< of one kind

ConfigIssue sceneIssue(IssueSeverity severity, const std::string& id, std::string sentence)
{
    ConfigIssue issue;
    issue.severity = severity;
    issue.rule = id;
    issue.key = "scene";
    issue.sentence = std::move(sentence);
    return issue;
}

std::string counted(std::size_t number, const char* one)
{
    return fmt::format("{} {}{}", grouped(number), one, number == 1 ? "" : "s");
}

void addDamage(DataReport& report, const Scene& scene, bool isSkipped)
{
    const auto severity = isSkipped ? IssueSeverity::Warning : IssueSeverity::Error;
    for (std::size_t i = 0; i < std::min(scene.damaged.size(), kMostIssues); ++i) {
        const DamagedLine& line = scene.damaged[i];
        ConfigIssue issue = sceneIssue(
            severity, "E-DATA", line.fault + (isSkipped ? "; what it says is left out." : "."));
        issue.place.source =
            std::filesystem::path(line.file).lexically_relative(scene.root).generic_string();
        issue.place.line = line.number;
        report.issues.push_back(std::move(issue));
    }
    if (scene.damaged.size() > kMostIssues)
        report.issues.push_back(
            sceneIssue(severity, "E-DATA",
                       fmt::format("{} cannot be read either.",
                                   counted(scene.damaged.size() - kMostIssues, "further line"))));
    if (!isSkipped && !scene.damaged.empty())
        report.remedy = "damaged_lines=skip";
}

std::vector<std::string> missingPhotographs(const Scene& scene)
{
    std::vector<std::string> names;
    for (const SourceView& view : scene.views)
        if (!std::filesystem::exists(view.image))
            names.push_back(view.name);
    return names;
}

std::string missingSentence(const std::vector<std::string>& names, std::size_t listed)
{
    const std::size_t named = std::min(names.size(), kMostNamed);
    const std::string more =
        names.size() > named ? fmt::format(" and {} more", names.size() - named) : "";
    return fmt::format(
        "{} of {} photographs {} missing and left out: {}{}.", grouped(names.size()),
        grouped(listed), names.size() == 1 ? "is" : "are",
        fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), ", "), more);
}

/// What is wrong with the photographs; how many can be used.
std::size_t addPhotographs(DataReport& report, const SugarConfig& config, const Scene& scene,
                           std::size_t listed)
{
    const std::vector<std::string> missing = missingPhotographs(scene);
    try {
        const auto pictures = picturesOf(config, scene);
        if (!missing.empty())
            report.issues.push_back(
                sceneIssue(IssueSeverity::Warning, "E-MISSING", missingSentence(missing, listed)));
        std::size_t rows = 0;
        for (const SceneFinding& finding : pictures->findings()) {
            const bool isNews =
                finding.severity == SceneFinding::Severity::Warning && finding.id != "E-MISSING";
            if (isNews && rows++ < kMostIssues)
                report.issues.push_back(
                    sceneIssue(IssueSeverity::Warning, finding.id, finding.sentence));
        }
        return pictures->count();
    } catch (const InputError& error) {
        report.issues.push_back(sceneIssue(IssueSeverity::Error,
                                           missing.empty() ? "E-DATA" : "E-MISSING", error.what()));
        return scene.views.size() - missing.size();
    }
}

} // namespace

DataReport inspectedScene(const SugarConfig& config)
{
    DataReport report;
    if (config.scene.empty())
        return report;
    report.key = "scene";
    try {
        const Scene scene = readScene(config.scene, config.images, true);
        const auto lost = std::count_if(scene.damaged.begin(), scene.damaged.end(),
                                        [](const DamagedLine& line) { return line.isPhotograph; });
        const std::size_t listed = scene.views.size() + static_cast<std::size_t>(lost);
        addDamage(report, scene, config.damagedLines == "skip");
        const std::size_t usable = addPhotographs(report, config, scene, listed);
        report.summary = fmt::format(
            "{}, {}{}, {}, {}", scene.kind.starts_with("COLMAP") ? "COLMAP" : scene.kind,
            usable < listed ? grouped(usable) + " of " : "", counted(listed, "image"),
            counted(scene.cameras.size(), "camera"), counted(scene.points.size(), "point"));
    } catch (const InputError& error) {
        report.issues.push_back(sceneIssue(IssueSeverity::Error, "E-DATA", error.what()));
    }
    return report;
}

} // namespace vergence::sugar
