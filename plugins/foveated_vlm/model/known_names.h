#pragma once

#include <array>
#include <string_view>

namespace vergence::fvlm {

/// Towers that a configuration may name beside a folder; knownVit() and knownLlm() have their
/// extents. Apart from these, so that the configuration knows no tensors.
inline constexpr std::array<std::string_view, 5> kKnownVitNames{
    "tiny", "dinov2-small", "dinov2-base", "dinov2-with-registers-small",
    "dinov2-with-registers-base"};
inline constexpr std::array<std::string_view, 7> kKnownLlmNames{"tiny",
                                                                "smollm2-135m",
                                                                "smollm2-135m-instruct",
                                                                "smollm2-360m",
                                                                "smollm2-360m-instruct",
                                                                "smollm2-1.7b",
                                                                "smollm2-1.7b-instruct"};

} // namespace vergence::fvlm
