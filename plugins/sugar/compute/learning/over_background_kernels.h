#pragma once

#include <cstdint>

#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence::sugar {

/// See overBackground().
struct OverBackgroundArguments {
    Index pixels = 0;
    const std::uint8_t* photo = nullptr;        ///< [pixels, 3]
    const std::uint8_t* transparency = nullptr; ///< [pixels]
    float colour[3] = {};
    std::uint8_t* result = nullptr; ///< [pixels, 3]
};
inline const Kernel<void(const OverBackgroundArguments&)> overBackgroundKernel{
    "sugar.over_background"};

} // namespace vergence::sugar
