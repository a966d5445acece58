#include "core/compute/temporary.h"

#include <algorithm>

namespace vergence {

Temporary::Temporary(Stream& stream, Index count, std::size_t size)
    : m_device(stream.device()),
      m_bytes(static_cast<std::size_t>(std::max<Index>(count, 1)) * size),
      m_data(m_device.allocate(m_bytes))
{
}

Temporary::~Temporary()
{
    m_device.deallocate(m_data, m_bytes);
}

} // namespace vergence
