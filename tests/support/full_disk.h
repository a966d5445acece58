#pragma once

#include <filesystem>

namespace vergence::testing {

/// While it lives, every write to files below `folder` fails as on a full disk: this program's own
/// write() stands in front of the C library's.
class FullDisk {
public:
    explicit FullDisk(const std::filesystem::path& folder);
    ~FullDisk();
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
};

} // namespace vergence::testing
