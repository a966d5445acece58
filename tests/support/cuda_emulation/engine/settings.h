#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace vergence::emulation {

/// What the environment says (see README.md), read once.
struct Settings {
    unsigned seed = 2;
    int devices = 1;
    std::size_t bytesPerDevice = std::size_t{8} << 30;
    int capability = 90;                ///< times ten
    std::optional<int> driver;          ///< its CUDA version, 13000 for 13.0; 0: there is none
    bool isMig = false;                 ///< devices are instances of a divided one
    std::optional<std::string> visible; ///< CUDA_VISIBLE_DEVICES
    std::string failure;                ///< VERGENCE_EMULATED_FAILURE as it stands
    std::string reportFile;             ///< empty: none
    std::string countersFile;           ///< empty: nothing is counted
    std::string contextsFile;           ///< empty: none
    /// The engine of the emulated cuDNN that adds what it finds in its workspace; set by tests.
    std::optional<std::int64_t> carelessEngine;
};

/// Tests may change them between launches.
Settings& settings();

/// Streams hold their work back until somebody waits.
inline bool isLate()
{
    return settings().seed != 0;
}

/// Numbers for shuffling, a function of the seed and of the calls so far.
std::size_t shuffledBelow(std::size_t count);

} // namespace vergence::emulation
