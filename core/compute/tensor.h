#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compute/device.h"
#include "core/compute/dtype.h"
#include "core/compute/half.h"
#include "core/compute/stream.h"
#include "core/compute/view.h"

namespace vergence {

/// Extents of a tensor, outermost first. At most 6 dimensions; an extent may be 0.
using Shape = std::vector<Index>;

Index elementCount(const Shape& shape);
std::string toString(const Shape& shape); ///< "[3, 256, 256]"

/// Array on one device: row-major and dense, or a strided window into such an array (narrow(),
/// permuted()). Copying copies the handle; clone() copies the data. view(), flat(), reshaped() and
/// toHost() want a dense one and throw ContractError otherwise; contiguous() of
/// core/compute/ops/structure.h makes one.
class Tensor {
public:
    Tensor() = default; ///< empty: no device, rank 0, size 0

    static Tensor empty(std::shared_ptr<Device> device, Shape shape, DType type = DType::F32);
    static Tensor zeros(Stream& stream, std::shared_ptr<Device> device, Shape shape,
                        DType type = DType::F32);

    /// Memory that somebody else owns or shares (`storage` keeps it alive; may be null).
    static Tensor wrap(std::shared_ptr<Device> device, void* data, Shape shape, DType type,
                       std::shared_ptr<void> storage = nullptr);

    /// Copies `values` (as many as the shape says) to the device.
    template <class T>
    static Tensor fromHost(Stream& stream, std::shared_ptr<Device> device, Shape shape,
                           std::span<const T> values)
    {
        Tensor tensor = empty(std::move(device), std::move(shape), DTypeOf<T>::value);
        expects(static_cast<Index>(values.size()) == tensor.size(),
                "fromHost: value count differs from the shape");
        stream.copy(tensor.data(), values.data(), values.size_bytes());
        return tensor;
    }

    bool isEmpty() const { return m_size == 0; }
    const Shape& shape() const { return m_shape; }
    Index extent(int dimension) const { return m_shape.at(static_cast<std::size_t>(dimension)); }
    int rank() const { return static_cast<int>(m_shape.size()); }
    Index size() const { return m_size; }
    DType dtype() const { return m_dtype; }
    std::size_t bytes() const { return static_cast<std::size_t>(m_size) * sizeOf(m_dtype); }
    const std::shared_ptr<Device>& device() const { return m_device; }
    void* data() const { return m_data; }
    /// Keeps the memory alive; null for wrapped memory of others.
    const std::shared_ptr<void>& storage() const { return m_storage; }

    /// Elements from one entry to the next, per dimension.
    const std::vector<Index>& strides() const { return m_strides; }
    Index stride(int dimension) const { return m_strides.at(static_cast<std::size_t>(dimension)); }
    bool isContiguous() const { return m_contiguous; }

    /// Entries [first, first + count) of one dimension, sharing the data. Dimensions may be counted
    /// from the end (−1 is the innermost).
    Tensor narrow(int dimension, Index first, Index count) const;
    /// Dimension d of the result is dimension order[d] of this, sharing the data.
    Tensor permuted(const std::vector<int>& order) const;

    /// Same data, other extents of equal product.
    Tensor reshaped(Shape shape) const;
    /// Entry `i` of the outermost dimension, sharing the data.
    Tensor slice(Index i) const;
    Tensor clone(Stream& stream) const;

    /// Throws ContractError where element type or rank differ.
    template <class T, int Rank>
    View<T, Rank> view() const
    {
        expects(DTypeOf<T>::value == m_dtype, "view: element type differs from the tensor's");
        expects(rank() == Rank, "view: rank differs from the tensor's");
        expects(m_contiguous, "view: the tensor is strided");
        return makeView<T, Rank>(std::make_index_sequence<Rank>{});
    }

    /// All elements in order, whatever the rank.
    template <class T>
    View<T, 1> flat() const
    {
        expects(DTypeOf<T>::value == m_dtype, "flat: element type differs from the tensor's");
        expects(m_contiguous, "flat: the tensor is strided");
        return View<T, 1>(static_cast<T*>(m_data), m_size);
    }

    /// Copies to the host; waits for the stream.
    template <class T>
    std::vector<T> toHost(Stream& stream) const
    {
        expects(DTypeOf<T>::value == m_dtype, "toHost: element type differs from the tensor's");
        expects(m_contiguous, "toHost: the tensor is strided");
        std::vector<T> values(static_cast<std::size_t>(m_size));
        stream.copy(values.data(), m_data, bytes());
        stream.synchronize();
        return values;
    }

private:
    template <class T, int Rank, std::size_t... I>
    View<T, Rank> makeView(std::index_sequence<I...>) const
    {
        return View<T, Rank>(static_cast<T*>(m_data), m_shape[I]...);
    }

    std::shared_ptr<Device> m_device;
    std::shared_ptr<void> m_storage;
    void* m_data = nullptr;
    Shape m_shape;
    std::vector<Index> m_strides;
    Index m_size = 0;
    DType m_dtype = DType::F32;
    bool m_contiguous = true;

    void setDense(Shape shape);
    void judgeContiguity();
};

/// Throws ContractError that prints both shapes.
void expectSameShape(const Tensor& a, const Tensor& b);

} // namespace vergence
