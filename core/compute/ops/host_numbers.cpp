#include "core/compute/ops/host_numbers.h"

#include "core/compute/ops/pointwise.h"

namespace vergence {

std::vector<float> toFloats(Stream& stream, const Tensor& tensor)
{
    if (tensor.isEmpty())
        return {};
    if (tensor.dtype() == DType::F32)
        return tensor.toHost<float>(stream);
    const Tensor single = Tensor::empty(tensor.device(), tensor.shape(), DType::F32);
    cast(stream, tensor, single);
    return single.toHost<float>(stream);
}

std::vector<double> toDoubles(Stream& stream, const Tensor& tensor)
{
    if (!tensor.isEmpty() && tensor.dtype() == DType::F64)
        return tensor.toHost<double>(stream);
    const std::vector<float> single = toFloats(stream, tensor);
    return {single.begin(), single.end()};
}

} // namespace vergence
