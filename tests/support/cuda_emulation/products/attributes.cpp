#include "tests/support/cuda_emulation/products/attributes.h"

#include <cstring>

namespace vergence::emulation {

namespace {

std::string sizesOf(const AttributeKind& kind, std::size_t bytes)
{
    return "attribute " + std::to_string(kind.id) + " has " + std::to_string(kind.bytes) +
           " bytes, not " + std::to_string(bytes);
}

template <class T>
std::int64_t widened(const void* value)
{
    T narrow;
    std::memcpy(&narrow, value, sizeof(narrow));
    return static_cast<std::int64_t>(narrow);
}

} // namespace

Attributes::Attributes(std::span<const AttributeKind> kinds) : m_kinds(kinds)
{
    for (const AttributeKind& kind : kinds)
        m_values[static_cast<std::size_t>(kind.id)] = kind.initial;
}

const AttributeKind* Attributes::kindOf(int id) const
{
    for (const AttributeKind& kind : m_kinds) {
        if (kind.id == id)
            return &kind;
    }
    return nullptr;
}

Verdict Attributes::set(int id, const void* value, std::size_t bytes)
{
    const AttributeKind* kind = kindOf(id);
    if (!kind)
        return mistake("there is no attribute " + std::to_string(id));
    if (!value)
        return mistake("no value for attribute " + std::to_string(id));
    if (bytes != kind->bytes)
        return mistake(sizesOf(*kind, bytes));
    m_values[static_cast<std::size_t>(id)] = bytes == 1   ? widened<std::int8_t>(value)
                                             : bytes == 4 ? widened<std::int32_t>(value)
                                                          : widened<std::int64_t>(value);
    return {};
}

Verdict Attributes::read(int id, void* value, std::size_t bytes, std::size_t* written) const
{
    const AttributeKind* kind = kindOf(id);
    if (!kind)
        return mistake("there is no attribute " + std::to_string(id));
    if (bytes == 0 ? !written : !value)
        return mistake("nowhere to write attribute " + std::to_string(id));
    if (bytes != 0 && bytes != kind->bytes)
        return mistake(sizesOf(*kind, bytes));
    if (written)
        *written = kind->bytes;
    // All computers that have CUDA store the lowest bytes first.
    if (bytes != 0)
        std::memcpy(value, &m_values[static_cast<std::size_t>(id)], bytes);
    return {};
}

} // namespace vergence::emulation
