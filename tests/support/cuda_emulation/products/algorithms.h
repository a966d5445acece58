#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/cuda_emulation/products/problem.h"

namespace vergence::emulation {

/// In which order the products of a sum are added.
enum class SumOrder { Ascending, Descending, EvenThenOdd };

/// A way to compute products. They differ in the last bits of their results.
struct Algorithm {
    SumOrder order;
    int parts;                    ///< of the sum, which are added at the end
    std::uint32_t reduction;      ///< cublasLtReductionScheme_t, how parts are added
    std::uint32_t vectorBytes;    ///< columns begin at multiples of it
    std::uint64_t workspaceBytes; ///< beside those for the parts
};

/// An algorithm with what was settled when it was chosen.
struct Choice {
    const Algorithm* algorithm;
    std::uint64_t fingerprint;               ///< of the problem that it was chosen for
    std::array<std::uint32_t, 4> alignments; ///< promised for A, B, C, D in bytes
    std::uint64_t workspaceBytes;
};

/// A number that differs between problems, whatever their pointers are.
std::uint64_t fingerprintOf(const Problem& problem);

/// Those that a problem and the wishes allow, the fastest first.
std::vector<Choice> choicesFor(const Problem& problem, const Preference& preference);

/// A choice as the caller carries it; null where it was changed or never made.
cublasLtMatmulAlgo_t sealed(const Choice& choice);
std::optional<Choice> unsealed(const cublasLtMatmulAlgo_t& algorithm);

} // namespace vergence::emulation
