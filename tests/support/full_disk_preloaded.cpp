#include <cstdlib>
#include <memory>

#include "tests/support/full_disk.h"

/// Preloaded into a process: the disk below $VERGENCE_TEST_FULL_DISK is full for it.
static const std::unique_ptr<vergence::testing::FullDisk> fullDisk = [] {
    const char* folder = std::getenv("VERGENCE_TEST_FULL_DISK");
    return folder ? std::make_unique<vergence::testing::FullDisk>(folder) : nullptr;
}();
