#include "plugins/foveated_vlm/feed/patch_rows.h"

#include <vector>

#include "core/base/error.h"

namespace vergence::fvlm {

namespace {

double normalised(std::size_t channel, int byte)
{
    return (byte / 255.0 - kImageNetMean[channel]) / kImageNetDeviation[channel];
}

template <class T>
Tensor table(Stream& stream, const std::shared_ptr<Device>& device)
{
    std::vector<T> values;
    for (std::size_t channel = 0; channel < 3; ++channel) {
        for (int byte = 0; byte < 256; ++byte) {
            if constexpr (std::is_same_v<T, double>)
                values.push_back(normalised(channel, byte));
            else
                values.push_back(static_cast<T>(static_cast<float>(normalised(channel, byte))));
        }
    }
    return Tensor::fromHost<T>(stream, device, {3, 256}, values);
}

} // namespace

Tensor normalisedBytes(Stream& stream, const std::shared_ptr<Device>& device, DType type)
{
    switch (type) {
    case DType::F64:
        return table<double>(stream, device);
    case DType::F32:
        return table<float>(stream, device);
    case DType::F16:
        return table<Float16>(stream, device);
    case DType::BF16:
        return table<BFloat16>(stream, device);
    default:
        throw ContractError("normalisedBytes: patches are in F64, F32, F16 or BF16");
    }
}

} // namespace vergence::fvlm
