#include "core/artifact/remote_run.h"

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

double remoteTime(const nlohmann::json& json, const char* key, const std::string& file)
{
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number())
        throw InputError(fmt::format("{} is damaged: `{}` must be a number.", file, key));
    return found->get<double>();
}

} // namespace

std::filesystem::path remoteFile(const RunFolder& folder)
{
    return folder.root / "remote.json";
}

bool isRemote(const RunFolder& folder)
{
    std::error_code code;
    return std::filesystem::exists(remoteFile(folder), code);
}

std::optional<RemoteRun> readRemoteRun(const RunFolder& folder)
{
    if (!isRemote(folder))
        return std::nullopt;
    const std::string file = remoteFile(folder).string();
    const nlohmann::json json = parseJson(readFile(file), file);
    if (!json.is_object())
        throw InputError(fmt::format("{} is damaged: it is not a JSON object.", file));
    RemoteRun run;
    run.target = requiredText(json, "target", file);
    run.login = requiredText(json, "login", file);
    run.program = requiredText(json, "program", file);
    run.folder = requiredText(json, "folder", file);
    run.state = requiredText(json, "state", file);
    run.text = requiredText(json, "text", file);
    run.problem = requiredText(json, "problem", file);
    run.unreachedSince = remoteTime(json, "unreached_since", file);
    // All three become words of commands.
    if (run.login.empty() || run.login.starts_with('-'))
        throw InputError(fmt::format("{} is damaged: `login` must be a computer.", file));
    if (!std::filesystem::path(run.program).is_absolute() || !run.folder.is_absolute() ||
        run.folder.filename().empty())
        throw InputError(
            fmt::format("{} is damaged: `program` and `folder` must be whole paths.", file));
    return run;
}

void writeRemoteRun(const RunFolder& folder, const RemoteRun& run)
{
    writeFileAtomic(remoteFile(folder), prettyJson({{"target", run.target},
                                                    {"login", run.login},
                                                    {"program", run.program},
                                                    {"folder", run.folder.string()},
                                                    {"state", run.state},
                                                    {"text", run.text},
                                                    {"problem", run.problem},
                                                    {"unreached_since", run.unreachedSince}}));
}

} // namespace vergence
