#pragma once

#include <filesystem>
#include <string>

namespace vergence {

/// $XDG_RUNTIME_DIR/vergence, or /tmp/vergence-<uid> where that is missing or too long for a
/// socket; made with user-only rights. Throws OutputError where it belongs to somebody else or
/// cannot be made.
std::filesystem::path socketFolder();

/// Path of this process's socket, at most 90 characters (the system's limit is 107, and listening
/// needs a longer neighbour).
std::string socketPath();

} // namespace vergence
