#include "app/cli/new_runs.h"

#include <algorithm>
#include <iostream>
#include <random>
#include <set>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/run/run_state.h"

namespace vergence::cli {

namespace {

constexpr const char* kSweepOption = "--sweep";

/// As the window keeps the place of a run in a sweep, see saveLabels() of app/shell/run_entry.h.
nlohmann::json labelsOf(const ConfigSource& source, const SweepGrid& grid, std::size_t index,
                        const std::string& group)
{
    const double last = static_cast<double>(std::max<std::size_t>(1, grid.size() - 1));
    const std::string lab = source.plugin.id + (source.preset.empty() ? "" : " " + source.preset);
    return {{"name", fmt::format("{} · {}", lab, grid.text(index))},
            {"tags", nlohmann::json::array()},
            {"sweep",
             {{"group", group},
              {"key", grid.keys()},
              {"value", grid.values(index)},
              {"share", static_cast<double>(index) / last}}}};
}

void writeRun(const RunFolder& folder, const ConfigSource& source, const ConfigVariant& variant)
{
    writeFileAtomic(folder.configInput(), variant.input);
    writeFileAtomic(folder.config(), emitToml(*variant.config, source.preset));
    RunStatus status;
    status.state = nameOf(RunState::Queued);
    status.plugin = source.plugin.id;
    status.preset = source.preset;
    writeStatus(folder, status);
}

} // namespace

void requireConfigs(const ConfigSource& source, const SweepGrid& grid)
{
    std::set<std::string> told;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < grid.size(); ++i) {
        const ConfigVariant variant = variantOf(source, grid.assignments(i), kSweepOption);
        for (const ConfigIssue& issue : variant.issues)
            if (told.insert(issue.text()).second)
                std::cerr << issue.text() << '\n';
        wrong += variant.config ? 0 : 1;
    }
    if (wrong == 0)
        return;
    throw Error(grid.isEmpty() ? std::string("The configuration has errors.")
                               : fmt::format("{} of {} configurations have errors; nothing was "
                                             "submitted.",
                                             wrong, grid.size()),
                ExitCode::ConfigInvalid);
}

NewRuns::~NewRuns()
{
    std::error_code ignored;
    for (const RunFolder& folder : m_folders)
        if (!m_isKept)
            std::filesystem::remove_all(folder.root, ignored);
}

void NewRuns::make(const std::filesystem::path& parent, const ConfigSource& source,
                   const SweepGrid& grid)
{
    const std::string group = fmt::format("{:08x}", std::random_device()());
    for (std::size_t i = 0; i < grid.size(); ++i) {
        m_folders.push_back(RunFolder::create(parent, source.plugin.id));
        writeRun(m_folders.back(), source, variantOf(source, grid.assignments(i), kSweepOption));
        if (!grid.isEmpty())
            writeFileAtomic(m_folders.back().root / "labels.json",
                            prettyJson(labelsOf(source, grid, i, group)));
    }
}

} // namespace vergence::cli
