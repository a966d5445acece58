#include "plugins/sugar/compute/learning/over_background.h"

#include <algorithm>

#include "plugins/sugar/compute/learning/over_background_kernels.h"

namespace vergence::sugar {

Tensor overBackground(Stream& stream, const Tensor& photo, const Tensor& transparency,
                      const std::array<float, 3>& colour)
{
    expects(photo.rank() == 3 && photo.extent(2) == 3 &&
                transparency.shape() == Shape{photo.extent(0), photo.extent(1)},
            "overBackground: a photograph [H, W, 3] and its transparency [H, W] are needed");
    const Tensor result = Tensor::empty(photo.device(), photo.shape(), DType::U8);
    OverBackgroundArguments arguments;
    arguments.pixels = transparency.size();
    arguments.photo = photo.flat<std::uint8_t>().data();
    arguments.transparency = transparency.flat<std::uint8_t>().data();
    std::copy(colour.begin(), colour.end(), arguments.colour);
    arguments.result = result.flat<std::uint8_t>().data();
    overBackgroundKernel(stream, arguments);
    return result;
}

} // namespace vergence::sugar
