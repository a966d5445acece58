#pragma once

#include <optional>
#include <vector>

#include <QString>

#include <nlohmann/json.hpp>

#include "app/forms/config_form.h"
#include "core/config/schema.h"
#include "core/metrics/metric_decl.h"
#include "core/plugin/plugin_descriptor.h"
#include "core/view/frame.h"

namespace vergence {

/// A plugin as the window knows it: the verdict on its file and, where a probe answered, what it
/// offers.
struct PluginInfo {
    PluginDescriptor descriptor;
    std::optional<ConfigSchema> schema;
    std::vector<FormPreset> presets;
    std::vector<MetricDecl> metrics;
    std::vector<StreamDecl> streams;

    QString id() const { return QString::fromStdString(descriptor.id); }
    QString title() const; ///< name, or the file's name where the descriptor is unreadable
    bool isUsable() const { return schema.has_value(); }
    const FormPreset* preset(const QString& name) const;
    /// How the plugin opens a file of this name; null where it does not.
    const OpenedFile* opened(const QString& fileName) const;
    /// How the plugin reads a folder, by markers with a `*` or by those without; null where it does
    /// not.
    const TakenFolder* taking(const QString& folder, bool byPattern) const;
    /// The series that runs are told by, the most telling first.
    std::vector<MetricDecl> headlines() const;
};

/// Fills schema, presets, metrics and streams from what a probe prints. Throws ContractError or a
/// JSON exception on damage.
void readDescription(const nlohmann::json& description, PluginInfo& info);

/// Presets that the user saved for a plugin: `presets/<plugin>/<name>.toml` below the data folder.
std::vector<FormPreset> userPresets(const QString& plugin);
/// `toml` with a header that names the plugin, unless it has one.
std::string withPluginHeader(const std::string& toml, const QString& plugin);
/// Saves a preset under a name as near to `name` as file names and shipped presets allow; returns
/// that name. Throws OutputError.
QString saveUserPreset(const PluginInfo& plugin, const QString& name, const std::string& toml);

} // namespace vergence
