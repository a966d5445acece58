#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace vergence::plot {

/// A colour of a diagram, as the window shows it on a light or dark background.
struct Ink {
    std::array<std::uint8_t, 3> rgb{};
    std::string hex() const; ///< "#rrggbb"
};
Ink inkOf(const std::string& colour, bool isDark = false);
/// What it stands on.
Ink paperInk(bool isDark);

/// Class of a named colour in a style sheet; empty for "#rrggbb" and for series from 16 on.
std::string inkClass(const std::string& colour);
/// Every class with its colour.
const std::vector<std::pair<std::string, std::string>>& inkClasses();

} // namespace vergence::plot
