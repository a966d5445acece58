#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/support/cuda_emulation/engine/arena.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/settings.h"

namespace vergence::emulation {

namespace {

constexpr int kExitWithFindings = 86;
/// Memory is opened to kernels where they touch it, so much at a time: to open gigabytes for each
/// launch takes longer than most launches.
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
constexpr int kOpen = PROT_READ | PROT_WRITE, kClosed = PROT_NONE;

void protect(std::size_t first, std::size_t last, int protection)
{
    if (mprotect(arena().first + first, last - first, protection) != 0) {
        std::perror("Opening the memory of emulated devices");
        std::abort();
    }
}

/// Opens what a thread touches that may. False where it may not, or where that was of no use.
bool grant(const void* address)
{
    DeviceMemory& memory = deviceMemory();
    if (memory.opener.load() != std::this_thread::get_id())
        return false;
    const std::size_t chunk = memory.arena.offsetOf(address) / kChunkBytes * kChunkBytes;
    if (!memory.granted.empty() && memory.granted.back() == chunk)
        return false;
    protect(chunk, chunk + kChunkBytes, kOpen);
    memory.granted.push_back(chunk);
    return true;
}

void closeGranted(DeviceMemory& memory)
{
    auto& chunks = memory.granted;
    std::sort(chunks.begin(), chunks.end());
    for (std::size_t i = 0, next = 0; i < chunks.size(); i = next) {
        next = i + 1;
        while (next < chunks.size() && chunks[next] <= chunks[next - 1] + kChunkBytes)
            ++next;
        protect(chunks[i], chunks[next - 1] + kChunkBytes, kClosed);
    }
    chunks.clear();
}

const void* instructionOf(const void* context)
{
#if defined(__x86_64__)
    const auto* state = static_cast<const ucontext_t*>(context);
    return reinterpret_cast<const void*>(state->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    const auto* state = static_cast<const ucontext_t*>(context);
    return reinterpret_cast<const void*>(state->uc_mcontext.pc);
#else
    return context;
#endif
}

/// Another thread may hold the lock and wait for this one: then the sentence is shorter.
std::string sentenceOf(const void* address, const void* instruction)
{
    const std::unique_lock guard(deviceLock(), std::try_to_lock);
    std::string text = "EMULATED host-access at ";
    text += guard ? placeOf(instruction) : "an instruction of another thread";
    text += " in the host: device " + std::to_string(arena().deviceOf(address)) +
            "'s memory is touched";
    const auto before = guard ? allocationBefore(address) : std::nullopt;
    if (before) {
        text += " at byte " +
                std::to_string(static_cast<const unsigned char*>(address) - before->first) +
                " of an allocation of " + std::to_string(before->bytes);
    }
    return text + "\n";
}

void writeWithCallers(int file, const std::string& text)
{
    void* callers[40];
    const int count = backtrace(callers, 40);
    if (write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()))
        backtrace_symbols_fd(callers, count, file);
}

/// The access is of this thread's own making, not of a moment between two others, so that more may
/// be called here than in a handler of other signals.
void onFault(int signal, siginfo_t* info, void* context)
{
    const bool isAccess = info->si_code > 0; // and not raise() or kill()
    if (!isAccess || !arena().contains(info->si_addr)) {
        std::signal(signal, SIG_DFL);
        if (!isAccess)
            std::raise(signal);
        return; // and the instruction comes again
    }
    if (grant(info->si_addr))
        return;
    const std::string text = sentenceOf(info->si_addr, instructionOf(context));
    writeWithCallers(STDERR_FILENO, text);
    const std::string& path = settings().reportFile;
    if (!path.empty()) {
        const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (file >= 0)
            writeWithCallers(file, text);
    }
    _exit(kExitWithFindings);
}

} // namespace

void watchForHostAccess()
{
    void* callers[1];
    backtrace(callers, 1); // loads what it needs now and not in the handler
    static char stack[1 << 17];
    const stack_t alternate{stack, 0, sizeof(stack)};
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
}

Open::Open() : m_isWhole(true)
{
    deviceLock().lock();
    DeviceMemory& memory = deviceMemory();
    if (memory.openedWhole++ == 0)
        memory.opener = std::this_thread::get_id();
}

Open::Open(const void* pointer, std::size_t bytes)
{
    deviceLock().lock();
    DeviceMemory& memory = deviceMemory();
    if (bytes == 0 || !memory.arena.contains(pointer) || memory.openedWhole > 0)
        return;
    const std::size_t offset = memory.arena.offsetOf(pointer);
    const std::size_t end = offset + std::min(bytes, memory.arena.bytes - offset);
    m_first = offset / kPageBytes * kPageBytes;
    m_last = (end + kPageBytes - 1) / kPageBytes * kPageBytes;
    memory.openedRanges.emplace_back(m_first, m_last);
    protect(m_first, m_last, kOpen);
}

Open::~Open()
{
    DeviceMemory& memory = deviceMemory();
    const bool endsWhole = m_isWhole && --memory.openedWhole == 0;
    if (endsWhole) {
        memory.opener = std::thread::id();
        closeGranted(memory);
    } else if (m_last > 0) {
        auto& ranges = memory.openedRanges;
        ranges.erase(std::find(ranges.begin(), ranges.end(), std::pair(m_first, m_last)));
        protect(m_first, m_last, kClosed);
    }
    if (endsWhole || m_last > 0) { // what others of this thread hold is still theirs
        for (const auto& [first, last] : memory.openedRanges)
            protect(first, last, kOpen);
    }
    deviceLock().unlock();
}

} // namespace vergence::emulation
