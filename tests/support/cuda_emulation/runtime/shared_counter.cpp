#include "tests/support/cuda_emulation/runtime/shared_counter.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace vergence::emulation {

namespace {

/// A process that has ended but is still to be waited for by its parent runs no program either.
bool isRunning(std::int32_t process)
{
    char program[1];
    return readlink(("/proc/" + std::to_string(process) + "/exe").c_str(), program, 1) >= 0;
}

} // namespace

struct SharedCounter::OwnSlots {
    int file = -1;
    std::shared_ptr<Slot[]> slots;
    std::uint64_t serials = 0;

    static std::shared_ptr<Slot[]> map(int file)
    {
        void* const first =
            mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (first == MAP_FAILED)
            return nullptr;
        return {static_cast<Slot*>(first),
                [](Slot* slots) { munmap(slots, kSlots * sizeof(Slot)); }};
    }
};

SharedCounter::OwnSlots& SharedCounter::ownSlots()
{
    static auto* own = [] {
        auto* made = new OwnSlots; // never destroyed: events may outlive what is
        made->file = memfd_create("vergence-emulated-events", MFD_CLOEXEC);
        if (made->file < 0 || ftruncate(made->file, kSlots * sizeof(Slot)) != 0 ||
            !(made->slots = OwnSlots::map(made->file))) {
            std::perror("A file for events between processes");
            std::abort();
        }
        return made;
    }();
    return *own;
}

SharedCounter::SharedCounter(std::shared_ptr<Slot[]> slots, const Place& place, bool isOwn)
    : m_slots(std::move(slots)),
      m_place(place),
      m_isOwn(isOwn)
{
}

std::shared_ptr<SharedCounter> SharedCounter::make()
{
    OwnSlots& own = ownSlots();
    for (std::uint32_t i = 0; i < kSlots; ++i) {
        Slot& slot = own.slots[i];
        if (slot.serial != 0)
            continue;
        slot.begun = slot.done = 0;
        slot.serial = ++own.serials;
        Place place;
        place.process = getpid();
        place.file = own.file;
        place.slot = i;
        place.serial = own.serials;
        return std::shared_ptr<SharedCounter>(new SharedCounter(own.slots, place, true));
    }
    return nullptr;
}

std::shared_ptr<SharedCounter> SharedCounter::open(const Place& place)
{
    const std::string path =
        "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.file);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0)
        return nullptr;
    std::shared_ptr<Slot[]> slots;
    if (lseek(file, 0, SEEK_END) == static_cast<off_t>(kSlots * sizeof(Slot)))
        slots = OwnSlots::map(file);
    close(file);
    if (!slots || place.slot >= kSlots || place.serial == 0 ||
        slots[place.slot].serial != place.serial)
        return nullptr;
    return std::shared_ptr<SharedCounter>(new SharedCounter(std::move(slots), place, false));
}

SharedCounter::~SharedCounter()
{
    if (m_isOwn)
        slot().serial = 0;
}

void SharedCounter::begin()
{
    slot().recorder = getpid();
    ++slot().begun;
}

void SharedCounter::end()
{
    slot().done = slot().begun.load();
}

std::uint64_t SharedCounter::begun() const
{
    return slot().begun;
}

bool SharedCounter::hasReached(std::uint64_t count) const
{
    const bool isReused = slot().serial != m_place.serial; // the event is gone: nothing to wait for
    return isReused || slot().done >= count || !isRunning(slot().recorder);
}

void SharedCounter::waitFor(std::uint64_t count) const
{
    while (!hasReached(count))
        std::this_thread::yield();
}

} // namespace vergence::emulation
