#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

namespace vergence::sugar {

static_assert(std::endian::native == std::endian::little, "files here are little endian");

/// Reads numbers one after the other from little-endian bytes. Every fault becomes an InputError
/// that names file and offset, what is wrong and what to do.
class ByteReader {
public:
    /// `file` and `remedy` are for messages only; the remedy is a whole sentence.
    ByteReader(std::span<const std::byte> bytes, std::string file, std::string remedy);

    template <class T>
    T read(const char* what)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        T value;
        std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
        return value;
    }
    /// Bytes up to the next zero, which is skipped.
    std::string zeroTerminated(const char* what);
    /// A 64-bit count of records of at least `recordBytes` each; refused where the file is too
    /// small.
    std::size_t count(std::size_t recordBytes, const char* what);
    std::span<const std::byte> take(std::size_t bytes, const char* what);

    std::size_t remaining() const { return m_bytes.size() - m_offset; }
    void expectEnd() const;
    [[noreturn]] void fail(const std::string& fault) const; ///< at the present offset

private:
    std::span<const std::byte> m_bytes;
    std::size_t m_offset = 0;
    std::string m_file, m_remedy;
};

} // namespace vergence::sugar
