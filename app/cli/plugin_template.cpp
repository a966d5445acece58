#include "app/cli/plugin_template.h"

#include <algorithm>
#include <cctype>

#include <QFile>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;

struct TemplateFile {
    const char* source; ///< below :/plugin_template
    const char* name;   ///< @id@ stands for the plugin's id
};

constexpr TemplateFile kFiles[] = {
    {"CMakeLists.txt.in", "CMakeLists.txt"}, {"README.md.in", "README.md"},
    {"config.h.in", "@id@_config.h"},        {"plugin.cpp.in", "@id@_plugin.cpp"},
    {"plugin.json.in", "@id@.json"},         {"presets/demo.toml.in", "presets/demo.toml"},
    {"run.cpp.in", "@id@_run.cpp"},          {"run.h.in", "@id@_run.h"},
};

bool isSnakeCase(const std::string& id)
{
    return !id.empty() && std::islower(static_cast<unsigned char>(id.front())) &&
           std::ranges::all_of(
               id, [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_'; });
}

/// "heat_flow" becomes "Heat flow".
std::string titleOf(std::string id)
{
    std::ranges::replace(id, '_', ' ');
    id.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(id.front())));
    return id;
}

std::string filled(std::string text, const std::string& id)
{
    for (const auto& [mark, value] :
         {std::pair<std::string, std::string>{"@id@", id}, {"@name@", titleOf(id)}})
        for (std::size_t at = text.find(mark); at != std::string::npos;
             at = text.find(mark, at + value.size()))
            text.replace(at, mark.size(), value);
    return text;
}

} // namespace

std::vector<std::string> writePluginTemplate(const std::string& id, const fs::path& folder)
{
    if (!isSnakeCase(id))
        throw Error(
            fmt::format("`{}` is no id for a plugin: small letters, digits and _, beginning "
                        "with a letter.",
                        id),
            ExitCode::Usage);
    std::error_code code;
    if (fs::exists(folder, code) && !(fs::is_directory(folder, code) && fs::is_empty(folder, code)))
        throw Error(fmt::format("{} exists already; name another folder.", folder.string()),
                    ExitCode::Usage);
    std::vector<std::string> written;
    for (const TemplateFile& file : kFiles) {
        QFile source(QStringLiteral(":/plugin_template/") + QLatin1String(file.source));
        expects(source.open(QIODevice::ReadOnly), "the template is embedded");
        const std::string name = filled(file.name, id);
        const fs::path path = folder / name;
        fs::create_directories(path.parent_path(), code);
        if (code)
            throw OutputError(
                fmt::format("Cannot create {}: {}.", path.parent_path().string(), code.message()));
        writeFileAtomic(path, filled(source.readAll().toStdString(), id));
        written.push_back(name);
    }
    return written;
}

} // namespace vergence::cli
