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
    tensor.setDense(std::move(shape));
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
    expects(m_contiguous, "reshaped: the tensor is strided");
    Tensor tensor = *this;
    tensor.setDense(std::move(shape));
    return tensor;
}

Tensor Tensor::slice(Index i) const
{
    expects(rank() >= 1 && i >= 0 && i < m_shape[0],
            fmt::format("slice: entry {} of {} does not exist", i, toString(m_shape)));
    Tensor tensor = narrow(0, i, 1);
    tensor.m_shape.erase(tensor.m_shape.begin());
    tensor.m_strides.erase(tensor.m_strides.begin());
    tensor.judgeContiguity();
    return tensor;
}

Tensor Tensor::narrow(int dimension, Index first, Index count) const
{
    const int d = dimension < 0 ? dimension + rank() : dimension;
    expects(d >= 0 && d < rank(),
            fmt::format("narrow: {} has no dimension {}", toString(m_shape), dimension));
    const auto at = static_cast<std::size_t>(d);
    expects(first >= 0 && count >= 0 && first + count <= m_shape[at],
            fmt::format("narrow: entries {} to {} of dimension {} of {} do not exist", first,
                        first + count, d, toString(m_shape)));
    Tensor tensor = *this;
    tensor.m_shape[at] = count;
    tensor.m_size = elementCount(tensor.m_shape);
    if (m_data) {
        tensor.m_data =
            static_cast<std::byte*>(m_data) + static_cast<std::ptrdiff_t>(first * m_strides[at]) *
                                                  static_cast<std::ptrdiff_t>(sizeOf(m_dtype));
    }
    tensor.judgeContiguity();
    return tensor;
}

Tensor Tensor::permuted(const std::vector<int>& order) const
{
    expects(static_cast<int>(order.size()) == rank(), "permuted: one entry per dimension");
    Tensor tensor = *this;
    unsigned seen = 0;
    for (std::size_t d = 0; d < order.size(); ++d) {
        expects(order[d] >= 0 && order[d] < rank() && !(seen & (1u << order[d])),
                "permuted: each dimension once");
        seen |= 1u << order[d];
        tensor.m_shape[d] = m_shape[static_cast<std::size_t>(order[d])];
        tensor.m_strides[d] = m_strides[static_cast<std::size_t>(order[d])];
    }
    tensor.judgeContiguity();
    return tensor;
}

Tensor Tensor::wrap(std::shared_ptr<Device> device, void* data, Shape shape, DType type,
                    std::shared_ptr<void> storage)
{
    expects(device != nullptr, "Tensor::wrap: no device");
    expects(shape.size() <= 6, "Tensor::wrap: at most 6 dimensions");
    Tensor tensor;
    tensor.setDense(std::move(shape));
    tensor.m_dtype = type;
    tensor.m_device = std::move(device);
    tensor.m_data = data;
    tensor.m_storage = std::move(storage);
    return tensor;
}

void Tensor::setDense(Shape shape)
{
    m_size = elementCount(shape);
    m_shape = std::move(shape);
    m_strides.assign(m_shape.size(), 1);
    for (std::size_t d = m_shape.size(); d-- > 1;)
        m_strides[d - 1] = m_strides[d] * m_shape[d];
    m_contiguous = true;
}

void Tensor::judgeContiguity()
{
    m_size = elementCount(m_shape);
    Index dense = 1;
    m_contiguous = true;
    for (std::size_t d = m_shape.size(); d-- > 0;) {
        m_contiguous = m_contiguous && (m_shape[d] == 1 || m_strides[d] == dense);
        dense *= m_shape[d];
    }
    m_contiguous = m_contiguous || m_size == 0;
}

Tensor Tensor::clone(Stream& stream) const
{
    if (!m_device)
        return {};
    expects(m_contiguous, "clone: the tensor is strided");
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
