#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "plugins/sugar/io/camera_model.h"

namespace vergence::sugar {

/// What the pinhole picture shows: nothing blank, all of the source, or what the same focal length
/// and principal point give.
enum class UndistortFit { Inside, All, KeepK };
std::optional<UndistortFit> undistortFit(const std::string& name); ///< "inside", "all", "keepK"

/// The PINHOLE camera of the same size for a distorted one. Focal lengths stay within half and
/// twice the original.
SourceCamera undistortedCamera(const SourceCamera& camera, UndistortFit fit);

struct UndistortedImage {
    Image image;
    std::vector<std::uint8_t>
        mask; ///< [H·W], 0 outside of the source, 1 inside; empty where all is
};

/// Resamples a picture of `from` as `to` (PINHOLE) sees it: bilinear, border repeated.
/// Grey or RGB.
UndistortedImage undistorted(const Image& image, const SourceCamera& from, const SourceCamera& to);

} // namespace vergence::sugar
