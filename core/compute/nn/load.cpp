#include "core/compute/nn/load.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

namespace vergence {

namespace {
Shape withoutOnes(Shape shape)
{
    std::erase(shape, 1);
    return shape;
}

template <class From, class To>
void convert(const HostArray& array, std::vector<std::byte>& bytes)
{
    const auto count = static_cast<std::size_t>(elementCount(array.shape));
    bytes.resize(count * sizeof(To));
    for (std::size_t i = 0; i < count; ++i) {
        From value; // files promise no alignment
        std::memcpy(&value, static_cast<const std::byte*>(array.data) + i * sizeof(From),
                    sizeof(From));
        const To converted = static_cast<To>(static_cast<Accumulator<From>>(value));
        std::memcpy(bytes.data() + i * sizeof(To), &converted, sizeof(To));
    }
}

template <class From>
void convertTo(DType type, const HostArray& array, std::vector<std::byte>& bytes)
{
    switch (type) {
    case DType::F64:
        return convert<From, double>(array, bytes);
    case DType::F16:
        return convert<From, Float16>(array, bytes);
    case DType::BF16:
        return convert<From, BFloat16>(array, bytes);
    default:
        return convert<From, float>(array, bytes);
    }
}

std::vector<std::byte> converted(const std::string& name, const HostArray& array, DType type)
{
    std::vector<std::byte> bytes;
    if (array.dtype == DType::F32)
        convertTo<float>(type, array, bytes);
    else if (array.dtype == DType::F64)
        convertTo<double>(type, array, bytes);
    else if (array.dtype == DType::F16)
        convertTo<Float16>(type, array, bytes);
    else if (array.dtype == DType::BF16)
        convertTo<BFloat16>(type, array, bytes);
    else
        throw InputError(fmt::format("The tensor {} is {}; weights are F32, F64, F16 or BF16.",
                                     name, nameOf(array.dtype)));
    return bytes;
}

void expectShape(const std::string& name, const Shape& got, const Shape& wanted)
{
    if (withoutOnes(got) == withoutOnes(wanted))
        return;
    const bool isTransposed =
        got.size() == 2 && wanted.size() == 2 && got[0] == wanted[1] && got[1] == wanted[0];
    throw InputError(fmt::format("The tensor {} is {}, the model has {}.{}", name, toString(got),
                                 toString(wanted), isTransposed ? " It is transposed." : ""));
}
} // namespace

void loadParameters(Stream& stream, ParameterSet& parameters, const ArraySource& source)
{
    for (const auto& [name, window] : parameters.fileEntries()) {
        const Tensor target = parameters.named(name);
        const auto array = source(name);
        if (!array)
            throw InputError(fmt::format("The model file has no tensor {}.", name));
        expectShape(name, array->shape, target.shape());
        if (array->dtype == target.dtype()) {
            stream.copy(target.data(), array->data, target.bytes());
            continue;
        }
        const auto bytes = converted(name, *array, target.dtype());
        stream.copy(target.data(), bytes.data(), bytes.size());
    }
    parameters.refreshShadows(stream);
}

} // namespace vergence
