#include "plugins/foveated_vlm/feed/handover.h"

#include <new>

namespace vergence::fvlm {

namespace {

constexpr std::align_val_t kPage{4096};

} // namespace

void CopyMemory::reserve(Stream& stream, std::size_t bytes)
{
    if (bytes <= m_bytes)
        return;
    release();
    m_data = static_cast<std::byte*>(::operator new(bytes, kPage));
    m_bytes = bytes;
    pinMemoryKernel(stream, m_data, bytes);
    m_stream = &stream;
}

void CopyMemory::release()
{
    if (m_stream)
        unpinMemoryKernel(*m_stream, m_data);
    ::operator delete(m_data, kPage);
    m_stream = nullptr;
    m_data = nullptr;
    m_bytes = 0;
}

} // namespace vergence::fvlm
