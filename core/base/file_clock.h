#pragma once

#include <filesystem>
#include <optional>

namespace vergence {

/// Seconds since 1970 by the clock that stamps the files of `folder`. Computers that share a disk
/// agree on it, however much their own clocks differ. Where nothing can be written it is this
/// computer's clock.
double fileSystemSeconds(const std::filesystem::path& folder);

/// Seconds since a file was last written, by the clock that stamped it; at least 0. Nothing where
/// it does not exist.
std::optional<double> secondsSinceWritten(const std::filesystem::path& file);

} // namespace vergence
