#include "app/shell/plugin_info.h"

#include <algorithm>
#include <iterator>

#include <QDir>
#include <QDirIterator>
#include <QRegularExpression>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/plugin/plugin_registry.h"

namespace vergence {

namespace {

std::string textOf(const nlohmann::json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

MetricDecl::Better betterFromName(const std::string& name)
{
    if (name == "lower")
        return MetricDecl::Better::Lower;
    return name == "higher" ? MetricDecl::Better::Higher : MetricDecl::Better::Neither;
}

MetricDecl readMetric(const nlohmann::json& json)
{
    MetricDecl metric;
    metric.name = textOf(json, "name");
    metric.title = textOf(json, "title");
    metric.unit = textOf(json, "unit");
    metric.better = betterFromName(textOf(json, "better"));
    const auto headline = json.find("headline");
    metric.isHeadline = headline != json.end() && headline->is_boolean() && headline->get<bool>();
    return metric;
}

StreamDecl readStream(const nlohmann::json& json)
{
    StreamDecl stream;
    stream.id = textOf(json, "id");
    stream.title = textOf(json, "title");
    stream.kind = streamKindFromName(textOf(json, "kind"));
    stream.help = textOf(json, "help");
    stream.compareGroup = textOf(json, "compare_group");
    return stream;
}

FormPreset readPreset(const nlohmann::json& json)
{
    return {QString::fromStdString(textOf(json, "name")),
            QString::fromStdString(textOf(json, "title")),
            QString::fromStdString(textOf(json, "summary")),
            QString::fromStdString(textOf(json, "toml")), false};
}

/// Whether `folder` holds a file as `marker` says: a name or pattern for each level.
bool isBelow(const QString& folder, const QStringList& marker)
{
    const auto kinds = marker.size() == 1 ? QDir::Files : QDir::Dirs | QDir::NoDotAndDotDot;
    QDirIterator found(folder, {marker.front()}, kinds);
    while (found.hasNext()) {
        const QString below = found.next();
        if (marker.size() == 1 || isBelow(below, marker.mid(1)))
            return true;
    }
    return false;
}

QDir presetFolder(const QString& plugin)
{
    return QDir(QString::fromStdString((dataHome() / "presets").string()) + "/" + plugin);
}

/// `name` as the name of a file that every system can hold; the ending comes on top.
QString fileNameOf(const QString& name)
{
    static const QRegularExpression forbidden(R"([\p{Cc}/\\:*?"<>|]|^\.)");
    constexpr int kCharacters = 80, kBytes = 200;
    QString safe = name.trimmed();
    safe.replace(forbidden, "_");
    safe.truncate(kCharacters);
    while (safe.toUtf8().size() > kBytes)
        safe.chop(1);
    if (!safe.isEmpty() && safe.back().isHighSurrogate()) // half a character
        safe.chop(1);
    return safe.trimmed();
}

} // namespace

QString PluginInfo::title() const
{
    return QString::fromStdString(descriptor.name.empty() ? descriptor.path.filename().string()
                                                          : descriptor.name);
}

const FormPreset* PluginInfo::preset(const QString& name) const
{
    for (const FormPreset& preset : presets)
        if (preset.name == name)
            return &preset;
    return nullptr;
}

const OpenedFile* PluginInfo::opened(const QString& fileName) const
{
    for (const OpenedFile& kind : descriptor.opens)
        if (fileName.endsWith('.' + QString::fromStdString(kind.suffix), Qt::CaseInsensitive))
            return &kind;
    return nullptr;
}

const TakenFolder* PluginInfo::taking(const QString& folder, bool byPattern) const
{
    for (const TakenFolder& kind : descriptor.takes) {
        QStringList names; // looked for in one pass: folders may be large
        for (const std::string& words : kind.markers) {
            const QString marker = QString::fromStdString(words);
            if (marker.contains('*') != byPattern)
                continue;
            if (!marker.contains('/'))
                names << marker;
            else if (isBelow(folder, marker.split('/')))
                return &kind;
        }
        if (!names.isEmpty() && QDirIterator(folder, names, QDir::Files).hasNext())
            return &kind;
    }
    return nullptr;
}

std::vector<MetricDecl> PluginInfo::headlines() const
{
    std::vector<MetricDecl> found;
    std::copy_if(metrics.begin(), metrics.end(), std::back_inserter(found),
                 [](const MetricDecl& metric) { return metric.isHeadline; });
    return found;
}

void readDescription(const nlohmann::json& description, PluginInfo& info)
{
    for (const auto& json : description.value("metrics", nlohmann::json::array()))
        info.metrics.push_back(readMetric(json));
    for (const auto& json : description.value("streams", nlohmann::json::array()))
        info.streams.push_back(readStream(json));
    for (const auto& json : description.value("presets", nlohmann::json::array()))
        info.presets.push_back(readPreset(json));
    info.schema = ConfigSchema::fromJson(description.at("schema"));
}

std::vector<FormPreset> userPresets(const QString& plugin)
{
    std::vector<FormPreset> presets;
    for (const QFileInfo& file :
         presetFolder(plugin).entryInfoList({"*.toml"}, QDir::Files, QDir::Name)) {
        try {
            presets.push_back({file.completeBaseName(), file.completeBaseName(),
                               QObject::tr("saved by you"),
                               QString::fromStdString(readFile(file.filePath().toStdString())),
                               true, file.filePath()});
        } catch (const InputError&) {
            // A preset that cannot be read is not offered.
        }
    }
    return presets;
}

std::string withPluginHeader(const std::string& toml, const QString& plugin)
{
    if (!readConfigHeader(toml, "draft").plugin.empty())
        return toml;
    return "plugin = \"" + plugin.toStdString() + "\"\n" + toml;
}

QString saveUserPreset(const PluginInfo& plugin, const QString& name, const std::string& toml)
{
    QString stored = fileNameOf(name);
    expects(!stored.isEmpty(), "preset: the name must not be empty");
    if (const FormPreset* same = plugin.preset(stored); same != nullptr && !same->isUserPreset)
        stored = fileNameOf(ownPresetName(stored));
    const QDir folder = presetFolder(plugin.id());
    if (!folder.mkpath("."))
        throw OutputError("The preset cannot be saved: " + folder.path().toStdString() +
                          " cannot be made. Check the rights of the folder above.");
    writeFileAtomic(folder.filePath(stored + ".toml").toStdString(),
                    withPluginHeader(toml, plugin.id()));
    return stored;
}

} // namespace vergence
