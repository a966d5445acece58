#pragma once

#include <cstddef>

#include "core/base/enum_names.h"

namespace vergence::mc_embedding {

using vergence::nameOf;

/// How preprocessed pictures are kept: the 8-bit result, which is lossless, or normalised values
/// (section 9.6).
enum class PixelType {
    U8,  ///< [side, side, 3], as the resampler leaves them
    F16, ///< [3, side, side], normalised and rounded
    F32  ///< [3, side, side], normalised: the very numbers that the patches of U8 become
};

constexpr auto namesOf(PixelType)
{
    return std::array{EnumName{PixelType::U8, "u8"}, EnumName{PixelType::F16, "f16"},
                      EnumName{PixelType::F32, "f32"}};
}

constexpr std::size_t bytesOf(PixelType type)
{
    return type == PixelType::U8 ? 1 : type == PixelType::F16 ? 2 : 4;
}

} // namespace vergence::mc_embedding
