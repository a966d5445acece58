#include "tests/support/cuda_emulation/engine/counters.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <unordered_map>
#include <vector>

#include "tests/support/cuda_emulation/engine/block.h"
#include "tests/support/cuda_emulation/engine/settings.h"

namespace vergence::emulation {

namespace {

constexpr std::size_t kSectorBytes = 32, kBankBytes = 4, kBanks = 32;
/// Of a warp that never meets: what is open then is counted as it is, so that memory suffices.
constexpr std::size_t kMostGroups = std::size_t{1} << 18;

/// One execution of an instruction by the lanes of a warp: the sectors of global memory, or the
/// words of shared memory, each once for a pass of the lanes.
using Group = std::vector<std::uint64_t>;

struct Instruction {
    std::array<std::size_t, kWarpSize> executions{}; ///< by lane
    std::vector<Group> groups;
    bool isShared = false;
};

struct WarpCounts {
    std::unordered_map<const void*, Instruction> instructions;
    std::size_t groups = 0;
};

struct Counts {
    std::map<std::string, KernelCounters> kernels;
    KernelCounters* current = nullptr;
    std::uint64_t threadsOfBlock = 0;
    std::array<WarpCounts, kMostWarps> warps;

    ~Counts();
};

Counts& counts()
{
    static Counts all;
    return all;
}

void addOnce(Group& group, std::uint64_t place)
{
    if (std::find(group.rbegin(), group.rend(), place) == group.rend())
        group.push_back(place);
}

/// Lanes of wide accesses to shared memory take turns: 128 bytes pass at a time.
std::uint64_t passOf(int lane, std::size_t bytes)
{
    const std::size_t lanes = bytes <= kBankBytes ? kWarpSize : kWarpSize * kBankBytes / bytes;
    return static_cast<std::size_t>(lane) / std::max<std::size_t>(lanes, 1);
}

constexpr int kPassShift = 32;

/// Passes over the banks beyond those that the width alone takes.
std::uint64_t conflictsOf(const Group& words)
{
    std::map<std::uint64_t, std::array<std::uint64_t, kBanks>> passes;
    for (const std::uint64_t word : words)
        ++passes[word >> kPassShift][word % kBanks];
    std::uint64_t extra = 0;
    for (const auto& [pass, banks] : passes)
        extra += *std::max_element(banks.begin(), banks.end()) - 1;
    return extra;
}

void closeGroups(WarpCounts& warp)
{
    KernelCounters& kernel = *counts().current;
    for (const auto& [address, instruction] : warp.instructions) {
        for (const Group& group : instruction.groups) {
            if (instruction.isShared)
                kernel.bankConflicts += conflictsOf(group);
            else
                kernel.globalSectors += group.size();
        }
    }
    warp.instructions.clear();
    warp.groups = 0;
}

Group& groupOf(WarpCounts& warp, int lane, const void* address, bool isShared)
{
    if (warp.groups >= kMostGroups)
        closeGroups(warp);
    Instruction& instruction = warp.instructions[address];
    instruction.isShared = isShared;
    const std::size_t number = instruction.executions[static_cast<std::size_t>(lane)]++;
    if (number >= instruction.groups.size()) {
        instruction.groups.resize(number + 1);
        ++warp.groups;
    }
    return instruction.groups[number];
}

void writeLine(std::FILE* file, const std::string& name, const KernelCounters& kernel)
{
    std::fputs(name.c_str(), file);
    for (const std::uint64_t number :
         {kernel.launches, kernel.blocks, kernel.threads, kernel.globalBytes, kernel.globalSectors,
          kernel.sharedBytes, kernel.bankConflicts, kernel.barriers, kernel.atomics})
        std::fprintf(file, "\t%llu", static_cast<unsigned long long>(number));
    std::fputc('\n', file);
}

Counts::~Counts()
{
    if (kernels.empty() || settings().countersFile.empty())
        return;
    std::FILE* const file = std::fopen(settings().countersFile.c_str(), "a");
    if (!file) {
        std::perror(settings().countersFile.c_str());
        return;
    }
    if (std::fseek(file, 0, SEEK_END) == 0 && std::ftell(file) == 0)
        std::fputs("kernel\tlaunches\tblocks\tthreads\tglobal bytes\tglobal sectors\tshared bytes\t"
                   "bank conflicts\tbarriers\tatomics\n",
                   file);
    for (const auto& [name, kernel] : kernels)
        writeLine(file, name, kernel);
    std::fclose(file);
}

} // namespace

const std::map<std::string, KernelCounters>& kernelCounters()
{
    return counts().kernels;
}

void countLaunch(const std::string& kernel, std::uint64_t threadsOfBlock)
{
    counts().current = &counts().kernels[kernel];
    counts().threadsOfBlock = threadsOfBlock;
    ++counts().current->launches;
}

void countAccess(int thread, const Touch& touch)
{
    const auto* at = static_cast<const unsigned char*>(touch.pointer);
    const auto inDevice = static_cast<std::size_t>(at - watch.device);
    const auto inShared = static_cast<std::size_t>(at - sharedMemory.first);
    const bool isShared = inShared < kSharedRoomBytes;
    if (!isShared && inDevice >= watch.deviceBytes)
        return;
    KernelCounters& kernel = *counts().current;
    (isShared ? kernel.sharedBytes : kernel.globalBytes) += touch.bytes;
    kernel.atomics += touch.access == Access::Atomic ? 1 : 0;
    const int lane = thread % kWarpSize;
    Group& group = groupOf(counts().warps[static_cast<std::size_t>(thread / kWarpSize)], lane,
                           touch.instruction, isShared);
    const std::size_t unit = isShared ? kBankBytes : kSectorBytes;
    const std::size_t first = isShared ? inShared : inDevice;
    const std::uint64_t pass = isShared ? passOf(lane, touch.bytes) << kPassShift : 0;
    for (std::size_t place = first / unit; place <= (first + touch.bytes - 1) / unit; ++place)
        addOnce(group, pass | place);
}

void countMeeting(int warp)
{
    closeGroups(counts().warps[static_cast<std::size_t>(warp)]);
}

void countBarrier()
{
    ++counts().current->barriers;
    for (WarpCounts& warp : counts().warps)
        closeGroups(warp);
}

void countBlock()
{
    ++counts().current->blocks;
    counts().current->threads += counts().threadsOfBlock;
    for (WarpCounts& warp : counts().warps)
        closeGroups(warp);
}

} // namespace vergence::emulation
