#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace vergence::live {

/// A message of Protocol Buffers while it is put together. Source: Protocol Buffers documentation,
/// "Encoding".
class ProtoWriter {
public:
    void integer(int field, std::int64_t value)
    {
        tag(field, 0);
        varint(static_cast<std::uint64_t>(value));
    }
    void number(int field, float value)
    {
        tag(field, 5);
        const auto bits = std::bit_cast<std::uint32_t>(value);
        for (int shift = 0; shift < 32; shift += 8)
            m_bytes.push_back(static_cast<char>(bits >> shift & 0xFF));
    }
    /// A text, bytes, or a message inside this one.
    void bytes(int field, std::string_view content)
    {
        announce(field, content.size());
        m_bytes.append(content);
    }
    void message(int field, const ProtoWriter& content) { bytes(field, content.m_bytes); }
    /// Tag and length of bytes that the caller writes behind.
    void announce(int field, std::uint64_t length)
    {
        tag(field, 2);
        varint(length);
    }

    const std::string& content() const { return m_bytes; }

private:
    void tag(int field, int wireType)
    {
        varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wireType));
    }
    void varint(std::uint64_t value)
    {
        for (; value >= 0x80; value >>= 7)
            m_bytes.push_back(static_cast<char>(value | 0x80));
        m_bytes.push_back(static_cast<char>(value));
    }

    std::string m_bytes;
};

} // namespace vergence::live
