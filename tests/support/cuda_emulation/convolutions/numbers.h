#pragma once

#include <bit>
#include <cstdint>

#include <Eigen/Core>
#include <cudnn_backend.h>

namespace vergence::emulation::convolutions {

/// Real is float for all types but CUDNN_DATA_DOUBLE.
template <class Real>
Real loadNumber(cudnnDataType_t type, const void* first, std::int64_t place)
{
    switch (type) {
    case CUDNN_DATA_HALF:
        return static_cast<Real>(static_cast<const Eigen::half*>(first)[place]);
    case CUDNN_DATA_BFLOAT16:
        return static_cast<Real>(static_cast<const Eigen::bfloat16*>(first)[place]);
    case CUDNN_DATA_DOUBLE:
        return static_cast<Real>(static_cast<const double*>(first)[place]);
    default:
        return static_cast<Real>(static_cast<const float*>(first)[place]);
    }
}

/// Rounds to nearest even.
template <class Real>
void storeNumber(cudnnDataType_t type, void* first, std::int64_t place, Real number)
{
    switch (type) {
    case CUDNN_DATA_HALF:
        static_cast<Eigen::half*>(first)[place] = Eigen::half(static_cast<float>(number));
        break;
    case CUDNN_DATA_BFLOAT16:
        static_cast<Eigen::bfloat16*>(first)[place] = Eigen::bfloat16(static_cast<float>(number));
        break;
    case CUDNN_DATA_DOUBLE:
        static_cast<double*>(first)[place] = static_cast<double>(number);
        break;
    default:
        static_cast<float*>(first)[place] = static_cast<float>(number);
    }
}

/// As it would be stored and read again.
template <class Real>
Real rounded(cudnnDataType_t type, Real number)
{
    double memory;
    storeNumber(type, &memory, 0, number);
    return loadNumber<Real>(type, &memory, 0);
}

/// To 10 bits behind the point, as the tensor cores take operands of TF32.
inline float roundedToTf32(float number)
{
    constexpr std::uint32_t kHalf = 1u << 12, kKept = ~((1u << 13) - 1);
    const auto bits = std::bit_cast<std::uint32_t>(number);
    const bool isFinite = (bits & 0x7f800000u) != 0x7f800000u;
    return isFinite ? std::bit_cast<float>((bits + kHalf) & kKept) : number;
}

} // namespace vergence::emulation::convolutions
