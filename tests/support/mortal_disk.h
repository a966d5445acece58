#pragma once

#include <cstdint>
#include <filesystem>

namespace vergence::testing {

/// From now on this process is killed right after it has written `bytes` bytes to files below
/// `folder`, within a file where that is where the count ends: its own write() and fwrite() stand
/// in front of the C library's. `log` gets a line "count path" for every write, outside of
/// `folder`; the last line is of the write that was cut short.
void dieAfterBytes(const std::filesystem::path& folder, std::uint64_t bytes,
                   const std::filesystem::path& log);

} // namespace vergence::testing
