#include "plugins/live_diffusion/bench/baselines.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/bench/environment.h"

namespace vergence::live {

namespace fs = std::filesystem;

namespace {

bool isPlainName(const std::string& name)
{
    return !name.empty() && name.front() != '.' &&
           std::all_of(name.begin(), name.end(), [](unsigned char c) {
               return std::isalnum(c) || c == '.' || c == '_' || c == '-';
           });
}

} // namespace

fs::path BaselineStore::pathOf(const std::string& name) const
{
    if (!isPlainName(name))
        throw InputError(fmt::format(
            "`{}` is no name for a baseline; take letters, digits, '.', '_' and '-'.", name));
    return m_folder / (name + ".json");
}

void BaselineStore::save(const std::string& name, const BenchReport& report) const
{
    const fs::path path = pathOf(name);
    std::error_code code;
    fs::create_directories(m_folder, code);
    if (code)
        throw OutputError(fmt::format("The folder {} of the baselines cannot be made ({}).",
                                      m_folder.string(), code.message()));
    writeReport(report, path);
}

bool BaselineStore::contains(const std::string& name) const
{
    std::error_code code;
    return fs::is_regular_file(pathOf(name), code);
}

BenchReport BaselineStore::load(const std::string& name) const
{
    if (contains(name))
        return readReport(pathOf(name));
    std::vector<std::string> names;
    for (const BaselineEntry& entry : list())
        names.push_back(entry.name);
    throw InputError(
        names.empty()
            ? fmt::format("There is no baseline `{}`, nor any other; save one first.", name)
            : fmt::format("There is no baseline `{}`; there are: {}.", name,
                          fmt::join(names, ", ")));
}

std::vector<BaselineEntry> BaselineStore::list() const
{
    std::vector<BaselineEntry> entries;
    std::error_code code;
    for (const auto& file : fs::directory_iterator(m_folder, code)) {
        if (file.path().extension() != ".json" || !isPlainName(file.path().stem().string()))
            continue;
        BaselineEntry entry;
        entry.name = file.path().stem().string();
        try {
            const BenchReport report = readReport(file.path());
            entry.savedAt = textAt(report.environment, "/time");
            entry.badge = environmentBadge(report.environment);
            entry.configHash = report.configHash();
        } catch (const InputError& error) {
            entry.problem = error.what(); // one bad file does not hide the others
        }
        entries.push_back(std::move(entry));
    }
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return entries;
}

} // namespace vergence::live
