#include "plugins/foveated_vlm/shards/shard_clips.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "core/artifact/digest.h"
#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> listedShards(const fs::path& folder)
{
    const fs::path list = folder / kShardList;
    toml::table table;
    try {
        table = toml::parse(readFile(list), list.string());
    } catch (const toml::parse_error& error) {
        throw InputError(fmt::format("{}, line {}: {}.", list.string(), error.source().begin.line,
                                     error.description()));
    }
    std::vector<fs::path> files;
    const toml::array* names = table["shards"].as_array();
    if (!names || names->empty())
        throw InputError(fmt::format("{} lists no shards.", list.string()));
    for (const toml::node& node : *names) {
        const auto name = node.value<std::string>();
        if (!name)
            throw InputError(fmt::format("{} lists something that is no name.", list.string()));
        files.push_back(folder / *name);
    }
    return files;
}

void readNumbers(const nlohmann::json& json, std::array<float, 4>& values)
{
    if (json.is_array() && json.size() == 4 &&
        std::ranges::all_of(json, [](const auto& value) { return value.is_number(); }))
        values = json.get<std::array<float, 4>>();
}

/// Decoded from the element type of the shard.
template <class T>
void convert(std::span<const std::byte> bytes, std::span<float> out)
{
    for (std::size_t i = 0; i < out.size(); ++i) {
        T value;
        std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
        out[i] = static_cast<float>(value);
    }
}

} // namespace

std::vector<fs::path> shardFiles(const fs::path& path)
{
    std::error_code code;
    if (fs::is_directory(path, code))
        return listedShards(path);
    return {path};
}

void writeShardList(const fs::path& folder, const std::vector<std::string>& names)
{
    toml::array list;
    for (const std::string& name : names)
        list.push_back(name);
    std::ostringstream text;
    text << toml::table{{"shards", list}} << "\n";
    writeFileAtomic(folder / kShardList, text.str());
}

std::string toJson(const ClipText& text, std::span<const float> timestamps)
{
    nlohmann::json json = nlohmann::json::object();
    const auto put = [&](const char* key, const std::string& value) {
        if (!value.empty())
            json[key] = value;
    };
    put("prompt", text.prompt);
    put("answer", text.answer);
    put("source", text.source);
    put("chosen", text.chosen);
    put("rejected", text.rejected);
    if (!timestamps.empty())
        json["timestamps"] = std::vector<float>(timestamps.begin(), timestamps.end());
    return json.empty() ? std::string() : json.dump();
}

ClipText clipTextFromJson(std::string_view text, const std::string& source,
                          std::vector<float>* timestamps)
{
    ClipText result;
    if (text.empty())
        return result;
    const nlohmann::json json = parseJson(text, source);
    if (!json.is_object())
        throw InputError(fmt::format("{}: the text of a clip is a JSON object.", source));
    const auto take = [&](const char* key, std::string& value) {
        const auto found = json.find(key);
        if (found == json.end() || found->is_null())
            return;
        if (!found->is_string())
            throw InputError(fmt::format("{}: `{}` is no text.", source, key));
        value = found->get<std::string>();
    };
    take("prompt", result.prompt);
    take("answer", result.answer);
    take("source", result.source);
    take("chosen", result.chosen);
    take("rejected", result.rejected);
    const auto times = json.find("timestamps");
    if (timestamps && times != json.end() && times->is_array() &&
        std::ranges::all_of(*times, [](const auto& value) { return value.is_number(); }))
        *timestamps = times->get<std::vector<float>>();
    return result;
}

ShardSet::ShardSet(const fs::path& path)
{
    m_first.push_back(0);
    for (const fs::path& file : shardFiles(path)) {
        m_shards.emplace_back(file);
        m_first.push_back(m_first.back() + static_cast<Index>(m_shards.back().count()));
        const ShardShape &first = shape(), &other = m_shards.back().shape();
        if (first.channels != other.channels || first.height != other.height ||
            first.width != other.width || first.type != other.type)
            throw InputError(fmt::format("The shards {} and {} have frames of different forms.",
                                         m_shards.front().path().string(), file.string()));
        m_shards.back().readAhead();
    }
}

std::pair<const Shard*, std::size_t> ShardSet::at(Index clip) const
{
    expects(clip >= 0 && clip < count(), "ShardSet: a clip of the set");
    const auto after = std::upper_bound(m_first.begin(), m_first.end(), clip);
    const auto shard = static_cast<std::size_t>(after - m_first.begin()) - 1;
    return {&m_shards[shard], static_cast<std::size_t>(clip - m_first[shard])};
}

std::string ShardSet::framesDigest() const
{
    if (m_shards.size() == 1)
        return m_shards.front().digest();
    Digest digest;
    for (const Shard& shard : m_shards)
        digest.add(shard.digest());
    return digest.hex();
}

ShardClips::ShardClips(const fs::path& path) : m_set(path)
{
    if (m_set.shape().channels != 3 || m_set.shape().type != ShardType::U8)
        throw InputError(
            fmt::format("The shard {} holds no frames of RGB bytes; is it one of latents?",
                        m_set.shards().front().path().string()));
}

ClipInfo ShardClips::info(Index clip) const
{
    const auto [shard, i] = m_set.at(clip);
    const ShardClip& entry = shard->clip(i);
    ClipInfo info;
    info.id = entry.id;
    info.frames = static_cast<int>(entry.frames);
    info.seconds = entry.seconds;
    info.fps = entry.fps;
    info.isShort = entry.flags & kShardShort;
    info.isImage = entry.flags & kShardImage;
    info.text = clipTextFromJson(
        shard->text(i), fmt::format("{}, clip {}", shard->path().string(), i), &info.timestamps);
    return info;
}

void ShardClips::read(Index clip, std::span<std::uint8_t> out) const
{
    const auto [shard, i] = m_set.at(clip);
    const auto bytes = shard->frames(i);
    expects(out.size() == bytes.size(), "ShardClips: room for all frames of the clip");
    if (!bytes.empty())
        std::memcpy(out.data(), bytes.data(), bytes.size());
}

std::string ShardClips::digest() const
{
    Digest digest;
    for (const Shard& shard : m_set.shards()) {
        digest.add(shard.digest());
        for (std::size_t i = 0; i < shard.count(); ++i) {
            const ShardClip& clip = shard.clip(i);
            digest.add(fmt::format("\n{} {} {} {} {} {}", clip.id, clip.frames, clip.flags,
                                   clip.seconds, clip.fps, clip.textBytes));
            digest.add(shard.text(i));
        }
    }
    return digest.hex();
}

std::span<const std::uint8_t> ShardClips::mapped() const
{
    if (m_set.shards().size() != 1)
        return {};
    const auto bytes = m_set.shards().front().contiguous();
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

std::string framesDigest(const ClipSource& clips)
{
    const auto* shards = dynamic_cast<const ShardClips*>(&clips);
    return shards ? shards->set().framesDigest() : clips.digest();
}

ShardLatents::ShardLatents(const fs::path& path, const ClipSource& clips) : m_set(path)
{
    const std::string name = path.string();
    if (m_set.shape().channels != 4 || m_set.shape().type == ShardType::U8)
        throw InputError(fmt::format("The shard {} holds no latents of four channels.", name));
    if (m_set.count() != clips.count())
        throw InputError(fmt::format("The latents {} are of {} clips, but there are {}.", name,
                                     m_set.count(), clips.count()));
    const std::string& facts = m_set.shards().front().facts();
    nlohmann::json json = parseJson(facts.empty() ? "{}" : facts, name);
    const auto named = [&](const char* key, const std::string& otherwise) {
        return json.is_object() && json.contains(key) && json[key].is_string()
                   ? json[key].get<std::string>()
                   : otherwise;
    };
    if (named("frames_digest", "") != framesDigest(clips))
        throw InputError(fmt::format("The latents {} were made of other frames: they name the "
                                     "digest `{}` instead of `{}`.",
                                     name, named("frames_digest", ""), framesDigest(clips)));
    for (Index clip = 0; clip < clips.count(); ++clip) {
        const auto [shard, i] = m_set.at(clip);
        if (static_cast<int>(shard->clip(i).frames) != clips.info(clip).frames)
            throw InputError(fmt::format("The latents {} have {} frames of clip {} instead of {}.",
                                         name, shard->clip(i).frames, clip,
                                         clips.info(clip).frames));
    }
    m_provider = named("provider", m_provider);
    readNumbers(json.value("mean", nlohmann::json()), m_statistics.mean);
    readNumbers(json.value("deviation", nlohmann::json()), m_statistics.deviation);
}

std::array<Index, 3> ShardLatents::shape() const
{
    const ShardShape& shape = m_set.shape();
    return {Index(shape.channels), Index(shape.height), Index(shape.width)};
}

void ShardLatents::read(Index clip, std::span<float> out) const
{
    const auto [shard, i] = m_set.at(clip);
    const auto bytes = shard->frames(i);
    expects(out.size() * bytesOf(m_set.shape().type) == bytes.size(),
            "ShardLatents: room for all frames of the clip");
    switch (m_set.shape().type) {
    case ShardType::BF16:
        return convert<BFloat16>(bytes, out);
    case ShardType::F16:
        return convert<Float16>(bytes, out);
    case ShardType::F32:
    case ShardType::U8:
        break;
    }
    convert<float>(bytes, out);
}

} // namespace vergence::fvlm
