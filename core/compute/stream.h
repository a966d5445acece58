#pragma once

#include <cstddef>
#include <memory>

#include "core/compute/device.h"
#include "core/compute/view.h"

namespace vergence {

/// A fixed sequence of launches, recorded once and replayed. On the CPU there are none.
class LaunchGraph {
public:
    virtual ~LaunchGraph();
    virtual void replay(Stream& stream) = 0;
};

/// Ordered work on a device. On the CPU work is done when the call returns; on CUDA it is queued.
/// Used from one thread at a time.
class Stream {
public:
    /// Work on items [first, last); `context` is what was handed to parallelFor.
    using RangeBody = void (*)(const void* context, Index first, Index last);

    virtual ~Stream();

    Device& device() const { return *m_device; }

    /// Copies `bytes` between any two places of host and this device. Host memory may be reused
    /// when the call returns.
    virtual void copy(void* target, const void* source, std::size_t bytes) = 0;
    virtual void fillBytes(void* target, int value, std::size_t bytes) = 0;

    /// Waits until everything queued so far is done; throws DeviceError for what went wrong
    /// meanwhile.
    virtual void synchronize() = 0;

    /// CPU only: runs `body` over [0, n) in pieces of at least `grain` items on the pool. The body
    /// must not throw, lock, allocate or log.
    virtual void parallelFor(Index n, Index grain, RangeBody body, const void* context) = 0;

    /// Memory that stays valid until the next call on this stream; for reductions and the like.
    virtual void* scratch(std::size_t bytes) = 0;

    /// The cudaStream_t, or null on the CPU.
    virtual void* native() const { return nullptr; }

    /// Records what is queued until endCapture(). Returns false where recording is not possible
    /// (CPU); work then runs at once.
    virtual bool beginCapture() { return false; }
    /// Null where beginCapture() returned false.
    virtual std::unique_ptr<LaunchGraph> endCapture() { return nullptr; }

protected:
    explicit Stream(Device& device) : m_device(&device) {}

private:
    Device* m_device;
};

} // namespace vergence
