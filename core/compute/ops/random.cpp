#include "core/compute/ops/random.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/compute/ops/operands.h"
#include "core/compute/ops/random_kernels.h"

namespace vergence {

namespace {

/// The largest number of `type` below `high`.
double largestBelow(DType type, double high)
{
    if (type == DType::F64)
        return std::nextafter(high, -HUGE_VAL);
    const float next = static_cast<double>(static_cast<float>(high)) < high
                           ? static_cast<float>(high)
                           : std::nextafter(static_cast<float>(high), -HUGE_VALF);
    if (type == DType::F32)
        return static_cast<double>(next);
    // Of 16 bits: the nearest number, or its neighbour towards −∞, which is one step of the bits.
    const auto stepped = [&](auto number) {
        if (static_cast<double>(static_cast<float>(number)) < high)
            return static_cast<double>(static_cast<float>(number));
        const bool isPositive = static_cast<float>(number) > 0;
        if (static_cast<float>(number) == 0)
            number.bits = 0x8001u;
        else
            number.bits = static_cast<std::uint16_t>(number.bits + (isPositive ? -1 : 1));
        return static_cast<double>(static_cast<float>(number));
    };
    return type == DType::F16 ? stepped(Float16(next)) : stepped(BFloat16(next));
}

} // namespace

void dropout(Stream& stream, const Tensor& x, double p, const RandomKey& key, const Tensor& y)
{
    expectAlike("dropout", stream, {&x, &y});
    expectSameShape("dropout", x, y);
    if (!(p >= 0 && p < 1))
        throw ContractError(fmt::format("dropout: a probability of {}; it must be in [0, 1)", p));
    expects(key.seedAndStep != nullptr, "dropout: no seed and step");
    expectType("dropout", stream, *key.seedAndStep, DType::I64);
    expectShape("dropout", "seed and step", *key.seedAndStep, {2});
    if (p == 0) {
        if (x.data() != y.data() && x.size() > 0)
            stream.copy(y.data(), x.data(), x.bytes());
        return;
    }
    DropoutArguments args;
    args.type = x.dtype();
    args.count = x.size();
    args.x = x.data();
    args.y = y.data();
    args.threshold =
        static_cast<std::uint32_t>(std::min(std::ceil(p * 4294967296.0), 4294967295.0));
    args.factor = 1 / (1 - p);
    args.seedAndStep = static_cast<const std::int64_t*>(key.seedAndStep->data());
    args.purpose = key.purpose;
    dropoutKernel(stream, args);
}

void fillNormal(Stream& stream, const Tensor& y, double mean, double deviation, std::uint64_t seed,
                std::uint64_t streamId)
{
    expectNumbers("fillNormal", stream, y);
    fillNormalKernel(stream, {y.dtype(), y.size(), y.data(), seed, streamId, mean, deviation, 0});
}

void fillUniform(Stream& stream, const Tensor& y, double low, double high, std::uint64_t seed,
                 std::uint64_t streamId)
{
    expectNumbers("fillUniform", stream, y);
    if (!(low < high))
        throw ContractError(fmt::format("fillUniform: from {} to {}", low, high));
    fillUniformKernel(stream, {y.dtype(), y.size(), y.data(), seed, streamId, low, high - low,
                               largestBelow(y.dtype(), high)});
}

} // namespace vergence
