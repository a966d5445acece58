#include "core/plugin/lab_plugin.h"

#include <algorithm>
#include <sstream>

#include <QDir>
#include <QFile>

#include "core/plugin/plugin_registry.h"
#include "core/run/messages.h"

namespace vergence {

LabPlugin::~LabPlugin() = default;

namespace {

/// Text after `# <label>:` in the comment block that opens the file; empty where there is none.
std::string commentValue(const std::string& toml, const std::string& label)
{
    const std::string prefix = "# " + label + ":";
    std::istringstream lines(toml);
    for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
        if (!line.starts_with(prefix))
            continue;
        const auto first = line.find_first_not_of(" \t", prefix.size());
        const auto last = line.find_last_not_of(" \t\r");
        return first == std::string::npos ? std::string() : line.substr(first, last - first + 1);
    }
    return {};
}

std::string firstComment(const std::string& toml)
{
    if (!toml.starts_with('#'))
        return {};
    const auto first = toml.find_first_not_of("# \t");
    const auto end = std::min(toml.find('\n'), toml.size());
    return first < end ? toml.substr(first, end - first) : std::string();
}

Preset makePreset(const QFileInfo& file)
{
    QFile resource(file.filePath());
    if (!resource.open(QIODevice::ReadOnly))
        throw InputError("The preset " + file.filePath().toStdString() + " cannot be read.");
    Preset preset;
    preset.name = file.completeBaseName().toStdString();
    preset.toml = resource.readAll().toStdString();
    preset.title = commentValue(preset.toml, "title");
    preset.summary = commentValue(preset.toml, "summary");
    if (preset.title.empty())
        preset.title = preset.name;
    if (preset.summary.empty())
        preset.summary = firstComment(preset.toml);
    return preset;
}

const char* nameOf(MetricDecl::Better better)
{
    switch (better) {
    case MetricDecl::Better::Lower:
        return "lower";
    case MetricDecl::Better::Higher:
        return "higher";
    case MetricDecl::Better::Neither:
        break;
    }
    return "neither";
}

} // namespace

std::vector<Preset> LabPlugin::presets() const
{
    const QDir folder(":/presets/" + QString::fromStdString(schema().id()));
    std::vector<Preset> presets;
    for (const QFileInfo& file : folder.entryInfoList({"*.toml"}, QDir::Files, QDir::Name))
        presets.push_back(makePreset(file));
    std::stable_partition(presets.begin(), presets.end(),
                          [](const Preset& preset) { return preset.name.starts_with("demo"); });
    return presets;
}

nlohmann::json describePlugin(const PluginDescriptor& descriptor, const LabPlugin& plugin)
{
    auto presets = nlohmann::json::array();
    for (const Preset& preset : plugin.presets())
        presets.push_back({{"name", preset.name},
                           {"title", preset.title},
                           {"summary", preset.summary},
                           {"toml", preset.toml}});
    auto metrics = nlohmann::json::array();
    for (const MetricDecl& metric : plugin.metrics())
        metrics.push_back({{"name", metric.name},
                           {"title", metric.title},
                           {"unit", metric.unit},
                           {"better", nameOf(metric.better)},
                           {"headline", metric.isHeadline}});
    PluginDescriptor described = descriptor;
    if (described.demo.empty())
        described.demo = "demo";
    if (std::none_of(presets.begin(), presets.end(),
                     [&](const auto& preset) { return preset["name"] == described.demo; }))
        described.demo.clear();
    return {{"descriptor", toJson(described)},
            {"schema", plugin.schema().toJson()},
            {"presets", presets},
            {"metrics", metrics},
            {"streams", streamsToJson(plugin.streams())}};
}

} // namespace vergence
