#include "cuda/backend/stream_order.h"

#include "cuda/backend/cuda_stream.h"

namespace vergence {

void StreamOrder::enter(const CudaStream& stream)
{
    thread_local std::uint64_t last = 0; // most threads have one stream and need no lock
    if (last == stream.serial())
        return;
    const std::lock_guard guard(m_mutex);
    const CudaStream*& before = m_last[std::this_thread::get_id()];
    if (before && before != &stream)
        stream.waitFor(*before);
    before = &stream;
    last = stream.serial();
}

void StreamOrder::forget(const CudaStream& stream) noexcept
{
    const std::lock_guard guard(m_mutex);
    std::erase_if(m_last, [&](const auto& entry) { return entry.second == &stream; });
}

} // namespace vergence
