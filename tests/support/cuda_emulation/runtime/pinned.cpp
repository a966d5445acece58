#include <cstdlib>
#include <map>

#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/streams.h"
#include "tests/support/cuda_emulation/runtime/call.h"
#include "tests/support/cuda_emulation/runtime/copies.h"

namespace vergence::emulation {

namespace {

struct PinnedRange {
    std::size_t bytes = 0;
    bool isOurs = false; ///< allocated pinned, not registered later
};

/// By first byte; never destroyed, as the runtime is not.
std::map<const unsigned char*, PinnedRange>& pinned()
{
    static auto* ranges = new std::map<const unsigned char*, PinnedRange>;
    return *ranges;
}

bool overlapsPinned(const unsigned char* first, std::size_t bytes)
{
    const auto next = pinned().upper_bound(first);
    if (next != pinned().end() && next->first < first + bytes)
        return true;
    return next != pinned().begin() &&
           std::prev(next)->first + std::prev(next)->second.bytes > first;
}

cudaError_t allocatePinned(void** pointer, std::size_t bytes)
{
    if (!pointer)
        return cudaErrorInvalidValue;
    *pointer = nullptr;
    if (bytes == 0)
        return cudaSuccess;
    constexpr std::size_t kPage = 4096;
    if (bytes > SIZE_MAX - kPage)
        return cudaErrorMemoryAllocation;
    *pointer = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
    if (!*pointer)
        return cudaErrorMemoryAllocation;
    pinned()[static_cast<const unsigned char*>(*pointer)] = {bytes, true};
    return cudaSuccess;
}

/// Ends the range that begins at `pointer`, after all work that may use it.
bool unpin(const void* pointer, bool isOurs)
{
    const auto found = pinned().find(static_cast<const unsigned char*>(pointer));
    if (found == pinned().end() || found->second.isOurs != isOurs)
        return false;
    finishAll();
    pinned().erase(found);
    return true;
}

} // namespace

bool isPinned(const void* pointer, std::size_t bytes)
{
    const auto* first = static_cast<const unsigned char*>(pointer);
    auto found = pinned().upper_bound(first);
    if (found == pinned().begin())
        return false;
    --found;
    const auto from = static_cast<std::size_t>(first - found->first);
    return from < found->second.bytes && bytes <= found->second.bytes - from;
}

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" {

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes)
{
    return unsafeCall("cudaMallocHost", [&] { return allocatePinned(pointer, bytes); });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags)
{
    return unsafeCall("cudaHostAlloc", [&] {
        constexpr unsigned kKnown =
            cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
        return flags & ~kKnown ? cudaErrorInvalidValue : allocatePinned(pointer, bytes);
    });
}

cudaError_t cudaFreeHost(void* pointer)
{
    return unsafeCall("cudaFreeHost", [&]() -> cudaError_t {
        if (!pointer)
            return cudaSuccess;
        if (!unpin(pointer, true))
            return cudaErrorInvalidValue;
        std::free(pointer);
        return cudaSuccess;
    });
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags)
{
    return unsafeCall("cudaHostRegister", [&]() -> cudaError_t {
        constexpr unsigned kKnown = cudaHostRegisterPortable | cudaHostRegisterMapped;
        if (!pointer || bytes == 0 || (flags & ~kKnown) || arena().contains(pointer))
            return cudaErrorInvalidValue;
        const auto* first = static_cast<const unsigned char*>(pointer);
        if (overlapsPinned(first, bytes))
            return cudaErrorHostMemoryAlreadyRegistered;
        pinned()[first] = {bytes, false};
        return cudaSuccess;
    });
}

cudaError_t cudaHostUnregister(void* pointer)
{
    return unsafeCall("cudaHostUnregister", [&]() -> cudaError_t {
        if (!pointer)
            return cudaErrorInvalidValue;
        return unpin(pointer, false) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
    });
}

} // extern "C"
