#pragma once

#include <cstdint>

#include "core/compute/host_device.h"

namespace vergence {

using Index = std::int64_t;

/// Pointer and extents of a dense row-major array of `Rank` dimensions. Passed by value into
/// kernels; never outlives the call.
template <class T, int Rank>
class View {
public:
    static_assert(Rank >= 1 && Rank <= 6);

    VERGENCE_HD View() : m_data(nullptr), m_extents{} {}

    template <class... Extents>
    VERGENCE_HD View(T* data, Extents... extents)
        : m_data(data),
          m_extents{static_cast<Index>(extents)...}
    {
        static_assert(sizeof...(Extents) == Rank, "one extent per dimension");
    }

    VERGENCE_HD T* data() const { return m_data; }
    VERGENCE_HD Index extent(int dimension) const { return m_extents[dimension]; }

    VERGENCE_HD Index size() const
    {
        Index n = 1;
        for (int d = 0; d < Rank; ++d)
            n *= m_extents[d];
        return n;
    }

    VERGENCE_HD T& operator[](Index i) const { return m_data[i]; }

    template <class... Indices>
    VERGENCE_HD T& operator()(Indices... indices) const
    {
        static_assert(sizeof...(Indices) == Rank, "one index per dimension");
        const Index at[] = {static_cast<Index>(indices)...};
        Index offset = at[0];
        for (int d = 1; d < Rank; ++d)
            offset = offset * m_extents[d] + at[d];
        return m_data[offset];
    }

private:
    T* m_data;
    Index m_extents[Rank];
};

} // namespace vergence
