#include "plugins/sugar/pipeline/stage_store.h"

#include <nlohmann/json.hpp>

#include "core/artifact/artifact_store.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace vergence::sugar {

namespace {

namespace fs = std::filesystem;

constexpr int kVersion = 1; ///< of the ways results are made; another one makes all stale
constexpr const char* kResult = "result.safetensors";
constexpr const char* kDone = "done.json";

std::optional<StageStore::Done> readDone(const fs::path& folder, const std::string& hash)
{
    std::error_code failure;
    if (!fs::is_regular_file(folder / kDone, failure) ||
        !fs::is_regular_file(folder / kResult, failure))
        return std::nullopt;
    try {
        const auto json = nlohmann::json::parse(readFile(folder / kDone));
        StageStore::Done done{json.at("hash"), json.at("seconds"), json.at("taken_from")};
        return done.hash == hash ? std::optional(done) : std::nullopt;
    } catch (const nlohmann::json::exception&) {
        log("sugar").warn("{} is damaged; its stage runs again.", (folder / kDone).string());
        return std::nullopt;
    }
}

void writeDone(const fs::path& folder, const StageStore::Done& done)
{
    const nlohmann::json json{
        {"hash", done.hash}, {"seconds", done.seconds}, {"taken_from", done.takenFrom}};
    writeFileAtomic(folder / kDone, json.dump(1));
}

} // namespace

std::string stageHash(const std::string& id, const Config& config,
                      const std::vector<std::string>& keys, const std::string& earlier)
{
    nlohmann::json all{{"version", kVersion}, {"stage", id}, {"earlier", earlier}};
    for (const std::string& key : keys) {
        const nlohmann::json value = toJson(config.value(key));
        if (key != "adam_moments" || value != "fp32") // results older than the key stay valid
            all["keys"][key] = value;
    }
    return sha256Hex(all.dump());
}

StageStore::StageStore(RunFolder folder, fs::path reuseFrom)
    : m_folder(std::move(folder)),
      m_reuseFrom(std::move(reuseFrom))
{
}

fs::path StageStore::at(const std::string& id) const
{
    return m_folder.root / "stages" / id;
}

std::optional<StageStore::Done> StageStore::find(const std::string& id,
                                                 const std::string& hash) const
{
    return readDone(at(id), hash);
}

void StageStore::takeOver(const std::string& id, const std::string& hash) const
{
    if (m_reuseFrom.empty())
        return;
    const fs::path from = m_reuseFrom / "stages" / id;
    auto done = readDone(from, hash);
    if (!done)
        return;
    if (done->takenFrom.empty())
        done->takenFrom = m_reuseFrom.lexically_normal().filename().string();
    // A link where both lie on one disk: results are never changed in place.
    const fs::path to = at(id);
    fs::create_directories(to);
    fs::remove(to / kDone);
    fs::remove(to / kResult);
    std::error_code failure;
    fs::create_hard_link(from / kResult, to / kResult, failure);
    if (failure)
        writeSafetensors(to / kResult, readSafetensors(from / kResult).tensors);
    writeDone(to, *done);
}

void StageStore::write(const std::string& id, const std::string& hash, double seconds,
                       const std::vector<HostTensor>& result) const
{
    const fs::path to = at(id);
    fs::create_directories(to);
    fs::remove(to / kDone);
    writeSafetensors(to / kResult, result);
    writeDone(to, {hash, seconds, {}});
}

SafetensorsFile StageStore::read(const std::string& id) const
{
    return readSafetensors(at(id) / kResult);
}

} // namespace vergence::sugar
