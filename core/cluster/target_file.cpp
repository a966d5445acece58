#include "core/cluster/target.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/studio_folders.h"
#include "core/config/nearest.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

fs::path targetPath(const std::string& name)
{
    return targetsFolder() / (name + ".toml");
}

[[noreturn]] void throwNoTarget(const std::string& name)
{
    const std::vector<std::string> known = targetNames();
    if (known.empty())
        throw InputError(fmt::format("There is no target `{}`, and no other one; `vergence targets "
                                     "new {}` makes it.",
                                     name, refusedTargetName(name).empty() ? name : "NAME"));
    const std::string near = detail::nearestOf(name, known);
    throw InputError(fmt::format("There is no target `{}`.{} Known are: {}.", name,
                                 near.empty() ? "" : fmt::format(" Did you mean `{}`?", near),
                                 fmt::join(known, ", ")));
}

Config configOf(const Target& target)
{
    ConfigBuilder builder(targetSchema());
    const std::pair<const char*, ConfigValue> values[] = {
        {"scheduler", std::string(nameOf(target.scheduler))},
        {"login", target.login},
        {"disk", std::string(nameOf(target.disk))},
        {"folder", target.folder},
        {"program", target.vergence},
        {"lanes", target.lanes},
        {"partition", target.partition},
        {"account", target.account},
        {"qos", target.qos},
        {"constraint", target.constraint},
        {"time", target.time},
        {"grace", std::int64_t{target.grace}},
        {"at_once", std::int64_t{target.atOnce}},
        {"gpus", target.gpus},
        {"cores", std::int64_t{target.cores}},
        {"memory", target.memory},
        {"extra", target.extra},
    };
    for (const auto& [key, value] : values)
        builder.addValue(key, value, {});
    const auto result = builder.build();
    if (!result.config)
        throw Error(result.issues.front().sentence, ExitCode::ConfigInvalid);
    return *result.config;
}

} // namespace

fs::path targetsFolder()
{
    return configHome() / "targets";
}

std::vector<std::string> targetNames()
{
    std::vector<std::string> names;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(targetsFolder(), code)) {
        const fs::path& path = entry.path();
        if (path.extension() == ".toml" && refusedTargetName(path.stem().string()).empty())
            names.push_back(path.stem().string());
    }
    std::ranges::sort(names);
    return names;
}

std::string refusedTargetName(const std::string& name)
{
    constexpr std::string_view kAllowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    constexpr std::size_t kLongest = 100;
    const bool isGood = !name.empty() && name.size() <= kLongest && name[0] != '.' &&
                        name[0] != '-' && name.find_first_not_of(kAllowed) == std::string::npos;
    return isGood ? std::string()
                  : fmt::format("The name of a target is of letters, digits, `_`, `-` and `.`, at "
                                "most {} of them, and begins with none of the last two (found {}).",
                                kLongest, toToml(name));
}

TargetFile parseTarget(const std::string& name, const std::string& toml)
{
    ConfigBuilder builder(targetSchema());
    builder.addToml(toml, name + ".toml");
    auto result = builder.build();
    TargetFile file;
    file.issues = std::move(result.issues);
    if (result.config)
        file.target = targetFrom(name, *result.config);
    file.target.name = name;
    return file;
}

TargetFile readTarget(const std::string& name)
{
    std::error_code code;
    if (!refusedTargetName(name).empty() || !fs::exists(targetPath(name), code))
        throwNoTarget(name);
    return parseTarget(name, readFile(targetPath(name)));
}

std::string targetToToml(const Target& target)
{
    // A lab's file begins with its plugin, which a target has not; an empty line ends that header.
    const std::string file = emitToml(configOf(target));
    return fmt::format("# Target {}: where runs of Vergence Studio may work.\n{}", target.name,
                       file.substr(file.find("\n\n") + 1));
}

void saveTarget(const Target& target)
{
    const std::string refusal = refusedTargetName(target.name);
    if (!refusal.empty())
        throw Error(refusal, ExitCode::ConfigInvalid);
    const std::string text = targetToToml(target);
    std::error_code code;
    fs::create_directories(targetsFolder(), code); // writing says what is wrong
    writeFileAtomic(targetPath(target.name), text);
}

void removeTarget(const std::string& name)
{
    std::error_code code;
    if (!refusedTargetName(name).empty() || !fs::remove(targetPath(name), code)) {
        if (code)
            throw OutputError(
                fmt::format("Cannot remove {}: {}.", targetPath(name).string(), code.message()));
        throwNoTarget(name);
    }
}

} // namespace vergence
