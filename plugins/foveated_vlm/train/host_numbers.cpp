#include "plugins/foveated_vlm/train/host_numbers.h"

#include "core/compute/ops/pointwise.h"

namespace vergence::fvlm {

std::vector<double> toDoubles(Stream& stream, const Tensor& tensor)
{
    if (tensor.isEmpty())
        return {};
    if (tensor.dtype() == DType::F64)
        return tensor.toHost<double>(stream);
    Tensor single = tensor;
    if (tensor.dtype() != DType::F32) {
        single = Tensor::empty(tensor.device(), tensor.shape(), DType::F32);
        cast(stream, tensor, single);
    }
    const std::vector<float> values = single.toHost<float>(stream);
    return {values.begin(), values.end()};
}

} // namespace vergence::fvlm
