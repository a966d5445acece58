#include "plugins/sugar/io/ply.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/sugar/io/text_fields.h"

namespace vergence::sugar {

namespace {

constexpr const char* kRemedy = "Export the file again.";

template <class T>
double numberAt(const std::byte* bytes, bool isSwapped)
{
    std::array<std::byte, sizeof(T)> raw;
    std::memcpy(raw.data(), bytes, sizeof(T));
    if (isSwapped)
        std::reverse(raw.begin(), raw.end());
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return static_cast<double>(value);
}

std::size_t rowBytes(const std::vector<PlyProperty>& properties)
{
    std::size_t bytes = 0;
    for (const PlyProperty& property : properties)
        bytes += sizeOf(property.type);
    return bytes;
}

} // namespace

struct PlyVertices::Element {
    std::string name;
    std::size_t count = 0;
    std::vector<PlyProperty> properties;
    bool hasList = false;
};

std::size_t sizeOf(PlyType type)
{
    switch (type) {
    case PlyType::Int8:
    case PlyType::UInt8:
        return 1;
    case PlyType::Int16:
    case PlyType::UInt16:
        return 2;
    case PlyType::Int32:
    case PlyType::UInt32:
    case PlyType::Float:
        return 4;
    case PlyType::Double:
        return 8;
    }
    return 0;
}

std::optional<PlyType> plyTypeNamed(std::string_view name)
{
    constexpr std::array<std::pair<std::string_view, PlyType>, 16> kNames{
        {{"char", PlyType::Int8},
         {"int8", PlyType::Int8},
         {"uchar", PlyType::UInt8},
         {"uint8", PlyType::UInt8},
         {"short", PlyType::Int16},
         {"int16", PlyType::Int16},
         {"ushort", PlyType::UInt16},
         {"uint16", PlyType::UInt16},
         {"int", PlyType::Int32},
         {"int32", PlyType::Int32},
         {"uint", PlyType::UInt32},
         {"uint32", PlyType::UInt32},
         {"float", PlyType::Float},
         {"float32", PlyType::Float},
         {"double", PlyType::Double},
         {"float64", PlyType::Double}}};
    for (const auto& [known, type] : kNames) {
        if (known == name)
            return type;
    }
    return std::nullopt;
}

double plyNumber(const std::byte* bytes, PlyType type, bool isSwapped)
{
    switch (type) {
    case PlyType::Int8:
        return numberAt<std::int8_t>(bytes, isSwapped);
    case PlyType::UInt8:
        return numberAt<std::uint8_t>(bytes, isSwapped);
    case PlyType::Int16:
        return numberAt<std::int16_t>(bytes, isSwapped);
    case PlyType::UInt16:
        return numberAt<std::uint16_t>(bytes, isSwapped);
    case PlyType::Int32:
        return numberAt<std::int32_t>(bytes, isSwapped);
    case PlyType::UInt32:
        return numberAt<std::uint32_t>(bytes, isSwapped);
    case PlyType::Float:
        return numberAt<float>(bytes, isSwapped);
    case PlyType::Double:
        return numberAt<double>(bytes, isSwapped);
    }
    return 0;
}

PlyVertices::PlyVertices(std::span<const std::byte> bytes, std::string file)
    : m_bytes(bytes),
      m_file(std::move(file))
{
    readHeader();
}

void PlyVertices::fail(const std::string& fault) const
{
    throw InputError(fmt::format("{}: {}. {}", m_file, fault, kRemedy));
}

void PlyVertices::readHeader()
{
    constexpr std::size_t kLongestHeader = 1 << 20;
    const std::string_view text(reinterpret_cast<const char*>(m_bytes.data()),
                                std::min(m_bytes.size(), kLongestHeader));
    if (!text.starts_with("ply\n") && !text.starts_with("ply\r\n"))
        fail("this is no PLY file: it does not begin with \"ply\"");
    TextLines lines(text);
    std::size_t end = std::string_view::npos;
    while (const auto line = lines.next()) {
        if (*line == "end_header") {
            end = static_cast<std::size_t>(line->data() - text.data());
            m_data = text.find('\n', end);
            break;
        }
    }
    if (end == std::string_view::npos || m_data == std::string_view::npos)
        fail("the PLY header has no end");
    ++m_data;
    m_headerLines = lines.number();
    readElements(text.substr(0, end));
}

void PlyVertices::readElements(std::string_view header)
{
    std::vector<Element> elements;
    std::string format;
    TextLines lines(header);
    lines.next(); // "ply"
    while (const auto line = lines.next()) {
        TextFields fields(*line, m_file, lines.number(), kRemedy);
        if (fields.atEnd())
            continue;
        const std::string keyword = fields.word("a keyword");
        if (keyword == "format") {
            format = fields.word("a format");
        } else if (keyword == "element") {
            Element& element = elements.emplace_back();
            element.name = fields.word("the name of an element");
            element.count = fields.read<std::uint64_t>("the number of an element");
        } else if (keyword == "property") {
            if (elements.empty())
                fields.fail("a property stands before the first element");
            const std::string name = fields.word("the type of a property");
            if (name == "list") {
                elements.back().hasList = true;
                continue;
            }
            const auto type = plyTypeNamed(name);
            if (!type)
                fields.fail(fmt::format("\"{}\" is no type of a property", name));
            elements.back().properties.push_back({fields.word("the name of a property"), *type});
        } else if (keyword != "comment" && keyword != "obj_info") {
            fields.fail(fmt::format("\"{}\" is unknown in a PLY header", keyword));
        }
    }
    if (format == "binary_little_endian")
        m_encoding = PlyEncoding::LittleEndian;
    else if (format == "binary_big_endian")
        m_encoding = PlyEncoding::BigEndian;
    else if (format != "ascii")
        fail(fmt::format("the format \"{}\" is unknown", format));
    place(elements);
}

void PlyVertices::place(const std::vector<Element>& elements)
{
    const auto vertex = std::find_if(elements.begin(), elements.end(),
                                     [](const Element& e) { return e.name == "vertex"; });
    if (vertex == elements.end() || vertex->properties.empty())
        fail("there is no element \"vertex\" with properties");
    if (std::any_of(elements.begin(), vertex + 1, [](const Element& e) { return e.hasList; }))
        fail("a list stands in or before the element \"vertex\", which is not supported");
    m_properties = vertex->properties;
    m_count = vertex->count;
    const bool isAscii = m_encoding == PlyEncoding::Ascii;
    // The shortest row of text: a digit and a blank or line end for each number.
    const auto smallestRow = [&](const Element& e) {
        return isAscii ? std::max<std::size_t>(1, 2 * e.properties.size()) : rowBytes(e.properties);
    };
    std::size_t available = m_bytes.size() - m_data + (isAscii ? 1 : 0);
    for (auto element = elements.begin(); element != vertex + 1; ++element) {
        const std::size_t smallest = smallestRow(*element);
        if (smallest > 0 && element->count > available / smallest)
            fail(fmt::format("the header promises {} rows of \"{}\", but the {} bytes of the file "
                             "hold at most {}",
                             element->count, element->name, m_bytes.size(), available / smallest));
        available -= element->count * smallest;
        if (element == vertex)
            break;
        if (isAscii)
            m_skippedLines += element->count;
        else
            m_data += element->count * smallest;
    }
}

std::optional<std::size_t> PlyVertices::column(std::string_view name) const
{
    const auto found = std::find_if(m_properties.begin(), m_properties.end(),
                                    [&](const PlyProperty& p) { return p.name == name; });
    if (found == m_properties.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - m_properties.begin());
}

std::size_t PlyVertices::required(std::string_view name) const
{
    const auto found = column(name);
    if (!found)
        fail(fmt::format("its vertices have no property \"{}\"", name));
    return *found;
}

void PlyVertices::forEachRow(
    const std::function<void(std::size_t, std::span<const double>)>& use) const
{
    if (m_encoding == PlyEncoding::Ascii)
        readAscii(use);
    else
        readBinary(use);
}

void PlyVertices::readAscii(
    const std::function<void(std::size_t, std::span<const double>)>& use) const
{
    TextLines lines(
        {reinterpret_cast<const char*>(m_bytes.data()) + m_data, m_bytes.size() - m_data});
    for (std::size_t i = 0; i < m_skippedLines; ++i)
        lines.next();
    std::vector<double> values(m_properties.size());
    for (std::size_t row = 0; row < m_count; ++row) {
        const auto line = lines.next();
        if (!line)
            fail(fmt::format("the file ends after {} of {} vertices", row, m_count));
        TextFields fields(*line, m_file, m_headerLines + lines.number(), kRemedy);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = fields.read<double>(m_properties[i].name.c_str());
        use(row, values);
    }
}

void PlyVertices::readBinary(
    const std::function<void(std::size_t, std::span<const double>)>& use) const
{
    const bool isSwapped = m_encoding == PlyEncoding::BigEndian;
    std::vector<double> values(m_properties.size());
    const std::byte* at = m_bytes.data() + m_data;
    for (std::size_t row = 0; row < m_count; ++row) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = plyNumber(at, m_properties[i].type, isSwapped);
            at += sizeOf(m_properties[i].type);
        }
        use(row, values);
    }
}

} // namespace vergence::sugar
