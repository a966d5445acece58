#include "tests/support/cuda_emulation/runtime/copies.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/streams.h"
#include "tests/support/cuda_emulation/runtime/call.h"

namespace vergence::emulation {

Side sideOf(const void* pointer)
{
    if (arena().contains(pointer))
        return Side::Device;
    return isPinned(pointer, 1) ? Side::Pinned : Side::Pageable;
}

bool readsPageableMemory()
{
    static const bool isSet = [] {
        const char* value = std::getenv("VERGENCE_EMULATED_PAGEABLE");
        return value && std::string(value) == "1";
    }();
    return isSet;
}

namespace {

struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
    cudaMemcpyKind kind;
    const char* function;
};

bool isWhole(const void* pointer, std::size_t bytes, const char* function)
{
    switch (sideOf(pointer)) {
    case Side::Device:
        return isLive(pointer, bytes, function);
    case Side::Pinned:
        if (isPinned(pointer, bytes))
            return true;
        report("outside", function, "reaches beyond pinned memory of the host");
        return false;
    default:
        return true;
    }
}

bool fitsKind(const Copy& copy)
{
    const bool toDevice = sideOf(copy.to) == Side::Device;
    const bool fromDevice = sideOf(copy.from) == Side::Device;
    switch (copy.kind) {
    case cudaMemcpyHostToHost:
        return !toDevice && !fromDevice;
    case cudaMemcpyHostToDevice:
        return toDevice && !fromDevice;
    case cudaMemcpyDeviceToHost:
        return !toDevice && fromDevice;
    case cudaMemcpyDeviceToDevice:
        return toDevice && fromDevice;
    default:
        return true;
    }
}

bool overlaps(const Copy& copy)
{
    const auto to = reinterpret_cast<std::uintptr_t>(copy.to);
    const auto from = reinterpret_cast<std::uintptr_t>(copy.from);
    return to < from + copy.bytes && from < to + copy.bytes;
}

cudaError_t checked(const Copy& copy)
{
    if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (copy.bytes == 0)
        return cudaSuccess;
    if (!copy.to || !copy.from)
        return cudaErrorInvalidValue;
    if (!fitsKind(copy)) {
        report("copy-kind", copy.function, "the addresses are not what the kind of copy says");
        return cudaErrorInvalidValue;
    }
    if (!isWhole(copy.to, copy.bytes, copy.function) ||
        !isWhole(copy.from, copy.bytes, copy.function))
        return cudaErrorInvalidValue;
    if (overlaps(copy))
        report("overlap", copy.function, "source and target overlap");
    return cudaSuccess;
}

void run(const Copy& copy)
{
    const Open source(copy.from, copy.bytes), target(copy.to, copy.bytes);
    if (isWhole(copy.to, copy.bytes, copy.function) &&
        isWhole(copy.from, copy.bytes, copy.function))
        std::memmove(copy.to, copy.from, copy.bytes);
}

/// The source's bytes are taken now where CUDA stages them before the call returns.
Work workOf(Copy copy, const Stream& stream)
{
    if (stream.recording || sideOf(copy.from) != Side::Pageable || readsPageableMemory())
        return [copy] { run(copy); };
    const auto* first = static_cast<const unsigned char*>(copy.from);
    auto staged = std::make_shared<std::vector<unsigned char>>(first, first + copy.bytes);
    return [copy, staged]() mutable {
        copy.from = staged->data();
        run(copy);
    };
}

bool isInHost(const Copy& copy)
{
    return sideOf(copy.to) != Side::Device && sideOf(copy.from) != Side::Device;
}

/// Whether the call returns when all is done.
bool waits(const Copy& copy)
{
    return isInHost(copy) || (sideOf(copy.to) == Side::Pageable && !readsPageableMemory());
}

/// cudaMemcpy returns early, too, where it does not concern the host.
bool waitsSynchronous(const Copy& copy)
{
    if (sideOf(copy.to) != Side::Device)
        return true;
    return sideOf(copy.from) == Side::Pinned ||
           (sideOf(copy.from) == Side::Pageable && readsPageableMemory());
}

cudaError_t queue(const Copy& copy, cudaStream_t handle, bool (*returnsLate)(const Copy&))
{
    if (const int refusal = refusalOf(handle, copy.function))
        return static_cast<cudaError_t>(refusal);
    if (const cudaError_t error = checked(copy); error != cudaSuccess || copy.bytes == 0)
        return error;
    Stream& stream = streamOf(handle);
    issue(stream, workOf(copy, stream));
    if (!stream.recording && returnsLate(copy))
        finish(stream, stream.issued);
    return cudaSuccess;
}

struct Fill {
    void* to;
    int value;
    std::size_t bytes;
    const char* function;
};

cudaError_t queue(const Fill& fill, cudaStream_t handle)
{
    if (const int refusal = refusalOf(handle, fill.function))
        return static_cast<cudaError_t>(refusal);
    if (fill.bytes == 0)
        return cudaSuccess;
    if (!fill.to)
        return cudaErrorInvalidValue;
    if (sideOf(fill.to) == Side::Pageable) {
        report("host-memory", fill.function, "memory that no device can reach");
        return cudaErrorInvalidValue;
    }
    if (!isWhole(fill.to, fill.bytes, fill.function))
        return cudaErrorInvalidValue;
    issue(streamOf(handle), [fill] {
        const Open open(fill.to, fill.bytes);
        if (isWhole(fill.to, fill.bytes, fill.function))
            std::memset(fill.to, fill.value, fill.bytes);
    });
    return cudaSuccess;
}

} // namespace

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return call("cudaMemcpyAsync", [&] {
        return queue({to, from, bytes, kind, "cudaMemcpyAsync"}, stream, waits);
    });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind)
{
    return unsafeCall("cudaMemcpy", [&] {
        return queue({to, from, bytes, kind, "cudaMemcpy"}, nullptr, waitsSynchronous);
    });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream)
{
    return call("cudaMemsetAsync", [&] {
        return queue(Fill{to, value, bytes, "cudaMemsetAsync"}, stream);
    });
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes)
{
    return unsafeCall("cudaMemset", [&]() -> cudaError_t {
        const cudaError_t error = queue(Fill{to, value, bytes, "cudaMemset"}, nullptr);
        if (error == cudaSuccess && bytes > 0 && sideOf(to) == Side::Pinned)
            finish(streamOf(nullptr), streamOf(nullptr).issued);
        return error;
    });
}

} // extern "C"
