#pragma once

#include <cstddef>

#include "tests/support/cuda_emulation/engine/fiber.h"
#include "tests/support/cuda_emulation/engine/shared_memory.h"
#include "tests/support/cuda_emulation/engine/traces.h"
#include "tests/support/cuda_emulation/language/engine_calls.h"

// Every access of a kernel comes by here. The common ones are settled inline by comparing numbers;
// what is left is in access_checker.cpp.

namespace vergence::emulation {

#define VERGENCE_EMULATED_HIDDEN __attribute__((visibility("hidden")))

enum class Watching : unsigned char {
    Nothing,  ///< the thread of the host is in no kernel
    Accesses, ///< are checked
    Closely   ///< the same, and lookClosely() wants to see the next one
};
extern constinit thread_local Watching watching
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

/// What the running thread of the running kernel may touch.
struct Watch {
    Moment moment;
    const unsigned char* stack = nullptr;
    const unsigned char* device = nullptr; ///< the device's part of the arena
    std::size_t deviceBytes = 0;
    const unsigned char* usable = nullptr; ///< of the device: for each 8 bytes, 0 to 8
    TraceTable traces;
    const unsigned char* package = nullptr;
    std::size_t packageBytes = 0;
    const unsigned char* image = nullptr; ///< variables of the program that were read lately
    std::size_t imageBytes = 0;
    bool isCounted = false;
    bool isDoubting = false; ///< see settleDoubt()
};
extern Watch watch VERGENCE_EMULATED_HIDDEN;

inline Watching watchingOfKernels()
{
    return watch.isCounted || watch.isDoubting ? Watching::Closely : Watching::Accesses;
}

/// While the engine works in the midst of a kernel. What it calls of the standard library may be a
/// kernel file's, and be watched.
class Unwatched {
public:
    Unwatched() : m_isInKernel(watching != Watching::Nothing) { watching = Watching::Nothing; }
    ~Unwatched()
    {
        if (m_isInKernel)
            watching = watchingOfKernels();
    }
    Unwatched(const Unwatched&) = delete;
    Unwatched& operator=(const Unwatched&) = delete;

private:
    bool m_isInKernel;
};

/// `running` of the language. To kernels it is constant, as it is for each of their threads.
extern RunningThread runningThread __asm__("_ZN8vergence9emulation7runningE");

/// Before a kernel of the device runs.
void watchDevice(int device);

/// A write where another thread wrote meanwhile is a fault only if it changes the value. That is
/// seen when the thread goes on, or waits.
void settleDoubt() VERGENCE_EMULATED_HIDDEN;

/// An access, by its address in this process.
struct Touch {
    const void* pointer;
    std::size_t bytes;
    Access access;
    const void* instruction;
};
void lookClosely(const Touch& touch) VERGENCE_EMULATED_HIDDEN;
void complain(Memory memory, Conflict conflict, const Touch& touch) VERGENCE_EMULATED_HIDDEN;
void complainOutside(Memory memory, const Touch& touch) VERGENCE_EMULATED_HIDDEN;
/// Neither the thread's stack nor the device's memory nor shared memory.
void touchElsewhere(const Touch& touch) VERGENCE_EMULATED_HIDDEN;
/// An access of any size and place.
void watchRange(const Touch& touch) VERGENCE_EMULATED_HIDDEN;

/// An instruction that reads shared memory for a thread of the block, from `at` in its room on.
void readShared(int thread, std::size_t at, std::size_t bytes, Site site) VERGENCE_EMULATED_HIDDEN;

/// Whether at least `bytes` from `at` on belong to something.
inline bool isUsable(const unsigned char* usable, std::size_t at, std::size_t bytes)
{
    for (; at % 8 + bytes > 8; at = at / 8 * 8 + 8) {
        if (usable[at / 8] < 8)
            return false;
        bytes -= 8 - at % 8;
    }
    return at % 8 + bytes <= usable[at / 8];
}

template <std::size_t Bytes, Access A, Memory M>
inline Conflict touchTraces(const TraceTable& traces, std::size_t at)
{
    if (Bytes < 4 ? at % 4 + Bytes <= 4 : at % 4 == 0) [[likely]] {
        if constexpr (Bytes < 4)
            return touchBytes<A, M>(traces, at, at + Bytes, watch.moment);
        for (std::size_t word = at / 4; word < at / 4 + Bytes / 4; ++word) {
            const Conflict conflict = touchWord<A, M>(traces, word, watch.moment);
            if (conflict != Conflict::None) [[unlikely]]
                return conflict;
        }
        return Conflict::None;
    }
    for (std::size_t byte = at; byte < at + Bytes; ++byte) {
        const Conflict conflict = touchBytes<A, M>(traces, byte, byte + 1, watch.moment);
        if (conflict != Conflict::None)
            return conflict;
    }
    return Conflict::None;
}

/// Of a known number of bytes: 1, 2, 4, 8 or 16.
template <std::size_t Bytes, Access A>
inline void watchAccess(const void* pointer, const void* instruction)
{
    if (watching != Watching::Accesses) [[unlikely]] {
        if (watching == Watching::Nothing)
            return;
        lookClosely({pointer, Bytes, A, instruction});
    }
    const auto* at = static_cast<const unsigned char*>(pointer);
    if (static_cast<std::size_t>(at - watch.stack) < kStackBytes)
        return;
    const auto inDevice = static_cast<std::size_t>(at - watch.device);
    const auto inShared = static_cast<std::size_t>(at - sharedMemory.first);
    if (inDevice < watch.deviceBytes) {
        if (!isUsable(watch.usable, inDevice, Bytes)) [[unlikely]]
            return complainOutside(Memory::Device, {pointer, Bytes, A, instruction});
        const auto conflict = touchTraces<Bytes, A, Memory::Device>(watch.traces, inDevice);
        if (conflict != Conflict::None) [[unlikely]]
            complain(Memory::Device, conflict, {pointer, Bytes, A, instruction});
    } else if (inShared < kSharedRoomBytes) {
        if (!isUsable(sharedMemory.usable, inShared, Bytes)) [[unlikely]]
            return complainOutside(Memory::Shared, {pointer, Bytes, A, instruction});
        const auto conflict = touchTraces<Bytes, A, Memory::Shared>(sharedMemory.traces, inShared);
        if (conflict != Conflict::None) [[unlikely]]
            complain(Memory::Shared, conflict, {pointer, Bytes, A, instruction});
    } else if (A != Access::Read ||
               static_cast<std::size_t>(at - watch.package) >= watch.packageBytes) {
        touchElsewhere({pointer, Bytes, A, instruction});
    }
}

} // namespace vergence::emulation
