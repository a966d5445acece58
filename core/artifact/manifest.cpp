#include "core/artifact/manifest.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/artifact/output_file.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/cpu_threads.h"

namespace vergence {

namespace {

using nlohmann::json;

constexpr const char* kFormat = "vergence-manifest/1";

/// Variables that change what a run computes or where.
json relevantEnvironment()
{
    json variables = json::object();
    for (const char* name :
         {"CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID", "SOURCE_DATE_EPOCH", "VERGENCE_CUDA_SYNC",
          "VERGENCE_ISA", "VERGENCE_MODULE_PATH", "VERGENCE_PLUGIN_PATH", "VERGENCE_THREADS"}) {
        if (const char* value = std::getenv(name))
            variables[name] = value;
    }
    return variables;
}

json environment()
{
    struct utsname system {};
    ::uname(&system);
    const double bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<double>(::sysconf(_SC_PAGESIZE));
    return {{"os", systemName()},
            {"kernel", fmt::format("{} {}", system.sysname, system.release)},
            {"cpu", processorName()},
            {"threads", std::thread::hardware_concurrency()},
            {"ram_gib", static_cast<int>(bytes / (1 << 30) + 0.5)},
            {"env", relevantEnvironment()}};
}

template <class T>
T memberOr(const json& object, const char* key, T fallback, bool (json::*isRight)() const noexcept)
{
    const auto found = object.find(key);
    return found != object.end() && ((*found).*isRight)() ? found->get<T>() : fallback;
}

std::string compilerName()
{
#if defined(__clang__)
    return fmt::format("clang-{}.{}", __clang_major__, __clang_minor__);
#else
    return fmt::format("gcc-{}.{}", __GNUC__, __GNUC_MINOR__);
#endif
}

} // namespace

std::string systemName()
{
    constexpr std::string_view kKey = "PRETTY_NAME=";
    std::ifstream file("/etc/os-release");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(kKey))
            continue;
        std::string name = line.substr(kKey.size());
        std::erase(name, '"');
        return name;
    }
    return {};
}

json buildInfo()
{
    return {{"version", VERGENCE_VERSION},
            {"commit", VERGENCE_COMMIT},
            {"compiler", compilerName()},
            {"build", VERGENCE_BUILD_TYPE}};
}

json makeManifest(const RunFolder& folder)
{
    return {
        {"format", kFormat},
        {"run", {{"id", folder.id()}, {"parent", nullptr}, {"state", nullptr}, {"exit", nullptr}}},
        {"vergence", buildInfo()},
        {"environment", environment()},
        {"artifacts", json::array()}};
}

void writeManifest(const RunFolder& folder, json manifest, const std::vector<Artifact>& artifacts)
{
    std::vector<Artifact> sorted = artifacts;
    std::sort(sorted.begin(), sorted.end(),
              [](const Artifact& a, const Artifact& b) { return a.path < b.path; });
    json list = json::array();
    for (const Artifact& artifact : sorted) {
        list.push_back({{"path", artifact.path},
                        {"role", artifact.role},
                        {"sha256", artifact.sha256},
                        {"bytes", artifact.bytes},
                        {"title", artifact.title}});
    }
    manifest["format"] = kFormat;
    manifest["artifacts"] = std::move(list);
    manifest.erase("files"); // the list of a bundle, which describes the bundle alone
    writeFileAtomic(folder.manifest(), prettyJson(manifest));
}

json readManifest(const RunFolder& folder)
{
    json manifest = parseJson(readFile(folder.manifest()), folder.manifest().string());
    if (!manifest.is_object() ||
        memberOr<std::string>(manifest, "format", "", &json::is_string) != kFormat) {
        throw InputError(fmt::format("{} is not a manifest of the format {}.",
                                     folder.manifest().string(), kFormat));
    }
    return manifest;
}

std::vector<Artifact> artifactsOf(const json& manifest)
{
    std::vector<Artifact> artifacts;
    const auto list = manifest.find("artifacts");
    if (list == manifest.end() || !list->is_array())
        return artifacts;
    for (const json& item : *list) {
        if (!item.is_object())
            continue;
        Artifact artifact;
        artifact.path = memberOr<std::string>(item, "path", "", &json::is_string);
        artifact.role = memberOr<std::string>(item, "role", "", &json::is_string);
        artifact.sha256 = memberOr<std::string>(item, "sha256", "", &json::is_string);
        artifact.bytes = memberOr<std::uint64_t>(item, "bytes", 0, &json::is_number_unsigned);
        artifact.title = memberOr<std::string>(item, "title", "", &json::is_string);
        if (isPlainRelativePath(artifact.path))
            artifacts.push_back(std::move(artifact));
    }
    return artifacts;
}

} // namespace vergence
