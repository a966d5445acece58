#pragma once

#include <array>
#include <filesystem>

#include "plugins/sugar/compute/camera.h"
#include "plugins/sugar/io/image_header.h"
#include "plugins/sugar/io/photographs.h"
#include "plugins/sugar/io/undistortion.h"

namespace vergence::sugar {

/// How the file of a photograph becomes the picture of a pinhole camera.
struct PicturePlan {
    std::filesystem::path file;
    std::filesystem::path mask; ///< grey, of the same shape; empty: none
    ImageHeader stored;         ///< as it lies in the file
    int orientation = 1;        ///< by which it is turned after decoding
    SourceCamera source;        ///< of the turned picture, in its size
    SourceCamera pinhole;       ///< the same size without the lens; equal where there is none
    int width = 0, height = 0;  ///< of the result
};

/// Size after `scale` and `maxWidth`; never above the stored one.
ImageHeader scaledSize(int width, int height, const PhotographSettings& settings);

/// Carries a plan out on the decoded files; `mask` may be empty. Throws InputError where a size is
/// not the planned one.
Photograph preparedPhotograph(const Image& decoded, const Image& mask, const PicturePlan& plan,
                              const PhotographSettings& settings);

/// RGB over a background (0 to 1, as encoded); grey becomes RGB.
Image opaque(const Image& image, const std::array<float, 3>& background);

} // namespace vergence::sugar
