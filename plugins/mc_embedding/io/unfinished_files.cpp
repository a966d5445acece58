#include "plugins/mc_embedding/io/unfinished_files.h"

#include <string>
#include <system_error>
#include <vector>

namespace vergence::mc_embedding {

namespace fs = std::filesystem;

std::size_t removeUnfinished(const fs::path& folder, std::chrono::seconds age)
{
    std::error_code code;
    std::vector<fs::path> unfinished; // not removed under the iterator's feet
    const auto now = fs::file_time_type::clock::now();
    for (fs::recursive_directory_iterator entry(folder, code), end; !code && entry != end;
         entry.increment(code)) {
        const std::string name = entry->path().filename().string();
        std::error_code gone;
        if (name.starts_with('.') && name.ends_with(".part") && entry->is_regular_file(gone) &&
            now - entry->last_write_time(gone) >= age && !gone)
            unfinished.push_back(entry->path());
    }
    std::size_t removed = 0;
    for (const fs::path& path : unfinished)
        removed += fs::remove(path, code) ? 1 : 0;
    return removed;
}

} // namespace vergence::mc_embedding
