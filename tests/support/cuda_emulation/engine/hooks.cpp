#include <cstdint>
#include <string>

#include "tests/support/cuda_emulation/engine/access_checker.h"
#include "tests/support/cuda_emulation/engine/findings.h"

// What the compiler calls in files that are compiled with -fsanitize=thread,alignment,bounds. Names
// and arguments are those of its run-time libraries.

using namespace vergence::emulation;

// NOLINTBEGIN(bugprone-reserved-identifier)

#define VERGENCE_CALLER __builtin_return_address(0)

#define VERGENCE_ACCESSES(name, bytes)                                                             \
    void __tsan_##name##read##bytes(void* at)                                                      \
    {                                                                                              \
        watchAccess<bytes, Access::Read>(at, VERGENCE_CALLER);                                     \
    }                                                                                              \
    void __tsan_##name##write##bytes(void* at)                                                     \
    {                                                                                              \
        watchAccess<bytes, Access::Write>(at, VERGENCE_CALLER);                                    \
    }

/// Kernel files have few of these: what they share with the host, reference counts and the like.
#define VERGENCE_CHANGE(bits, name)                                                                \
    std::uint##bits##_t __tsan_atomic##bits##_##name(volatile std::uint##bits##_t* at,             \
                                                     std::uint##bits##_t value, int)               \
    {                                                                                              \
        watchRange({const_cast<const std::uint##bits##_t*>(at), bits / 8, Access::Atomic,          \
                    VERGENCE_CALLER});                                                             \
        return __atomic_##name(at, value, __ATOMIC_SEQ_CST);                                       \
    }
#define VERGENCE_EXCHANGE_IF(bits, name)                                                           \
    bool __tsan_atomic##bits##_compare_exchange_##name(volatile std::uint##bits##_t* at,           \
                                                       std::uint##bits##_t* expected,              \
                                                       std::uint##bits##_t value, int, int)        \
    {                                                                                              \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,           \
                                           __ATOMIC_SEQ_CST);                                      \
    }
#define VERGENCE_ATOMICS(bits)                                                                     \
    std::uint##bits##_t __tsan_atomic##bits##_load(const volatile std::uint##bits##_t* at, int)    \
    {                                                                                              \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                              \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile std::uint##bits##_t* at, std::uint##bits##_t value,  \
                                     int)                                                          \
    {                                                                                              \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                             \
    }                                                                                              \
    std::uint##bits##_t __tsan_atomic##bits##_exchange(volatile std::uint##bits##_t* at,           \
                                                       std::uint##bits##_t value, int)             \
    {                                                                                              \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                   \
    }                                                                                              \
    VERGENCE_CHANGE(bits, fetch_add)                                                               \
    VERGENCE_CHANGE(bits, fetch_sub)                                                               \
    VERGENCE_CHANGE(bits, fetch_and)                                                               \
    VERGENCE_CHANGE(bits, fetch_or)                                                                \
    VERGENCE_CHANGE(bits, fetch_xor)                                                               \
    VERGENCE_EXCHANGE_IF(bits, strong)                                                             \
    VERGENCE_EXCHANGE_IF(bits, weak)

namespace {

/// Where the compiler says that something is; the beginning of what it gives the functions below.
struct Place {
    const char* file;
    std::uint32_t line, column;
};

struct MisfitType {
    Place place;
    const void* type;
    unsigned char logAlignment;
    unsigned char kind;
};

Site siteOf(const Place& place)
{
    return {place.file ? place.file : "?", static_cast<int>(place.line)};
}

} // namespace

extern "C" {

VERGENCE_ACCESSES(, 1)
VERGENCE_ACCESSES(, 2)
VERGENCE_ACCESSES(, 4)
VERGENCE_ACCESSES(, 8)
VERGENCE_ACCESSES(, 16)
VERGENCE_ACCESSES(unaligned_, 2)
VERGENCE_ACCESSES(unaligned_, 4)
VERGENCE_ACCESSES(unaligned_, 8)
VERGENCE_ACCESSES(unaligned_, 16)
VERGENCE_ATOMICS(8)
VERGENCE_ATOMICS(16)
VERGENCE_ATOMICS(32)
VERGENCE_ATOMICS(64)

void __tsan_read_range(void* at, unsigned long bytes)
{
    watchRange({at, bytes, Access::Read, VERGENCE_CALLER});
}
void __tsan_write_range(void* at, unsigned long bytes)
{
    watchRange({at, bytes, Access::Write, VERGENCE_CALLER});
}
void __tsan_atomic_thread_fence(int)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

void __ubsan_handle_type_mismatch_v1(void* data, void* pointer)
{
    if (watching == Watching::Nothing)
        return;
    const Unwatched pause;
    const auto& misfit = *static_cast<const MisfitType*>(data);
    if (pointer)
        report("misaligned", siteOf(misfit.place),
               "an address that is no multiple of " + std::to_string(1u << misfit.logAlignment));
    else
        report("null", siteOf(misfit.place), "an access by a null pointer");
}
void __ubsan_handle_out_of_bounds(void* data, void*)
{
    if (watching == Watching::Nothing)
        return;
    const Unwatched pause;
    report("array-bounds", siteOf(*static_cast<const Place*>(data)), "an index beyond its array");
}
}

// NOLINTEND(bugprone-reserved-identifier)
