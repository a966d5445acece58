#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace vergence {

/// Reads a growing file in slices of whole lines, so that a window can take in a long history
/// without a pause.
class LineTail {
public:
    LineTail(std::filesystem::path path, std::int64_t headerLines);

    struct Slice {
        std::string text;       ///< whole lines with their ends; header lines left out
        std::int64_t first = 0; ///< index of the first line, header not counted
        std::int64_t count = 0;
        bool hasMore = false; ///< more is known to follow at once
    };
    /// At most about `bytes`; empty where nothing new is there. A file that cannot be opened is an
    /// empty one.
    Slice read(std::size_t bytes);
    void restart();

private:
    std::filesystem::path m_path;
    std::int64_t m_headerLines;
    std::int64_t m_nextLine;
    std::uint64_t m_offset = 0;
};

} // namespace vergence
