#include "tests/support/cuda_emulation/products/numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace vergence::emulation {

namespace {

constexpr std::uint32_t kInfinity = 0x7f800000u;

/// The upper bits of a binary32 without the lowest `dropped` ones, to nearest even.
std::uint32_t rounded(std::uint32_t bits, int dropped)
{
    const std::uint32_t half = 1u << (dropped - 1);
    return (bits + half - 1 + (bits >> dropped & 1u)) >> dropped;
}

bool isNan(std::uint32_t bits)
{
    return (bits & 0x7fffffffu) > kInfinity;
}

/// Source: IEEE 754-2019, section 3.6 (binary16). NaN is the one that a device makes.
std::uint16_t halfOf(float number)
{
    const auto bits = std::bit_cast<std::uint32_t>(number);
    const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (isNan(bits))
        return 0x7fff;
    if (magnitude < 0x38800000u) { // Below 2⁻¹⁴: in units of 2⁻²⁴, which are those of 0.5 too.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) & 0xffffu));
    }
    const std::uint32_t half = rounded(magnitude - 0x38000000u, 13);
    return static_cast<std::uint16_t>(sign | std::min<std::uint32_t>(half, 0x7c00));
}

std::array<float, 65536> allHalves()
{
    std::array<float, 65536> values;
    for (std::uint32_t bits = 0; bits < values.size(); ++bits) {
        const std::uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
        float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                    : std::ldexp(static_cast<float>(fraction | 1024),
                                                 static_cast<int>(exponent) - 25);
        if (exponent == 31)
            value = std::bit_cast<float>(kInfinity | fraction << 13);
        values[bits] = bits & 0x8000 ? -value : value;
    }
    return values;
}

float numberOfHalf(std::uint16_t bits)
{
    static const std::array<float, 65536> values = allHalves();
    return values[bits];
}

std::uint16_t brainOf(float number)
{
    const auto bits = std::bit_cast<std::uint32_t>(number);
    return isNan(bits) ? 0x7fff : static_cast<std::uint16_t>(rounded(bits, 16));
}

float numberOfBrain(std::uint16_t bits)
{
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Calls body(function), which turns numbers of 16 bits into floats.
template <class Body>
void withReaderOf(cudaDataType_t type, const Body& body)
{
    if (type == CUDA_R_16F)
        body([](std::uint16_t bits) { return numberOfHalf(bits); });
    else
        body([](std::uint16_t bits) { return numberOfBrain(bits); });
}

/// Calls body(function), which turns numbers into 16 bits.
template <class Body>
void withWriterOf(cudaDataType_t type, const Body& body)
{
    if (type == CUDA_R_16F)
        body([](auto number) { return halfOf(static_cast<float>(number)); });
    else
        body([](auto number) { return brainOf(static_cast<float>(number)); });
}

} // namespace

template <class Real>
void readNumbers(cudaDataType_t type, const void* stored, std::int64_t count, Real* to)
{
    const auto copy = [&](const auto* from, const auto& convert) {
        std::transform(from, from + count, to, convert);
    };
    if (type == CUDA_R_64F)
        copy(static_cast<const double*>(stored), [](double x) { return static_cast<Real>(x); });
    else if (type == CUDA_R_32F)
        copy(static_cast<const float*>(stored), [](float x) { return static_cast<Real>(x); });
    else
        withReaderOf(type, [&](const auto& convert) {
            copy(static_cast<const std::uint16_t*>(stored), convert);
        });
}

template <class Real>
void storeNumbers(cudaDataType_t type, const Real* numbers, std::int64_t count, void* to)
{
    const auto copy = [&](auto* where, const auto& convert) {
        std::transform(numbers, numbers + count, where, convert);
    };
    if (type == CUDA_R_64F)
        copy(static_cast<double*>(to), [](Real x) { return static_cast<double>(x); });
    else if (type == CUDA_R_32F)
        copy(static_cast<float*>(to), [](Real x) { return static_cast<float>(x); });
    else
        withWriterOf(type,
                     [&](const auto& convert) { copy(static_cast<std::uint16_t*>(to), convert); });
}

template <class Real>
void roundNumbers(cudaDataType_t type, Real* numbers, std::int64_t count)
{
    if (type != CUDA_R_16F && type != CUDA_R_16BF)
        return;
    withWriterOf(type, [&](const auto& write) {
        withReaderOf(type, [&](const auto& read) {
            std::transform(numbers, numbers + count, numbers,
                           [&](Real x) { return static_cast<Real>(read(write(x))); });
        });
    });
}

template void readNumbers(cudaDataType_t, const void*, std::int64_t, float*);
template void readNumbers(cudaDataType_t, const void*, std::int64_t, double*);
template void storeNumbers(cudaDataType_t, const float*, std::int64_t, void*);
template void storeNumbers(cudaDataType_t, const double*, std::int64_t, void*);
template void roundNumbers(cudaDataType_t, float*, std::int64_t);
template void roundNumbers(cudaDataType_t, double*, std::int64_t);

void roundToTf32(float* numbers, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(numbers[i]);
        if ((bits & kInfinity) != kInfinity)
            numbers[i] = std::bit_cast<float>(rounded(bits, 13) << 13);
    }
}

} // namespace vergence::emulation
