#include "plugins/live_diffusion/model/unet_settings.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

namespace vergence::live {

namespace {
constexpr Index kEncodedSide = 4; ///< tokens of a slot lie 4 by 4

Index roundedUp(Index n, Index step)
{
    return (n + step - 1) / step * step;
}

std::string lower(std::string_view text)
{
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}
} // namespace

std::string_view titleOf(Size size)
{
    switch (size) {
    case Size::Nano:
        return "Nano";
    case Size::Pico:
        return "Pico";
    case Size::S:
        return "S";
    case Size::M:
        return "M";
    case Size::L:
        return "L";
    case Size::XL:
        return "XL";
    }
    return "";
}

Size sizeOfName(std::string_view name)
{
    for (const Size size : kSizes)
        if (lower(titleOf(size)) == lower(name))
            return size;
    throw InputError(
        fmt::format("there is no size \"{}\"; sizes are Nano, Pico, S, M, L and XL", name));
}

UnetLayout layoutOf(Size size)
{
    const auto large = [](Index channels, int blocks, int middle, bool feedForward) {
        return UnetLayout{channels, {1, 2, 4, 4}, blocks, {1, 2, 3}, middle, feedForward, 64};
    };
    switch (size) {
    case Size::Nano:
        return {16, {1, 2}, 1, {1}, 1, false, 16};
    case Size::Pico:
        return {32, {1, 2, 4}, 1, {2}, 1, false, 32};
    case Size::S:
        return large(64, 2, 1, false);
    case Size::M:
        return large(128, 2, 1, false);
    case Size::L:
        return large(256, 2, 1, false);
    case Size::XL:
        break;
    }
    return large(256, 3, 2, true);
}

Index UnetSettings::inputChannels() const
{
    return roundedUp(3 * frameChannels(), channelRounding);
}

Index UnetSettings::outputChannels() const
{
    return roundedUp(frameChannels() + 1, channelRounding);
}

Index UnetSettings::baseChannels() const
{
    const Index channels = layoutOf(size).channels;
    return isMisaligned ? channels * 63 / 64 : channels;
}

UnetSettings unetSettings(Size size, Index frameSize, bool isHighQuality)
{
    UnetSettings settings;
    settings.size = size;
    settings.grid = layoutOf(size).nativeGrid * (isHighQuality ? 2 : 1);
    expects(frameSize >= settings.grid && frameSize % settings.grid == 0,
            fmt::format("a frame of {} pixels a side is no multiple of the grid of {}, which is {} "
                        "by {}",
                        frameSize, titleOf(size), settings.grid, settings.grid));
    settings.patch = frameSize / settings.grid;
    return settings;
}

std::string problemOf(const UnetSettings& settings)
{
    const UnetLayout layout = layoutOf(settings.size);
    if (settings.patch < 1)
        return fmt::format("a patch of {} pixels is none", settings.patch);
    const Index step = std::max<Index>(8, Index(1) << (layout.levels() - 1));
    if (settings.grid < kEncodedSide * kEncodedSide || settings.grid % step != 0)
        return fmt::format("a grid of {} a side is not a multiple of {} from 16 up", settings.grid,
                           step);
    if (settings.channelRounding != 1 && settings.channelRounding != 8 &&
        settings.channelRounding != 64)
        return fmt::format("channels are rounded up to a multiple of 1, 8 or 64, not of {}",
                           settings.channelRounding);
    if (settings.isMisaligned && layout.channels % 64 != 0)
        return fmt::format("{} has no misaligned twin: its {} channels are no multiple of 64",
                           titleOf(settings.size), layout.channels);
    const Index innermostWindowed = settings.grid / (layout.levels() > 1 ? 2 : 1);
    if (settings.hasWindowAttention && innermostWindowed % 8 != 0)
        return fmt::format("windows of 8 by 8 do not tile level 1 of a grid of {}", settings.grid);
    return {};
}

int historyBucket(double noiseLevel)
{
    const double share = std::clamp(noiseLevel / kMostHistoryNoise, 0.0, 1.0);
    return static_cast<int>(std::lround((kHistoryBuckets - 1) * share));
}

} // namespace vergence::live
