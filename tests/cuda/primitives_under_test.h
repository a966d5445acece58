#pragma once

#include <cstdint>
#include <vector>

#include "core/compute/stream.h"

namespace vergence::test {

std::vector<std::int32_t> scanned(Stream& stream, const std::vector<std::int32_t>& values);
/// Values ordered by their keys.
std::vector<std::int32_t> sortedByKey(Stream& stream, const std::vector<std::uint64_t>& keys,
                                      const std::vector<std::int32_t>& values);
/// One sum per block of 256 values.
std::vector<double> blockSums(Stream& stream, const std::vector<double>& values);

} // namespace vergence::test
