#pragma once

#include <chrono>
#include <filesystem>

#include "core/artifact/run_folder.h"

namespace vergence::test {

/// As if the file had been written `seconds` ago, by the clock of its disk.
inline void age(const std::filesystem::path& file, double seconds)
{
    const auto back = std::chrono::duration<double>(seconds);
    std::filesystem::last_write_time(
        file, std::filesystem::last_write_time(file) -
                  std::chrono::duration_cast<std::filesystem::file_time_type::duration>(back));
}

/// As if the worker of the run had been silent for `seconds`.
inline void silence(const RunFolder& folder, double seconds)
{
    age(folder.status(), seconds);
    std::error_code code;
    for (const auto& lease : std::filesystem::directory_iterator(folder.root / "lease", code))
        age(lease.path(), seconds);
}

} // namespace vergence::test
