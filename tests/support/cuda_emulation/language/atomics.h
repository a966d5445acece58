#pragma once

// Changes that several threads may make to the same number. Fibers do not interrupt each other; the
// engine tells such an access apart from a plain one.

#include "tests/support/cuda_emulation/language/engine_calls.h"

namespace vergence::emulation {

/// *at = change(*at); returns what was there.
template <class T, class Change>
VERGENCE_EMULATED_PLAIN T changeAtomically(T* at, Change change)
{
    touchAtomic(at, sizeof(T));
    const T before = *at;
    *at = change(before);
    return before;
}

} // namespace vergence::emulation

#define VERGENCE_EMULATED_ATOMIC(name, T, changed)                                                 \
    inline T name(T* at, T value)                                                                  \
    {                                                                                              \
        return ::vergence::emulation::changeAtomically(                                            \
            at, [value]([[maybe_unused]] T before) -> T { return changed; });                      \
    }
#define VERGENCE_EMULATED_ATOMICS_OF_INTEGER(T)                                                    \
    VERGENCE_EMULATED_ATOMIC(atomicAdd, T, before + value)                                         \
    VERGENCE_EMULATED_ATOMIC(atomicExch, T, value)                                                 \
    VERGENCE_EMULATED_ATOMIC(atomicMin, T, value < before ? value : before)                        \
    VERGENCE_EMULATED_ATOMIC(atomicMax, T, value > before ? value : before)                        \
    VERGENCE_EMULATED_ATOMIC(atomicOr, T, before | value)                                          \
    inline T atomicCAS(T* at, T expected, T value)                                                 \
    {                                                                                              \
        return ::vergence::emulation::changeAtomically(                                            \
            at, [=](T before) -> T { return before == expected ? value : before; });               \
    }

VERGENCE_EMULATED_ATOMICS_OF_INTEGER(int)
VERGENCE_EMULATED_ATOMICS_OF_INTEGER(unsigned)
VERGENCE_EMULATED_ATOMICS_OF_INTEGER(unsigned long long)
VERGENCE_EMULATED_ATOMIC(atomicAdd, float, before + value)
VERGENCE_EMULATED_ATOMIC(atomicAdd, double, before + value)
VERGENCE_EMULATED_ATOMIC(atomicExch, float, value)

#undef VERGENCE_EMULATED_ATOMICS_OF_INTEGER
#undef VERGENCE_EMULATED_ATOMIC
