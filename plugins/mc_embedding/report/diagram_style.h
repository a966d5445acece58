#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace vergence::mc_embedding {

/// A colour of a diagram on white paper, as the window shows it on a light background.
struct Ink {
    std::array<std::uint8_t, 3> rgb{};
    std::string hex() const; ///< "#rrggbb"
};
Ink inkOf(const std::string& colour);

} // namespace vergence::mc_embedding
