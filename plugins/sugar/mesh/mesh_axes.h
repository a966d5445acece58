#pragma once

#include <array>
#include <string>

namespace vergence::sugar {

/// Which way a scene stands, for whoever opens its files; unit, at right angles.
struct MeshAxes {
    std::array<double, 3> up{0, 0, 1};
    std::array<double, 3> front{0, -1, 0}; ///< from the scene towards who looks at it
};

/// "up x y z" and "front x y z", each behind `mark` on a line of its own: a comment by which the
/// studio turns what it reads.
std::string axesComment(const MeshAxes& axes, const std::string& mark);

} // namespace vergence::sugar
