#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plugins/live_diffusion/bench/report.h"

namespace vergence::live {

/// What a list shows of a kept measurement.
struct BaselineEntry {
    std::string name, savedAt, badge; ///< badge: where it was measured
    std::string configHash;
    std::string problem; ///< empty, or why the file cannot be read
};

/// Measurements kept under names: one file `<name>.json` each in a folder, which is made on demand.
class BaselineStore {
public:
    explicit BaselineStore(std::filesystem::path folder) : m_folder(std::move(folder)) {}

    /// Replaces one of that name. Throws InputError for a name other than letters, digits, '.', '_'
    /// and '-' (no '.' first), OutputError where it cannot be written.
    void save(const std::string& name, const BenchReport& report) const;
    BenchReport load(const std::string& name) const; ///< throws InputError that lists what exists
    std::vector<BaselineEntry> list() const;         ///< by name
    bool contains(const std::string& name) const;

private:
    std::filesystem::path pathOf(const std::string& name) const;

    std::filesystem::path m_folder;
};

} // namespace vergence::live
