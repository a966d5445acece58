#pragma once

// Barriers and warp operations, over what engine_calls.h declares.

#include <cstring>
#include <type_traits>

#include "tests/support/cuda_emulation/language/engine_calls.h"

namespace vergence::emulation {

template <class T>
struct Shuffle {
    T value, result;
    int source; ///< lane whose value is wanted
};

/// A lane that reads another one that did not come gets 0xff.
template <class T>
VERGENCE_EMULATED_PLAIN void exchange(void** arguments, unsigned came, Site site)
{
    for (int lane = 0; lane < 32; ++lane) {
        if (!(came >> lane & 1))
            continue;
        auto* mine = static_cast<Shuffle<T>*>(arguments[lane]);
        if (came >> mine->source & 1) {
            mine->result = static_cast<const Shuffle<T>*>(arguments[mine->source])->value;
        } else {
            report("shuffle", site, "reads a lane that does not take part");
            std::memset(&mine->result, 0xff, sizeof(T));
        }
    }
}

template <class T>
VERGENCE_EMULATED_PLAIN T shuffled(Site site, unsigned mask, T value, int source)
{
    static_assert(std::is_arithmetic_v<T>, "shuffles are for numbers");
    Shuffle<T> shuffle{value, value, source & 31};
    meet(mask, site, &exchange<T>, &shuffle);
    return shuffle.result;
}

/// Lanes work in segments of `width`, a power of two. Where the wanted lane is none of the segment,
/// a lane keeps its value.
template <class T>
VERGENCE_EMULATED_PLAIN T shuffleXor(Site site, unsigned mask, T value, int other, int width = 32)
{
    const int lane = laneOfThread(), wanted = lane ^ other;
    const bool isBeyond = wanted / width > lane / width; // an earlier segment may be read
    return shuffled(site, mask, value, isBeyond ? lane : wanted);
}
template <class T>
VERGENCE_EMULATED_PLAIN T shuffleDown(Site site, unsigned mask, T value, unsigned by,
                                      int width = 32)
{
    const int lane = laneOfThread(), within = lane % width + static_cast<int>(by);
    return shuffled(site, mask, value, within < width ? lane + static_cast<int>(by) : lane);
}
template <class T>
VERGENCE_EMULATED_PLAIN T shuffleUp(Site site, unsigned mask, T value, unsigned by, int width = 32)
{
    const int lane = laneOfThread(), within = lane % width - static_cast<int>(by);
    return shuffled(site, mask, value, within >= 0 ? lane - static_cast<int>(by) : lane);
}
template <class T>
VERGENCE_EMULATED_PLAIN T shuffleFrom(Site site, unsigned mask, T value, int from, int width = 32)
{
    const int lane = laneOfThread();
    return shuffled(site, mask, value, lane / width * width + (from & (width - 1)));
}

inline int any(Site site, unsigned mask, bool value)
{
    return ballot(site, mask, value) != 0;
}
inline int all(Site site, unsigned mask, bool value)
{
    return ballot(site, mask, !value) == 0;
}

} // namespace vergence::emulation

#define VERGENCE_EMULATED_BARRIER(vote, value)                                                     \
    ::vergence::emulation::barrier(VERGENCE_EMULATED_SITE, ::vergence::emulation::Vote::vote,      \
                                   (value) ? 1 : 0)
#define __syncthreads() static_cast<void>(::vergence::emulation::barrier(VERGENCE_EMULATED_SITE))
#define __syncthreads_count(value) VERGENCE_EMULATED_BARRIER(Count, value)
#define __syncthreads_and(value) VERGENCE_EMULATED_BARRIER(And, value)
#define __syncthreads_or(value) VERGENCE_EMULATED_BARRIER(Or, value)

#define __syncwarp(...)                                                                            \
    ::vergence::emulation::syncWarp(VERGENCE_EMULATED_SITE __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_xor_sync(...) ::vergence::emulation::shuffleXor(VERGENCE_EMULATED_SITE, __VA_ARGS__)
#define __shfl_down_sync(...)                                                                      \
    ::vergence::emulation::shuffleDown(VERGENCE_EMULATED_SITE, __VA_ARGS__)
#define __shfl_up_sync(...) ::vergence::emulation::shuffleUp(VERGENCE_EMULATED_SITE, __VA_ARGS__)
#define __shfl_sync(...) ::vergence::emulation::shuffleFrom(VERGENCE_EMULATED_SITE, __VA_ARGS__)
#define __ballot_sync(...) ::vergence::emulation::ballot(VERGENCE_EMULATED_SITE, __VA_ARGS__)
#define __any_sync(...) ::vergence::emulation::any(VERGENCE_EMULATED_SITE, __VA_ARGS__)
#define __all_sync(...) ::vergence::emulation::all(VERGENCE_EMULATED_SITE, __VA_ARGS__)
