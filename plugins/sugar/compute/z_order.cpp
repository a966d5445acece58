#include "plugins/sugar/compute/z_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace vergence::sugar {

std::vector<std::uint32_t> zOrder(std::span<const float> positions)
{
    const std::size_t n = positions.size() / 3;
    double low[3], size = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        double least = HUGE_VAL, most = -HUGE_VAL;
        for (std::size_t i = axis; i < positions.size(); i += 3) {
            if (std::isfinite(positions[i])) {
                least = std::min(least, static_cast<double>(positions[i]));
                most = std::max(most, static_cast<double>(positions[i]));
            }
        }
        low[axis] = least;
        size = std::max(size, most - least);
    }
    const double cells = size > 0 ? 2097151 / size : 0; // 2^21 − 1
    std::vector<std::pair<std::uint64_t, std::uint32_t>> keyed(n);
    for (std::size_t row = 0; row < n; ++row) {
        const float* p = positions.data() + 3 * row;
        const bool isFinite = std::isfinite(p[0]) && std::isfinite(p[1]) && std::isfinite(p[2]);
        std::uint64_t cell[3];
        for (std::size_t axis = 0; axis < 3 && isFinite; ++axis)
            cell[axis] =
                static_cast<std::uint64_t>((static_cast<double>(p[axis]) - low[axis]) * cells);
        keyed[row] = {isFinite ? mortonKey(cell[0], cell[1], cell[2])
                               : std::numeric_limits<std::uint64_t>::max(),
                      static_cast<std::uint32_t>(row)};
    }
    std::sort(keyed.begin(), keyed.end());
    std::vector<std::uint32_t> order(n);
    std::transform(keyed.begin(), keyed.end(), order.begin(),
                   [](const auto& entry) { return entry.second; });
    return order;
}

} // namespace vergence::sugar
