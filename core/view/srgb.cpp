#include <array>
#include <cmath>
#include <cstddef>

#include "core/view/frame_publisher.h"

namespace vergence {

namespace {

/// Linear light of an encoded value in [0, 1]. Source: IEC 61966-2-1, section 5.2.
double decode(double encoded)
{
    return encoded <= 0.04045 ? encoded / 12.92 : std::pow((encoded + 0.055) / 1.055, 2.4);
}

/// Where the rounded code steps up: `steps[c]` is the linear value at which code c becomes c + 1.
/// `start[b]` is the code at the lower edge of the b-th of kBins equal parts of [0, 1]; a part
/// holds at most two steps.
struct Tables {
    static constexpr int kBins = 4096;
    std::array<double, 255> steps{};
    std::array<std::uint8_t, kBins> start{};
    std::array<float, 256> linear{};

    Tables()
    {
        for (int code = 0; code < 255; ++code)
            steps[static_cast<std::size_t>(code)] = decode((code + 0.5) / 255.0);
        std::size_t code = 0;
        for (int bin = 0; bin < kBins; ++bin) {
            while (code < 255 && static_cast<double>(bin) / kBins >= steps[code])
                ++code;
            start[static_cast<std::size_t>(bin)] = static_cast<std::uint8_t>(code);
        }
        for (int value = 0; value < 256; ++value)
            linear[static_cast<std::size_t>(value)] = static_cast<float>(decode(value / 255.0));
    }
};

const Tables& tables()
{
    static const Tables instance;
    return instance;
}

} // namespace

std::uint8_t encodeSrgb8(float linear)
{
    if (!(linear > 0)) // also NaN
        return 0;
    if (linear >= 1)
        return 255;
    const Tables& table = tables();
    std::size_t code = table.start[static_cast<std::size_t>(linear * Tables::kBins)];
    while (code < 255 && static_cast<double>(linear) >= table.steps[code])
        ++code;
    return static_cast<std::uint8_t>(code);
}

float decodeSrgb8(std::uint8_t encoded)
{
    return tables().linear[encoded];
}

} // namespace vergence
