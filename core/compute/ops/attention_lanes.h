#pragma once

// For the CPU builds of kernel files: the widest vectors of the instruction set. Everything is
// always inlined, so that the builds share no symbol.

#include <cstdint>
#include <cstring>
#include <utility>

#include "core/compute/ops/fast_math.h"
#include "core/compute/ops/pack.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace lanes {

using vergence::multiplyAdd;

#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kRegisters = 32;
#else
inline constexpr int kRegisters = 16;
#endif

template <class Real>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(Real));

template <class Real>
struct VectorOf {
    typedef Real type __attribute__((vector_size(kVectorBytes)));
};
/// kLanes<Real> numbers.
template <class Real>
using Vector = typename VectorOf<Real>::type;

/// Whole number of the width of Real.
template <class Real>
struct WholeOf {
    using type = std::int32_t;
};
template <>
struct WholeOf<double> {
    using type = std::int64_t;
};
template <class Real>
using Whole = typename WholeOf<Real>::type;

template <class Real>
VERGENCE_HD Vector<Real> load(const Real* from)
{
    Vector<Real> value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

template <class Real, class Value>
VERGENCE_HD void store(Real* to, const Value& value)
{
    std::memcpy(to, &value, sizeof(value));
}

template <class Real>
VERGENCE_HD Vector<Real> spread(Real value)
{
    return vergence::spread<Vector<Real>>(value);
}

template <class Value>
VERGENCE_HD Value larger(const Value& a, const Value& b)
{
    return a > b ? a : b;
}

/// Whether a comparison holds for some lane.
template <class Mask>
VERGENCE_HD bool isAnySet(const Mask& mask)
{
    std::int64_t words[kVectorBytes / 8], any = 0;
    std::memcpy(words, &mask, sizeof(words));
    for (const std::int64_t word : words)
        any |= word;
    return any != 0;
}

/// 2^x for 32-bit floats, relative error below 2e-7; 0 below −126, also for −∞. Taken apart as
/// 2^n · 2^f, |f| ≤ ½; the polynomial has the least maximal relative error (Remez), 1.9e-9.
VERGENCE_HD Vector<float> powerOfTwo(const Vector<float>& x)
{
    typedef std::int32_t Bits __attribute__((vector_size(kVectorBytes)));
    constexpr float kRounder = 12582912.0f; // 1.5 · 2^23: the sum's low bits are n
    const Vector<float> rounded = x + kRounder, f = x - (rounded - kRounder);
    Vector<float> p = multiplyAdd(spread(1.53458134838e-4f), f, spread(1.33999312496e-3f));
    p = multiplyAdd(p, f, spread(9.61848895815e-3f));
    p = multiplyAdd(p, f, spread(5.55032877731e-2f));
    p = multiplyAdd(p, f, spread(2.40226468905e-1f));
    p = multiplyAdd(p, f, spread(6.93147205736e-1f));
    p = multiplyAdd(p, f, spread(1.0f));
    const auto power = reinterpret_cast<Vector<float>>(reinterpret_cast<Bits>(p) +
                                                       (reinterpret_cast<Bits>(rounded) << 23));
    return x < -126.0f ? Vector<float>{} : power;
}

/// 2^x for 64-bit floats, relative error below 4e-16; 0 below −1022. Polynomial as above, 3.1e-18.
VERGENCE_HD Vector<double> powerOfTwo(const Vector<double>& x)
{
    typedef std::int64_t Bits __attribute__((vector_size(kVectorBytes)));
    constexpr double kRounder = 6755399441055744.0; // 1.5 · 2^52
    constexpr double kSeries[] = {7.074105578073896699671e-9,
                                  1.017819805162569039545e-7,
                                  1.321543308995390640937e-6,
                                  1.525273348991268537441e-5,
                                  1.54035304625136712962e-4,
                                  1.333355814679000632539e-3,
                                  9.618129107588336110674e-3,
                                  5.550410866481992120871e-2,
                                  2.402265069591015620047e-1,
                                  6.931471805599453304654e-1,
                                  1.0};
    const Vector<double> rounded = x + kRounder, f = x - (rounded - kRounder);
    Vector<double> p = spread(4.435278404338242517579e-10);
    for (const double c : kSeries)
        p = multiplyAdd(p, f, spread(c));
    const auto power = reinterpret_cast<Vector<double>>(reinterpret_cast<Bits>(p) +
                                                        (reinterpret_cast<Bits>(rounded) << 52));
    return x < -1022.0 ? Vector<double>{} : power;
}

namespace detail {

template <int Side, int Lanes, class Value, int... I>
VERGENCE_HD void exchange(Value& a, Value& b, std::integer_sequence<int, I...>)
{
    const Value low = __builtin_shufflevector(a, b, ((I & Side) ? Lanes + I - Side : I)...);
    const Value high = __builtin_shufflevector(a, b, ((I & Side) ? Lanes + I : I + Side)...);
    a = low;
    b = high;
}

template <class Value, int... I>
VERGENCE_HD Value neighbourSums(const Value& a, const Value& b, std::integer_sequence<int, I...>)
{
    return __builtin_shufflevector(a, b, (2 * I)...) +
           __builtin_shufflevector(a, b, (2 * I + 1)...);
}

template <class Real, int Step>
VERGENCE_HD void transposeFrom(Vector<Real>* rows)
{
    constexpr int kCount = kLanes<Real>;
    if constexpr (Step < kCount) {
#pragma GCC unroll 16
        for (int i = 0; i < kCount; ++i) {
            if (!(i & Step))
                exchange<Step, kCount>(rows[i], rows[i + Step],
                                       std::make_integer_sequence<int, kCount>{});
        }
        transposeFrom<Real, Step * 2>(rows);
    }
}

} // namespace detail

/// Transposes a square of kLanes rows in place.
template <class Real>
VERGENCE_HD void transpose(Vector<Real>* rows)
{
    detail::transposeFrom<Real, 1>(rows);
}

/// Sums of kLanes vectors: number i is the sum of rows[i]. Overwrites the rows.
template <class Real>
VERGENCE_HD Vector<Real> sumsOf(Vector<Real>* rows)
{
    constexpr int kCount = kLanes<Real>;
#pragma GCC unroll 4
    for (int left = kCount / 2; left > 0; left /= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < left; ++i)
            rows[i] = detail::neighbourSums(rows[2 * i], rows[2 * i + 1],
                                            std::make_integer_sequence<int, kCount>{});
    }
    return rows[0];
}

/// Numbers as `Real`, `count` of them.
template <class Real, class T>
VERGENCE_HD void widen(const T* from, Index count, Real* to)
{
    Index i = 0;
    for (; i + kLanes<Real> <= count; i += kLanes<Real>)
        store(to + i, packs::loadWhole<Real, kLanes<Real>>(from + i));
    for (; i < count; ++i)
        to[i] = static_cast<Real>(from[i]);
}

/// The way back, rounded to nearest even.
template <class Real, class T>
VERGENCE_HD void narrowTo(const Real* from, Index count, T* to)
{
    Index i = 0;
    for (; i + kLanes<Real> <= count; i += kLanes<Real>)
        packs::storeWhole<T, Real, kLanes<Real>>(to + i, load(from + i));
    for (; i < count; ++i)
        to[i] = static_cast<T>(from[i]);
}

} // namespace lanes
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
