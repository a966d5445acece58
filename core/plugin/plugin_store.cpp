#include "core/plugin/plugin_store.h"

#include <algorithm>

#include <dlfcn.h>

#include <QCryptographicHash>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/plugin/plugin_registry.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Contents of a JSON file of ours; null where it is missing or damaged.
json readJson(const fs::path& path)
{
    std::error_code code;
    if (!fs::exists(path, code))
        return nullptr;
    json content = json::parse(readFile(path), nullptr, false);
    if (content.is_discarded()) {
        log("plugin").warn("{} is damaged and was ignored.", path.string());
        return nullptr;
    }
    return content;
}

fs::path quarantineFile()
{
    return stateHome() / "quarantine.json";
}

fs::path choicesFile()
{
    return configHome() / "plugins.json";
}

/// The library that answers live in: a new build of it makes old answers stale.
json hostStamp()
{
    Dl_info here{};
    const bool known = ::dladdr(reinterpret_cast<const void*>(&cachedDescription), &here) != 0;
    return FileStamp::of(known && here.dli_fname ? here.dli_fname : "").toJson();
}

fs::path cacheFile(const FileStamp& plugin)
{
    const auto hash =
        QCryptographicHash::hash(QByteArray::fromStdString(plugin.path), QCryptographicHash::Sha1);
    return cacheHome() / "probe" / (hash.toHex().toStdString() + ".json");
}

std::set<std::string> namesOf(const json& object, const char* key)
{
    std::set<std::string> names;
    if (object.is_object() && object.contains(key) && object[key].is_array()) {
        for (const json& name : object[key]) {
            if (name.is_string())
                names.insert(name.get<std::string>());
        }
    }
    return names;
}

} // namespace

FileStamp FileStamp::of(const fs::path& path)
{
    std::error_code code;
    FileStamp stamp;
    stamp.path = fs::absolute(path, code).lexically_normal().string();
    const auto size = fs::file_size(path, code);
    stamp.size = code ? 0 : size;
    const auto time = fs::last_write_time(path, code);
    stamp.modified = code ? 0 : static_cast<std::int64_t>(time.time_since_epoch().count());
    return stamp;
}

json FileStamp::toJson() const
{
    return {{"path", path}, {"size", size}, {"modified", modified}};
}

FileStamp FileStamp::fromJson(const json& object)
{
    FileStamp stamp;
    if (object.is_object() && object.contains("path") && object["path"].is_string())
        stamp.path = object["path"].get<std::string>();
    if (object.is_object() && object.contains("size") && object["size"].is_number_integer())
        stamp.size = object["size"].get<std::uintmax_t>();
    if (object.is_object() && object.contains("modified") && object["modified"].is_number_integer())
        stamp.modified = object["modified"].get<std::int64_t>();
    return stamp;
}

QuarantineList QuarantineList::read()
{
    QuarantineList list;
    json content = readJson(quarantineFile());
    if (content.is_array())
        list.m_entries = std::move(content);
    return list;
}

std::optional<std::string> QuarantineList::reasonFor(const FileStamp& stamp) const
{
    for (const json& entry : m_entries) {
        if (FileStamp::fromJson(entry) == stamp)
            return entry.contains("reason") && entry["reason"].is_string()
                       ? entry["reason"].get<std::string>()
                       : "It is quarantined.";
    }
    return std::nullopt;
}

void QuarantineList::remove(const FileStamp& stamp)
{
    const QuarantineList list = read();
    json kept = json::array();
    for (const json& entry : list.m_entries) {
        if (FileStamp::fromJson(entry).path != stamp.path)
            kept.push_back(entry);
    }
    if (kept.size() != list.m_entries.size())
        writeFileAtomic(quarantineFile(), kept.dump(2) + "\n");
}

void QuarantineList::add(const FileStamp& stamp, const std::string& reason)
{
    remove(stamp);
    json entries = read().m_entries;
    json entry = stamp.toJson();
    entry["reason"] = reason;
    entries.push_back(std::move(entry));
    writeFileAtomic(quarantineFile(), entries.dump(2) + "\n");
}

PluginChoices PluginChoices::read()
{
    const json content = readJson(choicesFile());
    return {namesOf(content, "enabled"), namesOf(content, "disabled")};
}

void PluginChoices::write() const
{
    writeFileAtomic(choicesFile(),
                    json{{"enabled", enabled}, {"disabled", disabled}}.dump(2) + "\n");
}

std::optional<json> cachedDescription(const FileStamp& plugin)
{
    const json content = readJson(cacheFile(plugin));
    if (!content.is_object() || !content.contains("description") ||
        FileStamp::fromJson(content.value("plugin", json())) != plugin ||
        content.value("host", json()) != hostStamp())
        return std::nullopt;
    return content["description"];
}

void cacheDescription(const FileStamp& plugin, const json& description)
{
    try {
        const fs::path file = cacheFile(plugin);
        std::error_code code;
        fs::create_directories(file.parent_path(), code);
        writeFileAtomic(
            file,
            json{{"plugin", plugin.toJson()}, {"host", hostStamp()}, {"description", description}}
                .dump());
    } catch (const IoError& error) {
        log("plugin").warn("The description of a plugin is not kept. {}", error.what());
    }
}

} // namespace vergence
