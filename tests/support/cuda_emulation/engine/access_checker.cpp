#include "tests/support/cuda_emulation/engine/access_checker.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <link.h>
#include <sys/mman.h>

#include "tests/support/cuda_emulation/engine/block.h"
#include "tests/support/cuda_emulation/engine/counters.h"
#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/findings.h"

namespace vergence::emulation {

constinit thread_local Watching watching = Watching::Nothing;
Watch watch;

namespace {

const std::string kUnset = "reads shared memory that no thread of the block has written";
const std::string kUnordered = " without a barrier between";

struct Doubt {
    Touch touch{};
    const char* kind = nullptr;
    std::array<unsigned char, 16> before{};
};
Doubt doubt;

std::string inWords(const uint3& index)
{
    return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," +
           std::to_string(index.z) + ")";
}

std::string whoRuns()
{
    return "; block " + inWords(runningThread.block) + " thread " + inWords(runningThread.thread);
}

void reportAt(const void* instruction, const char* kind, const std::string& text)
{
    report(kind, placeOf(instruction), text + whoRuns() + callersOf(instruction));
}

std::string verbOf(const Touch& touch)
{
    return touch.access == Access::Read ? "reads" : "writes";
}

/// Waits for the next event before it complains of a write that may change nothing.
bool isDoubtful(const char* kind, const Touch& touch)
{
    if (touch.bytes > doubt.before.size())
        return false;
    callersOf(touch.instruction); // which are gone when the doubt is settled
    doubt.touch = touch;
    doubt.kind = kind;
    std::memcpy(doubt.before.data(), touch.pointer, touch.bytes);
    watch.isDoubting = true;
    return true;
}

/// Virtual addresses alone: pages come with what is touched.
Trace* reserveTraces(std::size_t count)
{
    void* const memory = mmap(nullptr, count * sizeof(Trace), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("Traces of an emulated device's memory");
        std::abort();
    }
    madvise(memory, count * sizeof(Trace), MADV_HUGEPAGE); // threads go through memory in strides
    return static_cast<Trace*>(memory);
}

struct Image {
    std::uintptr_t first, last;
};

std::vector<Image> loadedImages()
{
    std::vector<Image> images;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* all) {
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& part = info->dlpi_phdr[i];
                const std::uintptr_t first = info->dlpi_addr + part.p_vaddr;
                if (part.p_type == PT_LOAD)
                    static_cast<std::vector<Image>*>(all)->push_back({first, first + part.p_memsz});
            }
            return 0;
        },
        &images);
    return images;
}

/// Whether it is a variable of the program or of a library; remembered for the next access.
bool isOfProgram(const void* pointer)
{
    const auto at = reinterpret_cast<std::uintptr_t>(pointer);
    for (const Image& image : loadedImages()) {
        if (at < image.first || at >= image.last)
            continue;
        watch.image = reinterpret_cast<const unsigned char*>(image.first);
        watch.imageBytes = image.last - image.first;
        return true;
    }
    return false;
}

template <Access A, Memory M>
Conflict touchRange(const TraceTable& traces, std::size_t at, std::size_t end)
{
    while (at < end) {
        const std::size_t next = std::min(end, at / 4 * 4 + 4);
        const Conflict conflict = next - at == 4 ? touchWord<A, M>(traces, at / 4, watch.moment)
                                                 : touchBytes<A, M>(traces, at, next, watch.moment);
        if (conflict != Conflict::None)
            return conflict;
        at = next;
    }
    return Conflict::None;
}

template <Memory M>
void watchRangeOf(const unsigned char* usable, const TraceTable& traces, std::size_t at,
                  const Touch& touch)
{
    if (!isUsable(usable, at, touch.bytes))
        return complainOutside(M, touch);
    const std::size_t end = at + touch.bytes;
    Conflict conflict = Conflict::None;
    if (touch.access == Access::Read)
        conflict = touchRange<Access::Read, M>(traces, at, end);
    else if (touch.access == Access::Write)
        conflict = touchRange<Access::Write, M>(traces, at, end);
    else
        conflict = touchRange<Access::Atomic, M>(traces, at, end);
    if (conflict != Conflict::None)
        complain(M, conflict, touch);
}

} // namespace

void watchDevice(int device)
{
    static std::array<TraceTable, kMostDevices> tables;
    const Arena& all = arena();
    TraceTable& traces = tables.at(static_cast<std::size_t>(device));
    if (!traces.words)
        traces = {reserveTraces(all.bytesPerDevice / 4), reserveTraces(all.bytesPerDevice)};
    const std::size_t first = static_cast<std::size_t>(device) * all.bytesPerDevice;
    watch.device = all.first + first;
    watch.deviceBytes = all.bytesPerDevice;
    watch.usable = all.usable + first / 8;
    watch.traces = traces;
}

void settleDoubt()
{
    if (!watch.isDoubting)
        return;
    watch.isDoubting = false;
    if (std::memcmp(doubt.touch.pointer, doubt.before.data(), doubt.touch.bytes) != 0)
        reportAt(doubt.touch.instruction, doubt.kind,
                 "writes another value than another thread wrote meanwhile");
}

void lookClosely(const Touch& touch)
{
    const Unwatched pause;
    settleDoubt();
    if (watch.isCounted)
        countAccess(theBlock.current, touch);
}

void complain(Memory memory, Conflict conflict, const Touch& touch)
{
    const Unwatched pause;
    const bool isShared = memory == Memory::Shared;
    const char* const kind = isShared ? "shared-race" : "race";
    const std::string other =
        isShared ? "another thread of the block" : "another thread of the launch";
    if (conflict == Conflict::Unset) {
        reportAt(touch.instruction, "shared-unset", kUnset);
    } else if (conflict != Conflict::WritesWritten || touch.access == Access::Atomic ||
               !isDoubtful(kind, touch)) {
        reportAt(touch.instruction, kind,
                 verbOf(touch) + " what " + other +
                     (conflict == Conflict::WritesRead ? " reads" : " writes") + kUnordered);
    }
}

void complainOutside(Memory memory, const Touch& touch)
{
    const Unwatched pause;
    std::string text = verbOf(touch) + " " + std::to_string(touch.bytes) + " bytes";
    if (memory == Memory::Shared) {
        reportAt(touch.instruction, "shared-outside", text + " beyond an array in shared memory");
        return;
    }
    if (const auto before = allocationBefore(touch.pointer)) {
        const auto at = static_cast<const unsigned char*>(touch.pointer) - before->first;
        text += " at byte " + std::to_string(at) + " of an allocation of " +
                std::to_string(before->bytes);
    } else {
        text += " before all allocations";
    }
    reportAt(touch.instruction, "outside", text);
}

void touchElsewhere(const Touch& touch)
{
    const Unwatched pause;
    const auto isIn = [&](const void* first, std::size_t bytes) {
        return static_cast<std::size_t>(static_cast<const unsigned char*>(touch.pointer) -
                                        static_cast<const unsigned char*>(first)) < bytes;
    };
    const bool reads = touch.access == Access::Read;
    if (isIn(watch.package, watch.packageBytes))
        return;
    if (reads &&
        (isIn(&runningThread, sizeof(runningThread)) || isIn(watch.image, watch.imageBytes)))
        return;
    const std::string verb = verbOf(touch);
    if (arena().contains(touch.pointer))
        reportAt(touch.instruction, "foreign-device",
                 verb + " memory of device " + std::to_string(arena().deviceOf(touch.pointer)));
    else if (!isOfProgram(touch.pointer))
        reportAt(touch.instruction, "host-memory", verb + " memory of the host");
    else if (!reads)
        reportAt(touch.instruction, "writes-constant", "writes a variable of the program");
}

void watchRange(const Touch& touch)
{
    if (watching == Watching::Nothing || touch.bytes == 0)
        return;
    if (watching == Watching::Closely)
        lookClosely(touch);
    const auto* at = static_cast<const unsigned char*>(touch.pointer);
    if (static_cast<std::size_t>(at - watch.stack) < kStackBytes)
        return;
    const auto inDevice = static_cast<std::size_t>(at - watch.device);
    const auto inShared = static_cast<std::size_t>(at - sharedMemory.first);
    if (inDevice < watch.deviceBytes)
        watchRangeOf<Memory::Device>(watch.usable, watch.traces, inDevice, touch);
    else if (inShared < kSharedRoomBytes)
        watchRangeOf<Memory::Shared>(sharedMemory.usable, sharedMemory.traces, inShared, touch);
    else
        touchElsewhere(touch);
}

void readShared(int thread, std::size_t at, std::size_t bytes, Site site)
{
    actAs(thread);
    if (!isUsable(sharedMemory.usable, at, bytes)) {
        report("shared-outside", site, "reads beyond an array in shared memory" + whoRuns());
        return;
    }
    const Conflict conflict =
        touchRange<Access::Read, Memory::Shared>(sharedMemory.traces, at, at + bytes);
    if (conflict == Conflict::Unset)
        report("shared-unset", site, kUnset + whoRuns());
    else if (conflict != Conflict::None)
        report("shared-race", site,
               "reads what another thread of the block writes" + kUnordered + whoRuns());
    if (watch.isCounted)
        countAccess(thread, {sharedMemory.first + at, bytes, Access::Read, site.file});
}

void touchAtomic(const void* pointer, std::size_t bytes)
{
    watchRange({pointer, bytes, Access::Atomic, __builtin_return_address(0)});
}

} // namespace vergence::emulation
