#pragma once

#include <cstdint>

namespace vergence::sugar {

// What the studio and its reconstruction program tell each other: a header, then the arrays one
// after the other, in the byte order of the computer that both run on.

inline constexpr const char* kPoissonProgram = "vergence-sugar-poisson";
inline constexpr std::uint64_t kPoissonMagic = 0x32304e53534f5056; ///< "VPOSSN02"

/// Followed by positions [N, 3] and normals [N, 3], float.
struct PoissonRequest {
    std::uint64_t magic = kPoissonMagic, points = 0;
    double scale = 1.1;
    std::int64_t depth = 10;
};

/// Followed by positions [V, 3] float, triangles [F, 3] u32 and densities [V] float.
struct PoissonReply {
    std::uint64_t magic = kPoissonMagic, vertices = 0, faces = 0;
};

} // namespace vergence::sugar
