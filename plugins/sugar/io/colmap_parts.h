#pragma once

#include "plugins/sugar/io/colmap.h"

namespace vergence::sugar {

/// Pixels; more is a broken file.
constexpr int kLargestSide = 1'000'000;

void writeColmapBinary(const std::filesystem::path& folder, const ColmapModel& model);
void writeColmapText(const std::filesystem::path& folder, const ColmapModel& model);

} // namespace vergence::sugar
