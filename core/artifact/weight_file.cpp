#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/json_text.h"
#include "core/artifact/safetensors_header.h"
#include "core/artifact/weights.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

constexpr const char *kSingle = "model.safetensors", *kIndex = "model.safetensors.index.json";

/// The file or index in a folder.
fs::path modelIn(const fs::path& folder)
{
    for (const char* name : {kIndex, kSingle}) {
        if (fs::exists(folder / name))
            return folder / name;
    }
    throw InputError(
        fmt::format("There is neither {} nor {} in {}.", kSingle, kIndex, folder.string()));
}

/// Pickle streams start with a protocol mark, newer ones are ZIP archives of them.
void refusePickles(std::span<const std::byte> bytes, const fs::path& path)
{
    const auto byteAt = [&](std::size_t i) { return std::to_integer<int>(bytes[i]); };
    const bool isZip = bytes.size() > 4 && byteAt(0) == 'P' && byteAt(1) == 'K' && byteAt(2) == 3;
    const bool isPickle = bytes.size() > 2 && byteAt(0) == 0x80 && byteAt(1) >= 2 &&
                          byteAt(1) <= 5 && path.extension() != ".safetensors";
    if (isZip || isPickle)
        throw InputError(fmt::format("{} is a pickled checkpoint, which may run foreign code when "
                                     "read. Convert it to safetensors first.",
                                     path.string()));
}

/// Name of a shard beside its index; a path to elsewhere is refused.
std::string shardName(const nlohmann::json& value, const std::string& tensor,
                      const std::string& source)
{
    const std::string name = value.is_string() ? value.get<std::string>() : std::string();
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
        throw InputError(fmt::format("Cannot read the index {}: tensor `{}` lies in no file of the "
                                     "same folder.",
                                     source, tensor));
    return name;
}

} // namespace

WeightFile WeightFile::open(const fs::path& path)
{
    WeightFile file;
    file.m_source = path.string();
    const fs::path found = fs::is_directory(path) ? modelIn(path) : path;
    if (found.extension() == ".json")
        file.readIndex(found);
    else
        file.readFile(found);
    file.sortEntries();
    return file;
}

void WeightFile::readFile(const fs::path& path)
{
    const auto mapped = std::make_shared<const MappedFile>(path);
    refusePickles(mapped->bytes(), path);
    SafetensorsLayout layout = layOutSafetensors(mapped->bytes(), path.string());
    for (SafetensorsEntry& entry : layout.header.entries)
        m_entries.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape),
                             layout.data.subspan(entry.begin, entry.end - entry.begin)});
    m_metadata.merge(layout.header.metadata);
    m_files.push_back(mapped);
}

void WeightFile::readIndex(const fs::path& path)
{
    const std::string source = path.string();
    const nlohmann::json index = parseJson(vergence::readFile(path), source);
    const auto map = index.is_object() ? index.find("weight_map") : index.end();
    if (!index.is_object() || map == index.end() || !map->is_object())
        throw InputError(fmt::format("Cannot read the index {}: it has no `weight_map`.", source));
    std::map<std::string, std::set<std::string>> shards;
    for (const auto& [tensor, file] : map->items())
        shards[shardName(file, tensor, source)].insert(tensor);
    for (auto& [shard, wanted] : shards) {
        const std::size_t before = m_entries.size();
        readFile(path.parent_path() / shard);
        for (std::size_t i = before; i < m_entries.size(); ++i)
            wanted.erase(m_entries[i].name);
        if (!wanted.empty())
            throw InputError(
                fmt::format("The index {} says that tensor `{}` lies in {}, which does "
                            "not hold it.",
                            source, *wanted.begin(), shard));
    }
}

void WeightFile::sortEntries()
{
    std::sort(m_entries.begin(), m_entries.end(),
              [](const WeightEntry& a, const WeightEntry& b) { return a.name < b.name; });
    const auto twice = std::adjacent_find(
        m_entries.begin(), m_entries.end(),
        [](const WeightEntry& a, const WeightEntry& b) { return a.name == b.name; });
    if (twice != m_entries.end())
        throw InputError(fmt::format("Two files of {} hold a tensor `{}`.", m_source, twice->name));
}

const WeightEntry* WeightFile::find(const std::string& name) const
{
    const auto found = std::lower_bound(
        m_entries.begin(), m_entries.end(), name,
        [](const WeightEntry& entry, const std::string& wanted) { return entry.name < wanted; });
    return found != m_entries.end() && found->name == name ? &*found : nullptr;
}

} // namespace vergence
