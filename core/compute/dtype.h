#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vergence {

/// Element type of a tensor. F16 and BF16 are storage types; sums are kept in F32 or F64.
enum class DType : std::uint8_t { F32, F64, F16, BF16, I32, I64, U8, U16 };

std::size_t sizeOf(DType type);      ///< bytes of one element
std::string_view nameOf(DType type); ///< safetensors name: "F32", "BF16", …

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
    static constexpr DType value = DType::F32;
};
template <>
struct DTypeOf<double> {
    static constexpr DType value = DType::F64;
};
template <>
struct DTypeOf<std::int32_t> {
    static constexpr DType value = DType::I32;
};
template <>
struct DTypeOf<std::int64_t> {
    static constexpr DType value = DType::I64;
};
template <>
struct DTypeOf<std::uint8_t> {
    static constexpr DType value = DType::U8;
};
template <>
struct DTypeOf<std::uint16_t> {
    static constexpr DType value = DType::U16;
};
template <class T>
struct DTypeOf<const T> : DTypeOf<T> {
};

} // namespace vergence
