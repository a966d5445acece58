#pragma once

// For kernel files only: an inline namespace per build, so that no two builds share a symbol.

#include <cstddef>

#include "core/compute/stream.h"
#include "plugins/light_field/compute/update_math.h"

namespace vergence::light_field {
inline namespace VERGENCE_KERNEL_NAMESPACE {

/// Partial results as reduceInto() reads them: number `offset` of every group of `stride`.
struct ReadPartialSum {
    const double* partial;
    int stride, offset;
    VERGENCE_HD double operator()(Index group) const { return partial[group * stride + offset]; }
};

struct ReadTexelSums {
    const TexelSums* partial;
    VERGENCE_HD TexelSums operator()(Index i) const { return partial[i]; }
};

struct AddTexelSums {
    VERGENCE_HD TexelSums operator()(TexelSums a, const TexelSums& b) const
    {
        a.add(b);
        return a;
    }
};

/// Device memory for `count` values during a call; the stream is waited for before it goes.
template <class T>
class Temporary {
public:
    Temporary(Stream& stream, Index count)
        : m_stream(stream),
          m_bytes(static_cast<std::size_t>(count) * sizeof(T)),
          m_data(static_cast<T*>(stream.device().allocate(m_bytes)))
    {
    }
    ~Temporary()
    {
        m_stream.synchronize();
        m_stream.device().deallocate(m_data, m_bytes);
    }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    T* data() const { return m_data; }

private:
    Stream& m_stream;
    std::size_t m_bytes;
    T* m_data;
};

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence::light_field
