#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/compute/host_device.h"

namespace vergence::sugar {

/// Every third bit of the result is one of the 21 low bits of `value`.
VERGENCE_HD std::uint64_t spreadBits(std::uint64_t value)
{
    value &= 0x1fffff;
    value = (value | value << 32) & 0x1f00000000ffffULL;
    value = (value | value << 16) & 0x1f0000ff0000ffULL;
    value = (value | value << 8) & 0x100f00f00f00f00fULL;
    value = (value | value << 4) & 0x10c30c30c30c30c3ULL;
    return (value | value << 2) & 0x1249249249249249ULL;
}

/// Place of a cell along the Z-order curve, 63 bits.
VERGENCE_HD std::uint64_t mortonKey(std::uint64_t x, std::uint64_t y, std::uint64_t z)
{
    return spreadBits(x) | spreadBits(y) << 1 | spreadBits(z) << 2;
}

/// Order of `positions` [N, 3] along a Z-order curve through their box, 21 bits an axis. Equal
/// places keep their order; what is not finite comes last.
std::vector<std::uint32_t> zOrder(std::span<const float> positions);

} // namespace vergence::sugar
