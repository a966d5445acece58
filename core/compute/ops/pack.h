#pragma once

// For kernel files. A pack is a few neighbouring numbers in registers: a vector of the instruction
// set on the CPU, 16 bytes of memory per thread on CUDA. Formulas (fast_math.h, activation_math.h)
// take packs as they take single numbers, so that one text serves all builds.

#include <cstring>

#if defined(__SSE__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

#include "core/compute/half.h"
#include "core/compute/ops/number_lanes.h"
#include "core/compute/ops/thread_pack.h"
#include "core/compute/view.h"

namespace vergence {

inline namespace VERGENCE_KERNEL_NAMESPACE {

#if defined(__CUDACC__)

/// Numbers of type T that one pack covers.
template <class T>
inline constexpr int kPackSize = 16 / static_cast<int>(sizeof(T));
template <class Real, int N>
using Pack = ThreadPack<Real, N>;

#else

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
template <class T>
inline constexpr int kPackSize = kVectorBytes / static_cast<int>(sizeof(Accumulator<T>));

template <class Real, int N>
struct PackOf {
    typedef Real type __attribute__((vector_size(N * sizeof(Real))));
};
template <class Real, int N>
using Pack = typename PackOf<Real, N>::type;

#endif

/// The pack that holds numbers of type T for computing.
template <class T>
using PackFor = Pack<Accumulator<T>, kPackSize<T>>;

/// Which numbers a pack covers: N from `first` on, or, where not whole, the first `count` of them.
/// `slot` counts packs within one turn of an unrolled loop.
template <int N, bool isWhole, int slot = 0>
struct Lanes {
    static constexpr int kSize = N;
    static constexpr bool kWhole = isWhole;
    static constexpr int kSlot = slot;
    static constexpr bool kIsFar = false;
    Index first;
    int count;
};

/// A whole pack within a long walk through memory: load and store fetch what lies `ahead` bytes
/// further, so that the memory works while a formula is computed.
template <int N>
struct FarLanes : Lanes<N, true> {
    static constexpr bool kIsFar = true;
    Index ahead = 0;
};

namespace packs {

#if defined(__CUDACC__)

/// Raw memory of N numbers, read and written by accesses of up to 16 bytes.
template <class T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) RawPack {
    T value[N];
};

template <class Real, int N, class T>
VERGENCE_HD Pack<Real, N> loadWhole(const T* from)
{
    using Raw = RawPack<T, N>;
    Pack<Real, N> pack;
    if (reinterpret_cast<std::uintptr_t>(from) % alignof(Raw) == 0) {
        const Raw raw = *reinterpret_cast<const Raw*>(from);
        for (int i = 0; i < N; ++i)
            pack.value[i] = static_cast<Real>(raw.value[i]);
    } else {
        for (int i = 0; i < N; ++i)
            pack.value[i] = static_cast<Real>(from[i]);
    }
    return pack;
}

template <class T, class Real, int N>
VERGENCE_HD void storeWhole(T* to, const Pack<Real, N>& pack)
{
    using Raw = RawPack<T, N>;
    Raw raw;
    for (int i = 0; i < N; ++i)
        raw.value[i] = static_cast<T>(pack.value[i]);
    if (reinterpret_cast<std::uintptr_t>(to) % alignof(Raw) == 0) {
        *reinterpret_cast<Raw*>(to) = raw;
    } else {
        for (int i = 0; i < N; ++i)
            to[i] = raw.value[i];
    }
}

#else

/// How far ahead walks that read memory in its order ask: some thirty cache lines on processors of
/// Intel, which gain a third where a formula is long; not at all on others: AMD's lose a fifth.
inline Index bytesAhead()
{
#if defined(__x86_64__)
    static const Index bytes = [] {
        __builtin_cpu_init();
        return __builtin_cpu_is("intel") ? Index{2048} : Index{0};
    }();
    return bytes;
#else
    return 0;
#endif
}

/// Asks for the memory that a walk reaches soon; no address is wrong.
VERGENCE_HD void fetchAhead(const void* at, Index bytes)
{
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(at) +
                                                     static_cast<std::uintptr_t>(bytes)));
}

/// The same bits as another vector of equal size.
template <class To, class From>
VERGENCE_HD To castBits(From from)
{
    return (To)from;
}

// The masked forms of AVX-512, as the plain ones warn in GCC 12.

template <int N>
VERGENCE_HD Pack<float, N> widenHalves(const Float16* from)
{
#if defined(__AVX512F__)
    if constexpr (N == 16)
        return (Pack<float, N>)_mm512_maskz_cvtph_ps(
            0xFFFF, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#endif
#if defined(__F16C__)
    if constexpr (N == 8)
        return (Pack<float, N>)_mm256_cvtph_ps(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#endif
    Pack<float, N> pack;
    for (int i = 0; i < N; ++i)
        pack[i] = static_cast<float>(from[i]);
    return pack;
}

template <int N>
VERGENCE_HD void narrowToHalves(Float16* to, const Pack<float, N>& pack)
{
#if defined(__AVX512F__)
    if constexpr (N == 16) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                            _mm512_maskz_cvtps_ph(0xFFFF, (__m512)pack,
                                                  _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
        return;
    }
#endif
#if defined(__F16C__)
    if constexpr (N == 8) {
        _mm_storeu_si128(
            reinterpret_cast<__m128i*>(to),
            _mm256_cvtps_ph((__m256)pack, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
        return;
    }
#endif
    for (int i = 0; i < N; ++i)
        to[i] = Float16(pack[i]);
}

template <class Real, int N, class T>
VERGENCE_HD Pack<Real, N> loadWhole(const T* from)
{
    if constexpr (std::is_same_v<T, BFloat16>) {
        Pack<std::uint16_t, N> raw;
        std::memcpy(&raw, from, sizeof(raw));
        const auto wide = __builtin_convertvector(raw, Pack<std::uint32_t, N>) << 16;
        return __builtin_convertvector((Pack<float, N>)wide, Pack<Real, N>);
    } else if constexpr (std::is_same_v<T, Float16>) {
        return __builtin_convertvector(widenHalves<N>(from), Pack<Real, N>);
    } else {
        Pack<T, N> raw;
        std::memcpy(&raw, from, sizeof(raw));
        return __builtin_convertvector(raw, Pack<Real, N>);
    }
}

template <class T, class Real, int N>
VERGENCE_HD void storeWhole(T* to, const Pack<Real, N>& pack)
{
    if constexpr (std::is_same_v<T, BFloat16>) {
        const auto bits = (Pack<std::uint32_t, N>)__builtin_convertvector(pack, Pack<float, N>);
        const auto rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
        const auto quiet = (bits >> 16) | 0x40u;
        const auto narrow = __builtin_convertvector(
            (bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded, Pack<std::uint16_t, N>);
        std::memcpy(to, &narrow, sizeof(narrow));
    } else if constexpr (std::is_same_v<T, Float16>) {
        narrowToHalves<N>(to, __builtin_convertvector(pack, Pack<float, N>));
    } else {
        const auto raw = __builtin_convertvector(pack, Pack<T, N>);
        std::memcpy(to, &raw, sizeof(raw));
    }
}

#endif

} // namespace packs

/// The numbers from[at] in the accuracy of Real; 0 beyond a part's count.
template <class Real, class T, class At>
VERGENCE_HD Pack<Real, At::kSize> loadAs(const T* from, At at)
{
    from += at.first;
#if !defined(__CUDACC__)
    if constexpr (At::kIsFar)
        packs::fetchAhead(from, at.ahead);
#endif
    if constexpr (At::kWhole) {
        return packs::loadWhole<Real, At::kSize>(from);
    } else {
#if defined(__AVX512F__) && !defined(__CUDACC__)
        if constexpr (std::is_same_v<T, float> && At::kSize == 16)
            return (Pack<Real, 16>)_mm512_maskz_loadu_ps(
                static_cast<__mmask16>((1u << at.count) - 1), from);
#endif
        Pack<Real, At::kSize> pack{};
        for (int i = 0; i < At::kSize; ++i) {
            if (i < at.count)
                pack[i] = static_cast<Real>(from[i]);
        }
        return pack;
    }
}

/// The same for a tensor of type T: in its own accumulator.
template <class T, class At>
VERGENCE_HD Pack<Accumulator<T>, At::kSize> load(const T* from, At at)
{
    return loadAs<Accumulator<T>>(from, at);
}

template <class T, class At, class P>
VERGENCE_HD void store(T* to, At at, const P& pack)
{
    using Real = ScalarOf<P>;
    to += at.first;
#if !defined(__CUDACC__)
    if constexpr (At::kIsFar)
        packs::fetchAhead(to, at.ahead);
#endif
    if constexpr (At::kWhole) {
        packs::storeWhole<T, Real, At::kSize>(to, pack);
    } else {
#if defined(__AVX512F__) && !defined(__CUDACC__)
        if constexpr (std::is_same_v<T, float> && std::is_same_v<Real, float> && At::kSize == 16)
            return _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << at.count) - 1),
                                         (__m512)pack);
#endif
        for (int i = 0; i < At::kSize; ++i) {
            if (i < at.count)
                to[i] = static_cast<T>(pack[i]);
        }
    }
}

/// Vector of weights [C] in the type T of the data or in its accumulator; or absent.
template <class T>
struct WeightPointer {
    const T* same = nullptr;
    const Accumulator<T>* wide = nullptr;

    WeightPointer() = default;
    VERGENCE_HD WeightPointer(const void* data, bool isWide)
        : same(isWide ? nullptr : static_cast<const T*>(data)),
          wide(isWide ? static_cast<const Accumulator<T>*>(data) : nullptr)
    {
    }
    VERGENCE_HD bool isThere() const { return same || wide; }

    /// The weights, or `absent` where there are none.
    template <class At>
    VERGENCE_HD Pack<Accumulator<T>, At::kSize> at(At at, Accumulator<T> absent) const
    {
        using P = Pack<Accumulator<T>, At::kSize>;
        if (same)
            return load<T>(same, at);
        return wide ? load<Accumulator<T>>(wide, at) : spread<P>(absent);
    }
    /// One weight.
    VERGENCE_HD Accumulator<T> one(Index i, Accumulator<T> absent) const
    {
        return same ? static_cast<Accumulator<T>>(same[i]) : wide ? wide[i] : absent;
    }
    VERGENCE_HD WeightPointer from(Index offset) const
    {
        WeightPointer moved = *this;
        moved.same = same ? same + offset : nullptr;
        moved.wide = wide ? wide + offset : nullptr;
        return moved;
    }
};

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
