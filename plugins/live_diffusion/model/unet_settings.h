#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/compute/tensor.h"

namespace vergence::live {

using vergence::nameOf;

/// The family of denoisers. Nano exists for tests of units, Pico is the one that ships weights.
enum class Size : std::uint8_t { Nano, Pico, S, M, L, XL };

inline constexpr std::array<Size, 6> kSizes = {Size::Nano, Size::Pico, Size::S,
                                               Size::M,    Size::L,    Size::XL};
constexpr auto namesOf(Size)
{
    return std::array{EnumName{Size::Nano, "nano"}, EnumName{Size::Pico, "pico"},
                      EnumName{Size::S, "s"},       EnumName{Size::M, "m"},
                      EnumName{Size::L, "l"},       EnumName{Size::XL, "xl"}};
}
std::string_view titleOf(Size size); ///< "Nano", "Pico", "S", …
/// Throws InputError that lists the names where there is none such; capitals do not matter.
Size sizeOfName(std::string_view name);

/// What tells the sizes apart. Level l has multipliers[l] · channels channels at grid / 2^l.
struct UnetLayout {
    Index channels = 32;                     ///< C₀, of level 0
    std::vector<Index> multipliers{1, 2, 4}; ///< one per level
    int blocks = 1;                          ///< R: residual blocks of an encoder level
    std::vector<int> attentionLevels{2};     ///< A
    int middleAttentions = 1;                ///< between the two residual blocks of the middle
    bool hasFeedForward = false;             ///< gated, after the cross-attention
    Index nativeGrid = 32;                   ///< the grid that the size was designed for
    int levels() const { return static_cast<int>(multipliers.size()); }
};
UnetLayout layoutOf(Size size);

/// Everything that decides which operations the denoiser has. The frame has patch · grid pixels a
/// side; a pixel of the grid holds patch² pixels of the frame in 3·patch² channels.
struct UnetSettings {
    Size size = Size::Pico;
    Index patch = 2; ///< p ≥ 1
    Index grid = 32; ///< g, a multiple of 8 and of 2^(levels − 1)
    /// Channels of the first input, of the head and of the memory encoder's input are rounded up to
    /// a multiple of this: 1, 8 or 64.
    Index channelRounding = 8;
    /// Every width is 63/64 of what it was: heads of 63, 21 groups. S to XL; shows what alignment
    /// is worth.
    bool isMisaligned = false;
    bool hasAttentionAtLevel0 = false; ///< grid² tokens more, as heavy as in early networks
    /// Self-attention of levels 0 and 1 stays within windows of 8 by 8; changes the result.
    bool hasWindowAttention = false;

    Index frameSize() const { return patch * grid; } ///< pixels a side
    Index frameChannels() const { return 3 * patch * patch; }
    Index inputChannels() const;  ///< of x, u and h together, rounded
    Index outputChannels() const; ///< of prediction and blend logit, rounded
    Index baseChannels() const;   ///< C₀, of the misaligned twin where asked for
    Index memoryWidth() const { return 4 * baseChannels(); } ///< D
    bool operator==(const UnetSettings&) const = default;
};

/// Settings for frames of `frameSize` pixels a side at the size's own grid, or twice that (HQ).
/// Throws ContractError where frameSize is no multiple of the grid.
UnetSettings unetSettings(Size size, Index frameSize, bool isHighQuality = false);

/// Sentence on the first thing that is wrong; empty where the network can be built.
std::string problemOf(const UnetSettings& settings);

/// The memory bank is the same for all sizes but for the width of its tokens.
inline constexpr Index kMemorySlots = 16;
inline constexpr Index kSlotTokens = 16; ///< 4 by 4, row by row
/// Key of the learned token that is always there, after all slots.
inline constexpr Index kNullToken = kMemorySlots * kSlotTokens;
/// Keys of a cross-attention: slots, null token, masked ones up to a multiple of 8.
inline constexpr Index kMemoryTokens = 264;
/// Levels of history noise that the network is told apart: b = round(10 · s / 0.7), 0 … 10.
inline constexpr int kHistoryBuckets = 11;
inline constexpr double kMostHistoryNoise = 0.7;
int historyBucket(double noiseLevel); ///< s in [0, 0.7], clamped

} // namespace vergence::live
