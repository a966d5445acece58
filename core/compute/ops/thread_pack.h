#pragma once

// For kernel files: the pack of one CUDA thread, with the operators that vectors of the CPU bring
// along.

#if defined(__CUDACC__)

#include <type_traits>

#include "core/compute/ops/number_lanes.h"

namespace vergence {

/// N numbers of one thread.
template <class Real, int N>
struct ThreadPack {
    Real value[N];

    VERGENCE_HD Real& operator[](int i) { return value[i]; }
    VERGENCE_HD Real operator[](int i) const { return value[i]; }
};
template <int N>
struct ThreadMask {
    bool value[N];
};
template <class Real, int N>
struct NumberTraits<ThreadPack<Real, N>> {
    using Scalar = Real;
    using Bits = ThreadMask<N>;
};

#define VERGENCE_PACK_OPERATOR(op, Result)                                                         \
    template <class Real, int N>                                                                   \
    VERGENCE_HD Result operator op(const ThreadPack<Real, N>& a, const ThreadPack<Real, N>& b)     \
    {                                                                                              \
        Result c;                                                                                  \
        for (int i = 0; i < N; ++i)                                                                \
            c.value[i] = a.value[i] op b.value[i];                                                 \
        return c;                                                                                  \
    }                                                                                              \
    template <class Real, int N>                                                                   \
    VERGENCE_HD Result operator op(const ThreadPack<Real, N>& a, std::type_identity_t<Real> b)     \
    {                                                                                              \
        Result c;                                                                                  \
        for (int i = 0; i < N; ++i)                                                                \
            c.value[i] = a.value[i] op b;                                                          \
        return c;                                                                                  \
    }                                                                                              \
    template <class Real, int N>                                                                   \
    VERGENCE_HD Result operator op(std::type_identity_t<Real> a, const ThreadPack<Real, N>& b)     \
    {                                                                                              \
        Result c;                                                                                  \
        for (int i = 0; i < N; ++i)                                                                \
            c.value[i] = a op b.value[i];                                                          \
        return c;                                                                                  \
    }
#define VERGENCE_PACK_TYPE ThreadPack<Real, N>
VERGENCE_PACK_OPERATOR(+, VERGENCE_PACK_TYPE)
VERGENCE_PACK_OPERATOR(-, VERGENCE_PACK_TYPE)
VERGENCE_PACK_OPERATOR(*, VERGENCE_PACK_TYPE)
VERGENCE_PACK_OPERATOR(/, VERGENCE_PACK_TYPE)
VERGENCE_PACK_OPERATOR(<, ThreadMask<N>)
VERGENCE_PACK_OPERATOR(>, ThreadMask<N>)
VERGENCE_PACK_OPERATOR(>=, ThreadMask<N>)
#undef VERGENCE_PACK_TYPE
#undef VERGENCE_PACK_OPERATOR

template <class Real, int N>
VERGENCE_HD ThreadPack<Real, N> operator-(const ThreadPack<Real, N>& a)
{
    return Real(0) - a;
}
template <class Real, int N>
VERGENCE_HD ThreadPack<Real, N>& operator+=(ThreadPack<Real, N>& a, const ThreadPack<Real, N>& b)
{
    return a = a + b;
}
template <class Real, int N>
VERGENCE_HD ThreadPack<Real, N> select(const ThreadMask<N>& mask, const ThreadPack<Real, N>& a,
                                       const ThreadPack<Real, N>& b)
{
    ThreadPack<Real, N> c;
    for (int i = 0; i < N; ++i)
        c.value[i] = mask.value[i] ? a.value[i] : b.value[i];
    return c;
}
template <class Real, int N>
VERGENCE_HD ThreadPack<Real, N> multiplyAdd(const ThreadPack<Real, N>& a,
                                            const ThreadPack<Real, N>& b,
                                            const ThreadPack<Real, N>& c)
{
    ThreadPack<Real, N> d;
    for (int i = 0; i < N; ++i)
        d.value[i] = fma(a.value[i], b.value[i], c.value[i]);
    return d;
}
template <class Real, int N>
VERGENCE_HD ThreadPack<Real, N> absolute(const ThreadPack<Real, N>& a)
{
    ThreadPack<Real, N> b;
    for (int i = 0; i < N; ++i)
        b.value[i] = fabs(a.value[i]);
    return b;
}

} // namespace vergence

#endif
