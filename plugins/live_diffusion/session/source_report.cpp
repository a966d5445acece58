#include "plugins/live_diffusion/session/source_report.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/session/settings.h"

namespace vergence::live {

namespace {

bool isFile(const LiveDiffusionConfig& config)
{
    return config.source == FilmKind::Images || config.source == FilmKind::Video;
}

/// "Orbits, 64×64 px, 25 frames/s", "fox.mp4, 640×480 px, 30 frames/s, 12.5 s"
std::string summaryOf(const SourceInfo& info)
{
    std::string text = info.name;
    if (info.width > 0)
        text += fmt::format(", {}×{} px", info.width, info.height);
    if (info.frames > 0)
        text += fmt::format(", {} pictures", info.frames);
    if (info.fps > 0)
        text += fmt::format(", {:.4g} frames/s", info.fps);
    if (info.seconds > 0)
        text += fmt::format(", {:.4g} s", info.seconds);
    return text;
}

} // namespace

void expectSource(const LiveDiffusionConfig& config)
{
    const bool isUsed =
        config.has(PartKind::Stream) || config.has(PartKind::Ab) || config.has(PartKind::Profile);
    if (isUsed && isFile(config))
        openSource(sourceSettings(config));
}

DataReport sourceReport(const LiveDiffusionConfig& config)
{
    DataReport report{isFile(config) ? "path" : "source", {}};
    if (config.source == FilmKind::Camera) {
        report.summary = config.path.string();
        return report;
    }
    try {
        report.summary = summaryOf(openSource(sourceSettings(config))->info());
    } catch (const InputError& failure) {
        ConfigIssue issue;
        issue.rule = "E-DATA";
        issue.key = report.key;
        issue.sentence = failure.what();
        report.issues.push_back(std::move(issue));
    }
    return report;
}

} // namespace vergence::live
