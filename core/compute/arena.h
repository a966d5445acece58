#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/compute/tensor.h"

namespace vergence {

/// Memory for the temporaries of one step. Tensors are cut from it one after another and all given
/// back at once by reset(), so that a step of equal shapes sees equal addresses. Grows by chunks
/// while a step is new to it; reset() then joins them, so that after warm-up nothing is allocated.
/// Used from one thread.
class Arena {
public:
    explicit Arena(std::shared_ptr<Device> device);

    /// Uninitialised, aligned to 256 bytes; valid until reset() or rewind() below it. Throws
    /// DeviceError (exit code 5) when the device has no more memory.
    Tensor take(Shape shape, DType type = DType::F32);

    /// A place to come back to: rewind(mark()) frees what was taken in between.
    struct Mark {
        std::size_t chunk = 0;
        std::size_t used = 0;
    };
    Mark mark() const;
    void rewind(Mark mark);

    /// Frees everything. Where a step needed several chunks they become one.
    void reset();

    const std::shared_ptr<Device>& device() const { return m_device; }
    std::size_t usedBytes() const;                   ///< taken since the last reset()
    std::size_t peakBytes() const { return m_peak; } ///< most that was ever taken at once
    std::uint64_t allocations() const { return m_allocations; } ///< chunks ever asked of the device

private:
    struct Chunk {
        Tensor memory; ///< U8
        std::size_t used = 0;
    };
    void addChunk(std::size_t bytes);

    std::shared_ptr<Device> m_device;
    std::vector<Chunk> m_chunks;
    std::size_t m_current = 0;
    std::size_t m_peak = 0;
    std::uint64_t m_allocations = 0;
};

} // namespace vergence
