#include "plugins/light_field/compute/pack_pixels.h"

#include <cmath>

#include "core/compute/launch.h"

namespace vergence::light_field {

namespace {

struct PackSrgb {
    View<const float, 2> image;   ///< [H · W, L]
    View<std::uint8_t, 2> packed; ///< [H · W, 4]
    int channels;

    VERGENCE_HD std::uint8_t encoded(float linear) const
    {
        const float x = linear > 0.0f ? (linear < 1.0f ? linear : 1.0f) : 0.0f;
        const float y = x <= 0.0031308f ? 12.92f * x : 1.055f * powf(x, 1.0f / 2.4f) - 0.055f;
        return static_cast<std::uint8_t>(255.0f * y + 0.5f);
    }

    VERGENCE_HD void operator()(Index i) const
    {
        for (int c = 0; c < 3; ++c)
            packed(i, c) = encoded(image(i, channels == 3 ? c : 0));
        packed(i, 3) = 255;
    }
};

void packSrgbBody(Stream& stream, const Tensor& image, int channels, const Tensor& packed)
{
    expects(image.rank() == 3 && packed.rank() == 3 && packed.extent(2) == 4,
            "packSrgb: [H, W, L] and [H, W, 4]");
    expects(image.extent(0) == packed.extent(0) && image.extent(1) == packed.extent(1),
            "packSrgb: sizes differ");
    expects(channels == 1 || (channels == 3 && image.extent(2) >= 3),
            "packSrgb: one channel, or three of at least three lanes");
    const Index pixels = image.extent(0) * image.extent(1);
    forEach(stream, pixels,
            PackSrgb{image.reshaped({pixels, image.extent(2)}).view<const float, 2>(),
                     packed.reshaped({pixels, 4}).view<std::uint8_t, 2>(), channels});
}

} // namespace

VERGENCE_REGISTER_KERNEL(packSrgb, packSrgbBody)

} // namespace vergence::light_field
