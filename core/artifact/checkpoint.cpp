#include "core/artifact/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/json_text.h"
#include "core/artifact/output_file.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kFormat = "vergence-checkpoint/1";
constexpr const char* kTensorsFile = "tensors.safetensors";
constexpr const char* kStateFile = "state.json";
constexpr const char* kFloatKey = "$float";

/// JSON has no NaN and no infinity, but a best value so far may be one: they travel as {"$float":
/// "inf"}.
json encodeNonFinite(const json& value)
{
    if (value.is_number_float() && !std::isfinite(value.get<double>())) {
        const double number = value.get<double>();
        return json::object({{kFloatKey, std::isnan(number) ? "nan"
                                         : number > 0       ? "inf"
                                                            : "-inf"}});
    }
    if (!value.is_structured())
        return value;
    json copy = value;
    for (json& item : copy)
        item = encodeNonFinite(item);
    return copy;
}

json decodeNonFinite(const json& value)
{
    if (!value.is_structured())
        return value;
    if (value.is_object() && value.size() == 1 && value.contains(kFloatKey) &&
        value[kFloatKey].is_string()) {
        const auto text = value[kFloatKey].get<std::string>();
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        return text == "inf"    ? kInfinity
               : text == "-inf" ? -kInfinity
                                : std::numeric_limits<double>::quiet_NaN();
    }
    json copy = value;
    for (json& item : copy)
        item = decodeNonFinite(item);
    return copy;
}

/// Number behind "step-", or -1 for other names.
std::int64_t stepOf(const fs::path& directory)
{
    const std::string name = directory.filename().string();
    constexpr std::string_view kPrefix = "step-";
    std::int64_t step = -1;
    if (name.rfind(kPrefix, 0) != 0)
        return -1;
    const char* end = name.data() + name.size();
    const auto [last, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
    return error == std::errc() && last == end ? step : -1;
}

/// Removes a folder while its name shows that it is not complete, so that an interruption leaves
/// nothing half.
void removeFolder(const fs::path& directory)
{
    std::error_code code;
    const fs::path doomed =
        directory.parent_path() / fmt::format(".{}.old", directory.filename().string());
    fs::rename(directory, doomed, code);
    fs::remove_all(code ? directory : doomed, code);
}

/// Leftovers of writers that died. A run folder has one writer.
void removeLeftovers(const fs::path& parent)
{
    std::error_code code;
    std::vector<fs::path> leftovers;
    for (const auto& entry : fs::directory_iterator(parent, code)) {
        if (entry.path().filename().string().rfind(".step-", 0) == 0)
            leftovers.push_back(entry.path());
    }
    for (const fs::path& path : leftovers)
        fs::remove_all(path, code);
}

/// A folder under a hidden name; gone unless it was renamed.
class HiddenFolder {
public:
    explicit HiddenFolder(const fs::path& target)
        : m_target(target),
          m_hidden(target.parent_path() /
                   fmt::format(".{}.{}.part", target.filename().string(), ::getpid()))
    {
        std::error_code code;
        fs::create_directories(m_hidden, code);
        if (code)
            throwCannotWrite(m_hidden, code.value());
    }
    ~HiddenFolder()
    {
        std::error_code code;
        fs::remove_all(m_hidden, code); // nothing is left there after commit()
    }
    HiddenFolder(const HiddenFolder&) = delete;
    HiddenFolder& operator=(const HiddenFolder&) = delete;

    const fs::path& path() const { return m_hidden; }
    void commit()
    {
        flushFolder(m_hidden);
        if (fs::exists(m_target))
            removeFolder(m_target);
        std::error_code code;
        fs::rename(m_hidden, m_target, code);
        if (code)
            throwCannotWrite(m_target, code.value());
        flushFolder(m_target.parent_path());
    }

private:
    fs::path m_target, m_hidden;
};

json readState(const fs::path& directory)
{
    const fs::path file = directory / kStateFile;
    json state = parseJson(readFile(file), file.string());
    const auto fail = [&](const char* reason) {
        throw InputError(fmt::format("The checkpoint {} is damaged: {} {}.", directory.string(),
                                     kStateFile, reason));
    };
    if (!state.is_object() || state.value("format", json()) != kFormat)
        fail("is not of this format");
    if (!state.contains("step") || !state["step"].is_number_integer())
        fail("has no step");
    if (!state.contains("state"))
        fail("has no state");
    if (!state.contains("tensors_sha256") || !state["tensors_sha256"].is_string())
        fail("has no hash of the tensors");
    return state;
}

} // namespace

const HostTensor& Checkpoint::tensor(const std::string& name) const
{
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const HostTensor& t) { return t.name == name; });
    if (found == tensors.end())
        throw InputError(fmt::format("The checkpoint of step {} has no tensor `{}`.", step, name));
    return *found;
}

fs::path saveCheckpoint(const RunFolder& folder, const Checkpoint& checkpoint, int keep)
{
    expects(keep >= 1, "saveCheckpoint: at least one is kept");
    expects(checkpoint.step >= 0, "saveCheckpoint: step must not be negative");
    removeLeftovers(folder.checkpoints());
    const fs::path target = folder.checkpoints() / fmt::format("step-{:08}", checkpoint.step);
    {
        HiddenFolder hidden(target);
        writeSafetensors(hidden.path() / kTensorsFile, checkpoint.tensors);
        const json state{{"format", kFormat},
                         {"step", checkpoint.step},
                         {"tensors_sha256", sha256OfFile(hidden.path() / kTensorsFile)},
                         {"state", encodeNonFinite(checkpoint.state)}};
        writeFileAtomic(hidden.path() / kStateFile, prettyJson(state));
        hidden.commit();
    }
    // The one just written stays. Larger numbers, which a return to an earlier step left, go first:
    // they are not of this run any more, or damaged.
    std::vector<fs::path> all = listCheckpoints(folder);
    all.erase(std::remove(all.begin(), all.end(), target), all.end());
    std::stable_partition(all.begin(), all.end(),
                          [&](const fs::path& path) { return stepOf(path) > checkpoint.step; });
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep) <= all.size(); ++i)
        removeFolder(all[i]);
    return target;
}

Checkpoint loadCheckpoint(const fs::path& directory)
{
    const json state = readState(directory);
    const fs::path tensors = directory / kTensorsFile;
    Checkpoint checkpoint;
    checkpoint.tensors = readSafetensors(tensors).tensors;
    if (sha256OfFile(tensors) != state["tensors_sha256"].get<std::string>())
        throw InputError(
            fmt::format("The checkpoint {} is damaged: {} has changed since it was written.",
                        directory.string(), kTensorsFile));
    checkpoint.step = state["step"].get<std::int64_t>();
    checkpoint.state = decodeNonFinite(state["state"]);
    return checkpoint;
}

std::vector<fs::path> listCheckpoints(const RunFolder& folder)
{
    std::vector<fs::path> found;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder.checkpoints(), code)) {
        const fs::path& path = entry.path();
        std::error_code ignored;
        if (stepOf(path) >= 0 && fs::is_regular_file(path / kTensorsFile, ignored) &&
            fs::is_regular_file(path / kStateFile, ignored))
            found.push_back(path);
    }
    std::sort(found.begin(), found.end(),
              [](const fs::path& a, const fs::path& b) { return stepOf(a) < stepOf(b); });
    return found;
}

std::optional<Checkpoint> loadNewestCheckpoint(const RunFolder& folder)
{
    std::error_code code;
    fs::directory_iterator(folder.checkpoints(), code);
    if (code && code != std::errc::no_such_file_or_directory)
        throw InputError(fmt::format("The checkpoints of {} cannot be listed: {}.", folder.id(),
                                     code.message()));
    auto all = listCheckpoints(folder);
    while (!all.empty()) {
        try {
            return loadCheckpoint(all.back());
        } catch (const InputError& error) {
            // One damaged file must not cost the run: the one before it is tried.
            all.pop_back();
            if (all.empty())
                throw InputError(fmt::format("{} There is none before it. To begin anew, start "
                                             "another run with its config.toml.",
                                             error.what()));
            log("artifact").warn("{} The one before it is tried.", error.what());
        }
    }
    return std::nullopt;
}

} // namespace vergence
