#include "plugins/sugar/io/mesh_ply.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/output_file.h"
#include "plugins/sugar/io/ply.h"
#include "plugins/sugar/io/text_fields.h"
#include "plugins/sugar/mesh/mesh_parts.h"

namespace vergence::sugar {

namespace {

constexpr const char* kRemedy = "Export the file again.";

struct Property {
    PlyProperty value;
    std::optional<PlyType> count; ///< of a list
};

struct Element {
    std::string name;
    std::size_t rows = 0;
    std::vector<Property> properties;
};

struct Header {
    PlyEncoding encoding = PlyEncoding::Ascii;
    std::vector<Element> elements;
    std::size_t bytes = 0; ///< up to the first row
};

class Faulty {
public:
    explicit Faulty(std::string file) : m_file(std::move(file)) {}
    [[noreturn]] void fail(const std::string& fault) const
    {
        throw InputError(fmt::format("{}: {}. {}", m_file, fault, kRemedy));
    }
    const std::string& file() const { return m_file; }

private:
    std::string m_file;
};

PlyType typeIn(TextFields& fields)
{
    const std::string name = fields.word("the type of a property");
    const auto type = plyTypeNamed(name);
    if (!type)
        fields.fail(fmt::format("\"{}\" is no type of a property", name));
    return *type;
}

Property propertyIn(TextFields& fields)
{
    Property property;
    TextFields ahead = fields;
    if (ahead.word("the type of a property") == "list") {
        fields = ahead;
        property.count = typeIn(fields);
    }
    property.value.type = typeIn(fields);
    property.value.name = fields.word("the name of a property");
    return property;
}

PlyEncoding encodingIn(TextFields& fields)
{
    const std::string format = fields.word("a format");
    if (format == "ascii")
        return PlyEncoding::Ascii;
    if (format == "binary_little_endian")
        return PlyEncoding::LittleEndian;
    if (format == "binary_big_endian")
        return PlyEncoding::BigEndian;
    fields.fail(fmt::format("the format \"{}\" is unknown", format));
}

Header headerOf(const std::string& bytes, const Faulty& faulty)
{
    constexpr std::size_t kLongest = 1 << 20;
    const std::string_view text(bytes.data(), std::min(bytes.size(), kLongest));
    if (!text.starts_with("ply\n") && !text.starts_with("ply\r\n"))
        faulty.fail("this is no PLY file: it does not begin with \"ply\"");
    Header header;
    TextLines lines(text);
    lines.next(); // "ply"
    while (const auto line = lines.next()) {
        TextFields fields(*line, faulty.file(), lines.number(), kRemedy);
        if (fields.atEnd())
            continue;
        const std::string keyword = fields.word("a keyword");
        if (keyword == "end_header") {
            const std::size_t end =
                text.find('\n', static_cast<std::size_t>(line->data() - text.data()));
            if (end == std::string_view::npos)
                break;
            header.bytes = end + 1;
            return header;
        }
        if (keyword == "format") {
            header.encoding = encodingIn(fields);
        } else if (keyword == "element") {
            Element& element = header.elements.emplace_back();
            element.name = fields.word("the name of an element");
            element.rows = fields.read<std::uint64_t>("the number of an element");
        } else if (keyword == "property") {
            if (header.elements.empty())
                fields.fail("a property stands before the first element");
            header.elements.back().properties.push_back(propertyIn(fields));
        } else if (keyword != "comment" && keyword != "obj_info") {
            fields.fail(fmt::format("\"{}\" is unknown in a PLY header", keyword));
        }
    }
    faulty.fail("the PLY header has no end");
}

/// The numbers after the header, one after the other.
class Numbers {
public:
    Numbers(std::string_view bytes, PlyEncoding encoding, const Faulty& faulty)
        : m_rest(bytes),
          m_encoding(encoding),
          m_faulty(faulty)
    {
    }

    double next(PlyType type)
    {
        if (m_encoding == PlyEncoding::Ascii)
            return nextInText();
        const std::size_t size = sizeOf(type);
        if (m_rest.size() < size)
            m_faulty.fail("the file ends in the middle of its rows");
        const double value = plyNumber(reinterpret_cast<const std::byte*>(m_rest.data()), type,
                                       m_encoding == PlyEncoding::BigEndian);
        m_rest.remove_prefix(size);
        return value;
    }

    /// Refuses `count` numbers of the type where fewer bytes than those are left.
    void expectRoom(double count, PlyType type) const
    {
        const auto size =
            m_encoding == PlyEncoding::Ascii ? 1.0 : static_cast<double>(sizeOf(type));
        if (!(count >= 0) || count * size > static_cast<double>(m_rest.size()) + 1)
            m_faulty.fail(fmt::format("{} numbers are promised where {} bytes are left", count,
                                      m_rest.size()));
    }

private:
    double nextInText()
    {
        const std::size_t begin = m_rest.find_first_not_of(" \t\r\n");
        if (begin == std::string_view::npos)
            m_faulty.fail("the file ends in the middle of its rows");
        m_rest.remove_prefix(begin);
        double value = 0;
        const auto [end, error] =
            std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), value);
        const auto length = static_cast<std::size_t>(end - m_rest.data());
        const bool ends = length == m_rest.size() || std::string_view(" \t\r\n").find(
                                                         m_rest[length]) != std::string_view::npos;
        if (error != std::errc{} || !ends)
            m_faulty.fail(fmt::format(
                "\"{}\" is no number",
                m_rest.substr(0, std::min(m_rest.find_first_of(" \t\r\n"), std::size_t{40}))));
        m_rest.remove_prefix(length);
        return value;
    }

    std::string_view m_rest;
    PlyEncoding m_encoding;
    const Faulty& m_faulty;
};

/// Reads the rows of an element: scalars into `row`, one number per property, and the list that is
/// asked for into `list`.
template <class Use>
void readRows(const Element& element, Numbers& numbers, std::optional<std::size_t> wantedList,
              const Use& use)
{
    std::vector<double> row(element.properties.size()), list;
    for (std::size_t i = 0; i < element.rows; ++i) {
        list.clear();
        for (std::size_t k = 0; k < row.size(); ++k) {
            const Property& property = element.properties[k];
            if (!property.count) {
                row[k] = numbers.next(property.value.type);
                continue;
            }
            const double count = numbers.next(*property.count);
            numbers.expectRoom(count, property.value.type);
            for (double n = 0; n < count; ++n) {
                const double value = numbers.next(property.value.type);
                if (k == wantedList)
                    list.push_back(value);
            }
        }
        use(row, list);
    }
}

std::optional<std::size_t> column(const Element& element, std::string_view name, bool isList)
{
    for (std::size_t k = 0; k < element.properties.size(); ++k) {
        const Property& property = element.properties[k];
        if (property.value.name == name && property.count.has_value() == isList)
            return k;
    }
    return std::nullopt;
}

/// Three columns, where all of them are there.
std::optional<std::array<std::size_t, 3>> columns(const Element& element,
                                                  const std::array<const char*, 3>& names)
{
    std::array<std::size_t, 3> all{};
    for (std::size_t k = 0; k < 3; ++k) {
        const auto found = column(element, names[k], false);
        if (!found)
            return std::nullopt;
        all[k] = *found;
    }
    return all;
}

void readVertices(const Element& element, Numbers& numbers, const Faulty& faulty,
                  TriangleMesh& mesh)
{
    const auto position = columns(element, {"x", "y", "z"}),
               normal = columns(element, {"nx", "ny", "nz"}),
               colour = columns(element, {"red", "green", "blue"});
    if (!position)
        faulty.fail("its vertices have no properties x, y and z");
    const bool isUnitColour =
        colour && (element.properties[(*colour)[0]].value.type == PlyType::Float ||
                   element.properties[(*colour)[0]].value.type == PlyType::Double);
    readRows(element, numbers, std::nullopt, [&](const std::vector<double>& row, const auto&) {
        for (const std::size_t k : *position) {
            if (!std::isfinite(static_cast<float>(row[k])))
                faulty.fail(fmt::format("vertex {} lies nowhere: a coordinate is not finite",
                                        mesh.vertices()));
            mesh.position.push_back(static_cast<float>(row[k]));
        }
        for (std::size_t k = 0; normal && k < 3; ++k)
            mesh.normal.push_back(static_cast<float>(row[(*normal)[k]]));
        for (std::size_t k = 0; colour && k < 3; ++k) {
            const double value = row[(*colour)[k]] * (isUnitColour ? 255 : 1);
            mesh.colour.push_back(
                static_cast<std::uint8_t>(value > 0 ? std::min(value + 0.5, 255.0) : 0));
        }
    });
}

void readFaces(const Element& element, Numbers& numbers, const Faulty& faulty, TriangleMesh& mesh)
{
    auto rows = column(element, "vertex_indices", true);
    if (!rows)
        rows = column(element, "vertex_index", true);
    if (!rows)
        faulty.fail("its faces have no list \"vertex_indices\"");
    const auto group = column(element, "group", false);
    std::size_t face = 0;
    readRows(element, numbers, rows,
             [&](const std::vector<double>& row, const std::vector<double>& polygon) {
                 for (const double v : polygon) {
                     if (!(v >= 0 && v < static_cast<double>(mesh.vertices())))
                         faulty.fail(fmt::format("face {} names vertex {}, but there are {}", face,
                                                 v, mesh.vertices()));
                 }
                 for (std::size_t k = 2; k < polygon.size(); ++k) {
                     for (const double v : {polygon[0], polygon[k - 1], polygon[k]})
                         mesh.triangle.push_back(static_cast<std::uint32_t>(v));
                     if (group)
                         mesh.group.push_back(
                             static_cast<std::uint8_t>(std::clamp(row[*group], 0.0, 255.0)));
                 }
                 ++face;
             });
}

template <class T>
void append(std::string& bytes, const T* values, std::size_t count)
{
    bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

std::string headerText(const TriangleMesh& mesh, const std::optional<MeshAxes>& axes)
{
    std::string text = "ply\nformat binary_little_endian 1.0\n";
    if (axes)
        text += axesComment(*axes, "comment");
    text += fmt::format("element vertex {}\n", mesh.vertices());
    text += "property float x\nproperty float y\nproperty float z\n";
    if (!mesh.normal.empty())
        text += "property float nx\nproperty float ny\nproperty float nz\n";
    if (!mesh.colour.empty())
        text += "property uchar red\nproperty uchar green\nproperty uchar blue\n";
    text += fmt::format("element face {}\nproperty list uchar int vertex_indices\n", mesh.faces());
    if (!mesh.group.empty())
        text += "property uchar group\n";
    return text + "end_header\n";
}

} // namespace

void writeMeshPly(const std::filesystem::path& path, const TriangleMesh& mesh,
                  const std::optional<MeshAxes>& axes)
{
    expectSound(mesh);
    constexpr std::size_t kPiece = 1 << 20;
    OutputFile output(path);
    std::string bytes = headerText(mesh, axes);
    const auto writeFull = [&] {
        if (bytes.size() > kPiece) {
            output.write(bytes);
            bytes.clear();
        }
    };
    for (std::size_t v = 0; v < mesh.position.size() / 3; ++v) {
        append(bytes, mesh.position.data() + 3 * v, 3);
        if (!mesh.normal.empty())
            append(bytes, mesh.normal.data() + 3 * v, 3);
        if (!mesh.colour.empty())
            append(bytes, mesh.colour.data() + 3 * v, 3);
        writeFull();
    }
    for (std::size_t f = 0; f < mesh.triangle.size() / 3; ++f) {
        bytes.push_back(3);
        append(bytes, mesh.triangle.data() + 3 * f, 3);
        if (!mesh.group.empty())
            append(bytes, mesh.group.data() + f, 1);
        writeFull();
    }
    output.write(bytes);
    output.commit();
}

TriangleMesh readMeshPly(const std::filesystem::path& path)
{
    const Faulty faulty(path.string());
    const std::string bytes = readFile(path);
    const Header header = headerOf(bytes, faulty);
    Numbers numbers(std::string_view(bytes).substr(header.bytes), header.encoding, faulty);
    TriangleMesh mesh;
    for (const Element& element : header.elements) {
        if (element.properties.empty())
            continue;
        numbers.expectRoom(static_cast<double>(element.rows), PlyType::UInt8);
        if (element.name == "vertex")
            readVertices(element, numbers, faulty, mesh);
        else if (element.name == "face")
            readFaces(element, numbers, faulty, mesh);
        else
            readRows(element, numbers, std::nullopt, [](const auto&, const auto&) {});
    }
    if (mesh.triangle.empty())
        faulty.fail("there are no faces in it");
    return mesh;
}

} // namespace vergence::sugar
