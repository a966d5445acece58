#pragma once

#include <array>
#include <string_view>

namespace vergence::fvlm {

/// Towers that a configuration may name beside a folder; knownVit() and knownLlm() have their
/// extents. Apart from these, so that the configuration knows no tensors.
inline constexpr std::array<std::string_view, 6> kKnownVitNames{"mini",
                                                                "tiny",
                                                                "dinov2-small",
                                                                "dinov2-base",
                                                                "dinov2-with-registers-small",
                                                                "dinov2-with-registers-base"};
inline constexpr std::array<std::string_view, 8> kKnownLlmNames{
    "mini",         "tiny",
    "smollm2-135m", "smollm2-135m-instruct",
    "smollm2-360m", "smollm2-360m-instruct",
    "smollm2-1.7b", "smollm2-1.7b-instruct"};

/// Of no published size: made for drawn clips, trained from nothing.
constexpr bool isMadeForDrawnClips(std::string_view name)
{
    return name == "mini" || name == "tiny";
}

} // namespace vergence::fvlm
