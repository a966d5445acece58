#pragma once

#include "core/compute/kernel.h"

namespace vergence::live {

/// Opens a range with a name; null closes the one opened last. Of the calling thread.
inline const Kernel<void(const char*)> markRange{"live.mark_range"};

/// Names what is queued while it lives for profilers from outside: an NVTX range on CUDA, nothing
/// on the CPU. Ranges nest: frame, evaluation or sampler step, operation. Without a profiler a
/// range costs two calls that do nothing. Work that is replayed shows the frame's range alone: the
/// others were open while it was recorded.
class Range {
public:
    Range(Stream& stream, const char* name) : m_stream(stream.device().isCpu() ? nullptr : &stream)
    {
        if (m_stream)
            markRange(*m_stream, name);
    }
    ~Range()
    {
        if (m_stream)
            markRange(*m_stream, nullptr);
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

private:
    Stream* m_stream;
};

} // namespace vergence::live
