#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/support/cuda_emulation/products/calls.h"

namespace vergence::emulation {

/// One attribute of a kind of descriptor.
struct AttributeKind {
    int id;
    std::size_t bytes;
    std::int64_t initial = 0;
};

/// The values of a descriptor's attributes. As in the library, setting checks sizes alone; what
/// the values say is judged where they are used.
class Attributes {
public:
    explicit Attributes(std::span<const AttributeKind> kinds);

    Verdict set(int id, const void* value, std::size_t bytes);
    Verdict read(int id, void* value, std::size_t bytes, std::size_t* written) const;

    /// Numbers keep their sign; pointers and floats are as their bits.
    std::int64_t& operator[](int id) { return m_values[static_cast<std::size_t>(id)]; }
    std::int64_t operator[](int id) const { return m_values[static_cast<std::size_t>(id)]; }

private:
    const AttributeKind* kindOf(int id) const;

    std::span<const AttributeKind> m_kinds;
    std::array<std::int64_t, 40> m_values{};
};

} // namespace vergence::emulation
