#pragma once

// For the sources that write the operations of core/compute/graph/functions.h.

#include "core/compute/graph/graph.h"

namespace vergence {

/// What sums of a type are kept in.
inline DType sumType(DType type)
{
    return type == DType::F64 ? DType::F64 : DType::F32;
}

/// Null where there is no value.
inline const Tensor* pointerTo(Graph& graph, Value value)
{
    return value ? &graph.dense(value) : nullptr;
}

inline Tensor takeLike(Graph& graph, const Tensor& x)
{
    return graph.take(x.shape(), x.dtype());
}

/// Rows of a tensor whose innermost dimension is a vector: all other dimensions in one.
inline Tensor asRows(const Tensor& dense)
{
    const Index columns = dense.rank() == 0 ? 1 : dense.shape().back();
    return dense.reshaped({columns == 0 ? 0 : dense.size() / columns, columns});
}

/// Gradient of an input for operations that only overwrite: its own place where it is the first,
/// otherwise (or where nobody wants it) scratch that finish() adds.
class OverwrittenGradient {
public:
    OverwrittenGradient(Graph& graph, Value input);
    const Tensor& tensor() const { return m_tensor; }
    void finish();

private:
    Graph& m_graph;
    Tensor m_tensor;
    Tensor m_target; ///< to be added to; empty where the operation wrote the place itself
};

/// Gradient of a weight in the type of sums (F32, F64), always added to. finish() rounds it where
/// the input is a 16-bit variable.
class SummedGradient {
public:
    SummedGradient(Graph& graph, Value input);
    /// Null where the input is none or takes no gradient.
    const Tensor* get() const { return m_tensor.isEmpty() ? nullptr : &m_tensor; }
    void finish();

private:
    Graph& m_graph;
    Value m_input;
    Tensor m_tensor;
    Graph::GradientTarget m_rounded;
};

} // namespace vergence
