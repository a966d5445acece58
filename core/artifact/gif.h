#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "core/artifact/image.h"

namespace vergence {

struct GifOptions {
    int delayCentiseconds = 8; ///< per frame
    bool loops = true;
    bool dithers = false;          ///< Floyd–Steinberg
    int lastDelayCentiseconds = 0; ///< of the last frame; 0: as the others
    bool ordersDots = false; ///< instead an 8 × 8 pattern, which stands still from frame to frame
    std::function<bool()> isStopped{}; ///< asked before every frame
};

/// Animated GIF by giflib, one palette of at most 256 colours over all frames (GifQuantizeBuffer).
/// Frames are RGB of one size. Written beside and renamed. False, with nothing written, where it
/// was stopped. Throws OutputError, ContractError for no frames or different sizes.
bool writeGif(const std::filesystem::path& path, const std::vector<Image>& frames,
              const GifOptions& options);

/// Decoded frames and delays; for tests and time-lapses. Throws InputError.
struct GifContent {
    std::vector<Image> frames;
    std::vector<int> delaysCentiseconds;
    bool loops = false;
};
GifContent readGif(const std::filesystem::path& path);

} // namespace vergence
