#include "plugins/sugar/mesh/mesh_axes.h"

#include <fmt/format.h>

namespace vergence::sugar {

std::string axesComment(const MeshAxes& axes, const std::string& mark)
{
    const auto& [up, front] = axes;
    return fmt::format("{0} up {1:.6g} {2:.6g} {3:.6g}\n{0} front {4:.6g} {5:.6g} {6:.6g}\n", mark,
                       up[0], up[1], up[2], front[0], front[1], front[2]);
}

} // namespace vergence::sugar
