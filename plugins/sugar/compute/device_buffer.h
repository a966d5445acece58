#pragma once

#include <algorithm>
#include <memory>

#include "core/compute/tensor.h"

namespace vergence::sugar {

/// Memory of a device that grows and never shrinks.
template <class T>
class Buffer {
public:
    /// At least n elements. Where it has to grow it takes room for `room` of them, or n where that
    /// is more, and loses what was in it.
    T* reserve(const std::shared_ptr<Device>& device, Index n, Index room = 0)
    {
        const auto bytesOf = [](Index count) {
            return static_cast<Index>(sizeof(T)) * std::max<Index>(count, 1);
        };
        if (m_memory.size() < bytesOf(n)) {
            m_memory = Tensor(); // the old one goes first
            m_memory = Tensor::empty(device, {bytesOf(std::max(n, room))}, DType::U8);
        }
        return data();
    }
    T* data() const { return static_cast<T*>(m_memory.data()); }
    std::size_t bytes() const { return m_memory.bytes(); }
    Tensor as(const Shape& shape, DType type) const
    {
        return Tensor::wrap(m_memory.device(), m_memory.data(), shape, type, m_memory.storage());
    }

private:
    Tensor m_memory;
};

} // namespace vergence::sugar
