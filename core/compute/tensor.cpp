#include "core/compute/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vergence {

Index elementCount(const Shape& shape)
{
    Index count = 1;
    for (const Index extent : shape) {
        expects(extent >= 0, "shape: extents must not be negative");
        expects(extent == 0 || count <= (Index{1} << 50) / extent, "shape: too many elements");
        count *= extent;
    }
    return count;
}

std::string toString(const Shape& shape)
{
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

Tensor Tensor::empty(std::shared_ptr<Device> device, Shape shape, DType type)
{
    expects(device != nullptr, "Tensor::empty: no device");
    expects(shape.size() <= 6, "Tensor::empty: at most 6 dimensions");
    Tensor tensor;
    tensor.m_size = elementCount(shape);
    tensor.m_shape = std::move(shape);
    tensor.m_dtype = type;
    tensor.m_device = device;
    const std::size_t bytes = tensor.bytes();
    if (bytes > 0) {
        tensor.m_data = device->allocate(bytes);
        tensor.m_storage = std::shared_ptr<void>(
            tensor.m_data, [device, bytes](void* pointer) { device->deallocate(pointer, bytes); });
    }
    return tensor;
}

Tensor Tensor::zeros(Stream& stream, std::shared_ptr<Device> device, Shape shape, DType type)
{
    Tensor tensor = empty(std::move(device), std::move(shape), type);
    if (tensor.bytes() > 0)
        stream.fillBytes(tensor.data(), 0, tensor.bytes());
    return tensor;
}

Tensor Tensor::reshaped(Shape shape) const
{
    expects(elementCount(shape) == m_size,
            fmt::format("reshaped: {} does not have the elements of {}", toString(shape),
                        toString(m_shape)));
    Tensor tensor = *this;
    tensor.m_shape = std::move(shape);
    return tensor;
}

Tensor Tensor::slice(Index i) const
{
    expects(rank() >= 1 && i >= 0 && i < m_shape[0],
            fmt::format("slice: entry {} of {} does not exist", i, toString(m_shape)));
    Tensor tensor = *this;
    tensor.m_shape.erase(tensor.m_shape.begin());
    tensor.m_size = m_size / m_shape[0];
    tensor.m_data = static_cast<std::byte*>(m_data) + static_cast<std::size_t>(i) * tensor.bytes();
    return tensor;
}

Tensor Tensor::clone(Stream& stream) const
{
    if (!m_device)
        return {};
    Tensor tensor = empty(m_device, m_shape, m_dtype);
    if (bytes() > 0)
        stream.copy(tensor.data(), m_data, bytes());
    return tensor;
}

void expectSameShape(const Tensor& a, const Tensor& b)
{
    expects(a.shape() == b.shape(),
            fmt::format("shapes differ: {} and {}", toString(a.shape()), toString(b.shape())));
}

} // namespace vergence
