#include "core/artifact/plot/diagram_style.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace vergence::plot {

namespace {

std::uint8_t byteOf(double fraction)
{
    return static_cast<std::uint8_t>(std::lround(255 * std::clamp(fraction, 0.0, 1.0)));
}

/// Hues by the golden angle, as the window's.
Ink seriesInk(int index, bool isDark)
{
    constexpr double kSaturation = 0.75;
    const double lightness = isDark ? 0.66 : 0.38;
    const double hue = 6 * std::fmod(0.58 + index * 0.381966, 1.0);
    const double chroma = kSaturation * (1 - std::abs(2 * lightness - 1)),
                 low = lightness - chroma / 2;
    Ink ink;
    for (int channel = 0; channel < 3; ++channel) {
        const double at = std::fmod(hue + 6 - 2 * channel, 6.0); // distance from the channel's hue
        const double share = std::clamp(2 - std::min(at, 6 - at), 0.0, 1.0);
        ink.rgb[static_cast<std::size_t>(channel)] = byteOf(low + chroma * share);
    }
    return ink;
}

} // namespace

std::string Ink::hex() const
{
    return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

Ink inkOf(const std::string& colour, bool isDark)
{
    using Inks = std::map<std::string, Ink>;
    static const Inks kOnLight{
        {"text", {{0x1b, 0x1f, 0x24}}},    {"muted", {{0x5b, 0x65, 0x70}}},
        {"faint", {{0xe1, 0xe5, 0xe9}}},   {"accent", {{0x1f, 0x6f, 0xeb}}},
        {"warning", {{0xb2, 0x5e, 0x00}}},
    };
    static const Inks kOnDark{
        {"text", {{0xe8, 0xea, 0xed}}},    {"muted", {{0xa0, 0xa8, 0xb1}}},
        {"faint", {{0x33, 0x39, 0x40}}},   {"accent", {{0x6c, 0xa4, 0xff}}},
        {"warning", {{0xff, 0xb3, 0x40}}},
    };
    const Inks& named = isDark ? kOnDark : kOnLight;
    if (const auto found = named.find(colour); found != named.end())
        return found->second;
    if (colour.starts_with("series "))
        return seriesInk(std::atoi(colour.c_str() + 7), isDark);
    if (colour.size() == 7 && colour.front() == '#') {
        const auto value = static_cast<std::uint32_t>(std::stoul(colour.substr(1), nullptr, 16));
        return {{static_cast<std::uint8_t>(value >> 16), static_cast<std::uint8_t>(value >> 8),
                 static_cast<std::uint8_t>(value)}};
    }
    return named.at("muted");
}

Ink paperInk(bool isDark)
{
    return isDark ? Ink{{0x16, 0x19, 0x1d}} : Ink{{0xff, 0xff, 0xff}};
}

const std::vector<std::pair<std::string, std::string>>& inkClasses()
{
    static const auto kClasses = [] {
        std::vector<std::pair<std::string, std::string>> classes{
            {"t", "text"}, {"m", "muted"}, {"f", "faint"}, {"a", "accent"}, {"w", "warning"}};
        for (int i = 0; i < 16; ++i)
            classes.emplace_back(fmt::format("s{}", i), fmt::format("series {}", i));
        return classes;
    }();
    return kClasses;
}

std::string inkClass(const std::string& colour)
{
    const auto found =
        std::ranges::find(inkClasses(), colour, &std::pair<std::string, std::string>::second);
    return found == inkClasses().end() ? "" : found->first;
}

} // namespace vergence::plot
