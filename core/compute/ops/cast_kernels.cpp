#include "core/compute/ops/loops.h"
#include "core/compute/ops/pointwise_kernels.h"

namespace vergence {

namespace {

template <class T>
inline constexpr bool kIsFloat = !std::is_integral_v<T>;

/// A double as a float whose last bit also tells that something was cut, so that rounding it once
/// more to 16 bits gives what rounding the double gives.
VERGENCE_HD float narrowedToOdd(double x)
{
    const float near = static_cast<float>(x);
    const double back = static_cast<double>(near);
    auto bits = __builtin_bit_cast(std::uint32_t, near);
    if (!(back != x) || !(x == x) || (bits & 0x7fffffffu) == 0x7f800000u)
        return near;
    const bool isAway = (back < 0 ? -back : back) > (x < 0 ? -x : x);
    bits -= isAway ? 1u : 0u;
    return __builtin_bit_cast(float, bits | 1u);
}

/// Rounds to nearest even; beyond the range of To the nearest it has; NaN gives 0.
template <class To>
VERGENCE_HD To wholeNumber(double x)
{
    constexpr To low = std::is_unsigned_v<To> ? To(0) : To(To(1) << (8 * sizeof(To) - 1));
    constexpr To high = static_cast<To>(~low);
    const double rounded = rint(x);
    if (rounded >= static_cast<double>(high))
        return high;
    if (rounded <= static_cast<double>(low))
        return low;
    return rounded == rounded ? static_cast<To>(rounded) : To(0);
}

/// Whole numbers between types of other ranges: the nearest that To has.
template <class To, class From>
VERGENCE_HD To wholeNumberFrom(From x)
{
    constexpr To low = std::is_unsigned_v<To> ? To(0) : To(To(1) << (8 * sizeof(To) - 1));
    constexpr To high = static_cast<To>(~low);
    const Index wide = static_cast<Index>(x);
    if (wide >= static_cast<Index>(high))
        return high;
    return wide <= static_cast<Index>(low) ? low : static_cast<To>(wide);
}

template <class To, class From>
VERGENCE_HD To converted(From x)
{
    if constexpr (std::is_same_v<To, From>)
        return x;
    else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>)
        return wholeNumberFrom<To>(x);
    else if constexpr (std::is_integral_v<To>)
        return wholeNumber<To>(static_cast<double>(x));
    else if constexpr (sizeof(To) == 2 && (std::is_same_v<From, double> || sizeof(From) >= 4) &&
                       !std::is_same_v<From, float>)
        return To(narrowedToOdd(static_cast<double>(x)));
    else if constexpr (sizeof(To) == 2)
        return To(static_cast<float>(x));
    else
        return static_cast<To>(x);
}

template <class From, class To>
struct CastElement {
    const From* x;
    To* y;
    VERGENCE_HD void operator()(Index i) const { y[i] = converted<To>(x[i]); }
};

/// Between floating-point types of which none is F64: through float.
template <class From, class To>
struct CastPack {
    const From* x;
    To* y;
    template <class At>
    VERGENCE_HD void operator()(At at) const
    {
        store(y, at, loadAs<float>(x, at));
    }
};

template <class Body>
void withAnyType(DType type, const Body& body)
{
    switch (type) {
    case DType::I32:
        return body(TypeTag<std::int32_t>{});
    case DType::I64:
        return body(TypeTag<std::int64_t>{});
    case DType::U8:
        return body(TypeTag<std::uint8_t>{});
    case DType::U16:
        return body(TypeTag<std::uint16_t>{});
    default:
        return withFloatType(type, body);
    }
}

template <class T>
inline constexpr bool kFitsFloat = kIsFloat<T> && !std::is_same_v<T, double>;

void castBody(Stream& stream, const CastArguments& a)
{
    withAnyType(a.from, [&](auto fromTag) {
        withAnyType(a.to, [&](auto toTag) {
            using From = typename decltype(fromTag)::Type;
            using To = typename decltype(toTag)::Type;
            const From* x = static_cast<const From*>(a.x);
            To* y = static_cast<To*>(a.y);
            if constexpr (kFitsFloat<From> && kFitsFloat<To>)
                forEachPack<From>(stream, a.count, CastPack<From, To>{x, y});
            else
                forEach(stream, a.count, CastElement<From, To>{x, y}, kElementGrain);
        });
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(castKernel, castBody)

} // namespace vergence
