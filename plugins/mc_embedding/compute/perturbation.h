#pragma once

#include <cstdint>
#include <map>

namespace vergence::mc_embedding {

/// What happens at a live site. Specification, sections 3.1 and 3.5.
struct Perturbation {
    enum class Kind {
        Dropout,        ///< y ⊙ m / (1 − p)
        Gaussian,       ///< y + s·σ(y)·n, σ per image and site
        Scale,          ///< y · (1 + s·n)
        StochasticDepth ///< whole branches, one coin per image, kept ones / (1 − p)
    };
    Kind kind = Kind::Dropout;
    double p = 0.01;             ///< drop probability, [0, 0.9]
    std::map<int, double> rates; ///< by number of site, where it is not p
    double magnitude = 0;        ///< s
    std::uint64_t seed = 42;
};

/// Which random numbers a sequence draws: the masks are a function of (seed, image, trial, pass,
/// site, element) alone. Specification, section 4.2.
struct PassId {
    std::uint16_t trial = 0, pass = 0;
};

/// Purposes of random numbers, bits 24 to 31 of the last counter word.
enum class Purpose : std::uint8_t {
    Dropout = 0,
    Noise = 1,
    Sampling = 2,
    StochasticDepth = 3,
    Degradation = 4,
    Bootstrap = 5,
    DemoWeights = 6,
    DemoImages = 7
};

} // namespace vergence::mc_embedding
