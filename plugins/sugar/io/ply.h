#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vergence::sugar {

enum class PlyEncoding { Ascii, LittleEndian, BigEndian };
enum class PlyType { Int8, UInt8, Int16, UInt16, Int32, UInt32, Float, Double };
std::size_t sizeOf(PlyType type);
/// "float", "uchar", "int32" and their like; nothing for other words.
std::optional<PlyType> plyTypeNamed(std::string_view name);
/// The number at `bytes`, which hold sizeOf(type) of them; `isSwapped` where they are big endian.
double plyNumber(const std::byte* bytes, PlyType type, bool isSwapped);

struct PlyProperty {
    std::string name;
    PlyType type = PlyType::Float;
};

/// The element "vertex" of a PLY file: a table of numbers, whatever their order and type.
/// Source: The PLY polygon file format (1994).
class PlyVertices {
public:
    /// `bytes` must outlive the object; `file` is for messages. Throws InputError: header that is
    /// none, no vertices, more vertices than the bytes can hold.
    PlyVertices(std::span<const std::byte> bytes, std::string file);

    std::size_t count() const { return m_count; }
    const std::vector<PlyProperty>& properties() const { return m_properties; }
    std::optional<std::size_t> column(std::string_view name) const;
    /// As column(); throws InputError where there is none.
    std::size_t required(std::string_view name) const;
    /// All rows in order; `values` has one number per property. Throws InputError for a text that
    /// is no number.
    void forEachRow(
        const std::function<void(std::size_t row, std::span<const double> values)>& use) const;

private:
    struct Element;
    void readHeader();
    void readElements(std::string_view header);
    void place(const std::vector<Element>& elements);
    void readAscii(const std::function<void(std::size_t, std::span<const double>)>& use) const;
    void readBinary(const std::function<void(std::size_t, std::span<const double>)>& use) const;
    [[noreturn]] void fail(const std::string& fault) const;

    std::span<const std::byte> m_bytes;
    std::string m_file;
    PlyEncoding m_encoding = PlyEncoding::Ascii;
    std::vector<PlyProperty> m_properties;
    std::size_t m_count = 0, m_data = 0; ///< rows; offset of the first
    std::size_t m_skippedLines = 0;      ///< of other elements, between header and rows
    int m_headerLines = 0;
};

} // namespace vergence::sugar
