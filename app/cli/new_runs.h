#pragma once

#include <filesystem>
#include <vector>

#include "app/cli/config_source.h"
#include "app/cli/sweep_grid.h"
#include "core/artifact/run_folder.h"

namespace vergence::cli {

/// Prints what is wrong with any of the configurations, each sentence once. Throws Error
/// (ExitCode::ConfigInvalid) where one has errors.
void requireConfigs(const ConfigSource& source, const SweepGrid& grid);

/// Folders of runs that wait for a worker, one per configuration. They are removed at the end
/// unless they are kept.
class NewRuns {
public:
    NewRuns() = default;
    ~NewRuns();
    NewRuns(const NewRuns&) = delete;
    NewRuns& operator=(const NewRuns&) = delete;

    /// After requireConfigs(). Throws OutputError.
    void make(const std::filesystem::path& parent, const ConfigSource& source,
              const SweepGrid& grid);
    const std::vector<RunFolder>& folders() const { return m_folders; }
    void keep() { m_isKept = true; }

private:
    std::vector<RunFolder> m_folders;
    bool m_isKept = false;
};

} // namespace vergence::cli
