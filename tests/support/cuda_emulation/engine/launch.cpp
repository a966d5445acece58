#include <array>
#include <cstring>
#include <mutex>
#include <numeric>
#include <string>

#include "tests/support/cuda_emulation/engine/block.h"
#include "tests/support/cuda_emulation/engine/counters.h"
#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/engine/streams.h"

namespace vergence::emulation {

namespace {

/// CUDA's Programming Guide, limits of kernel parameters: 4 KiB before Volta.
constexpr std::size_t kMostParameters = 32764, kMostParametersBeforeVolta = 4096;
constexpr int kErrorLaunchTimeout = 702; ///< what ends a kernel that would never end

std::uint64_t volumeOf(const dim3& size)
{
    return std::uint64_t{size.x} * size.y * size.z;
}

std::string inWords(const dim3& size)
{
    return std::to_string(size.x) + " × " + std::to_string(size.y) + " × " + std::to_string(size.z);
}

/// As the launch spells it, in one line, and where the launch is.
std::string nameOf(const Launch& launch)
{
    std::string name;
    for (const char* c = launch.kernel; *c; ++c) {
        const bool isSpace = *c == ' ' || *c == '\n';
        if (!isSpace)
            name += *c;
        else if (!name.empty() && name.back() != ' ')
            name += ' ';
    }
    const char* const slash = std::strrchr(launch.site.file, '/');
    return name + " (" + textOf({slash ? slash + 1 : launch.site.file, launch.site.line}) + ")";
}

bool isWithin(const dim3& size, const dim3& most)
{
    return size.x > 0 && size.y > 0 && size.z > 0 && size.x <= most.x && size.y <= most.y &&
           size.z <= most.z;
}

/// cudaSuccess, or the error that the launch ends with; reports it.
cudaError_t refusalOf(const Launch& launch)
{
    const dim3 &grid = launch.shape.grid, &block = launch.shape.block;
    const bool isGrid = isWithin(grid, {0x7fffffffu, 65535, 65535});
    const bool isBlock =
        isWithin(block, {kMostThreads, kMostThreads, 64}) && volumeOf(block) <= kMostThreads;
    const bool isVolta = settings().capability >= 70;
    if (!isGrid || !isBlock) {
        report("launch", launch.site,
               "no device runs a grid of " + inWords(grid) + " blocks of " + inWords(block) +
                   " threads");
        return cudaErrorInvalidConfiguration;
    }
    if (launch.packageBytes > (isVolta ? kMostParameters : kMostParametersBeforeVolta)) {
        report("launch", launch.site,
               std::to_string(launch.packageBytes) + " bytes of parameters are too many");
        return cudaErrorInvalidValue;
    }
    if (!isAllowedDynamic(launch.shape.sharedBytes)) {
        report("launch", launch.site,
               std::to_string(launch.shape.sharedBytes) +
                   " bytes of shared memory are more than the kernel was allowed");
        return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

uint3 indexIn(const dim3& grid, std::uint64_t number)
{
    return {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
            static_cast<unsigned>(number / grid.x / grid.y)};
}

/// A way through all blocks by the seed: a stride that has no factor in common with their number
/// comes to each of them once.
struct Way {
    std::uint64_t count, first, stride;

    explicit Way(std::uint64_t blocks) : count(blocks), first(0), stride(1)
    {
        const unsigned seed = settings().seed;
        if (seed == 1) {
            first = stride = count - 1;
        } else if (seed > 1) {
            first = shuffledBelow(count);
            stride = shuffledBelow(count);
        }
        while (std::gcd(stride, count) != 1)
            ++stride;
    }
};

void run(const Launch& launch, int device)
{
    const Open open;
    const std::string name = nameOf(launch);
    setRunningKernel(name);
    if (!settings().countersFile.empty())
        countLaunch(name, volumeOf(launch.shape.block));
    beginLaunch(launch, device);
    const Way way(volumeOf(launch.shape.grid));
    std::uint64_t number = way.first;
    for (std::uint64_t i = 0; i < way.count; ++i, number = (number + way.stride) % way.count) {
        if (runBlock(indexIn(launch.shape.grid, number)))
            continue;
        setStickyError(kErrorLaunchTimeout);
        break;
    }
    setRunningKernel({});
}

} // namespace

void queueLaunch(const Launch& launch)
{
    const std::lock_guard guard(deviceLock());
    if (const int refusal = refusalOfLaunch(launch.shape.stream, "a launch")) {
        setLastError(refusal);
        return;
    }
    setRunningKernel(nameOf(launch));
    const cudaError_t refusal = refusalOf(launch);
    setRunningKernel({});
    if (refusal != cudaSuccess) {
        setLastError(refusal);
        return;
    }
    Stream& stream = streamOf(launch.shape.stream);
    if (const auto failure = injectedFailure("launch"))
        issue(stream, [error = *failure] { setStickyError(error); });
    else
        issue(stream, [launch, device = stream.device] { run(launch, device); });
}

} // namespace vergence::emulation
