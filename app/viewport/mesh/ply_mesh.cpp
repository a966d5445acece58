#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include <QFile>
#include <QtEndian>

#include "app/viewport/mesh/mesh_readers.h"

// The Stanford PLY format, version 1.0 (Turk, The PLY Polygon File Format, 1994).

namespace vergence {
namespace {

enum class Encoding { Text, LittleEndian, BigEndian };
enum class Number { Int8, UInt8, Int16, UInt16, Int32, UInt32, Float, Double };

constexpr qint64 kLongestHeader = 1 << 20; ///< bytes
constexpr double kMostCorners = 1024;      ///< of a face; more is damage

struct Property {
    QByteArray name;
    Number type = Number::Float;
    std::optional<Number> countType; ///< of a list
};

struct Element {
    QByteArray name;
    std::size_t count = 0;
    std::vector<Property> properties;
};

struct Header {
    Encoding encoding = Encoding::Text;
    std::vector<Element> elements;
    QByteArray texture; ///< of the comment `TextureFile`
    QVector3D up{0, 0, 1}, front;
    qint64 size = 0; ///< bytes up to the data

    const Element* find(const char* name) const
    {
        for (const Element& element : elements)
            if (element.name == name)
                return &element;
        return nullptr;
    }
};

std::optional<Number> numberOf(const QByteArray& name)
{
    static const std::map<QByteArray, Number> kNames = {
        {"char", Number::Int8},     {"int8", Number::Int8},     {"uchar", Number::UInt8},
        {"uint8", Number::UInt8},   {"short", Number::Int16},   {"int16", Number::Int16},
        {"ushort", Number::UInt16}, {"uint16", Number::UInt16}, {"int", Number::Int32},
        {"int32", Number::Int32},   {"uint", Number::UInt32},   {"uint32", Number::UInt32},
        {"float", Number::Float},   {"float32", Number::Float}, {"double", Number::Double},
        {"float64", Number::Double}};
    const auto found = kNames.find(name);
    return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

std::size_t sizeOf(Number type)
{
    constexpr std::size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 8};
    return kSizes[static_cast<int>(type)];
}

bool parseLine(const QList<QByteArray>& words, Header& header)
{
    if (words[0] == "comment") {
        if (words.size() > 2 && words[1] == "TextureFile")
            header.texture = words.mid(2).join(' ');
        takeDirection(words.mid(1), header.up, header.front);
        return true;
    }
    if (words[0] == "obj_info")
        return true;
    if (words[0] == "format" && words.size() == 3) {
        header.encoding = words[1] == "ascii"                  ? Encoding::Text
                          : words[1] == "binary_little_endian" ? Encoding::LittleEndian
                                                               : Encoding::BigEndian;
        return words[1] == "ascii" || words[1].startsWith("binary_");
    }
    if (words[0] == "element" && words.size() == 3) {
        bool isNumber = false;
        const qulonglong count = words[2].toULongLong(&isNumber);
        header.elements.push_back({words[1], static_cast<std::size_t>(count), {}});
        return isNumber && count <= 0xffffffffULL;
    }
    if (words[0] != "property" || header.elements.empty())
        return false;
    const bool isList = words.size() == 5 && words[1] == "list";
    if (words.size() != 3 && !isList)
        return false;
    const auto type = numberOf(words[isList ? 3 : 1]);
    const auto countType = isList ? numberOf(words[2]) : std::nullopt;
    if (!type || (isList && !countType))
        return false;
    header.elements.back().properties.push_back({words.back(), *type, countType});
    return true;
}

/// The fault of the header, or nothing.
std::optional<std::string> readHeader(QFile& file, Header& header)
{
    if (file.readLine(16).trimmed() != "ply")
        return "it does not begin with the word ply";
    while (file.pos() < kLongestHeader && !file.atEnd()) {
        const QByteArray line = file.readLine(4096).simplified();
        if (line == "end_header") {
            header.size = file.pos();
            return std::nullopt;
        }
        if (!line.isEmpty() && !parseLine(line.split(' '), header))
            return "its header has the line “" + line.left(80).toStdString() + "”";
    }
    return "its header has no end";
}

/// Numbers of the data in their order, whatever the encoding.
class Reader {
public:
    Reader(const std::filesystem::path& path, Encoding encoding, QByteArrayView data)
        : m_path(path),
          m_encoding(encoding),
          m_at(data.begin()),
          m_end(data.end())
    {
    }

    double next(Number type) { return m_encoding == Encoding::Text ? word() : binary(type); }

private:
    [[noreturn]] void refuse(const char* fault) const
    {
        refuseMesh(m_path, fault, "Copy or write it again.");
    }

    double word()
    {
        const auto isSpace = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
        while (m_at != m_end && isSpace(*m_at))
            ++m_at;
        const char* start = m_at;
        while (m_at != m_end && !isSpace(*m_at))
            ++m_at;
        if (start == m_at)
            refuse("it ends before its last face");
        bool isNumber = false;
        const double value = QByteArrayView(start, m_at - start).toDouble(&isNumber);
        if (!isNumber)
            refuse("its data have a word where a number must be");
        return value;
    }

    template <class T>
    double as(const char* bytes) const
    {
        return static_cast<double>(m_encoding == Encoding::BigEndian ? qFromBigEndian<T>(bytes)
                                                                     : qFromLittleEndian<T>(bytes));
    }

    double binary(Number type)
    {
        const std::size_t size = sizeOf(type);
        if (static_cast<std::size_t>(m_end - m_at) < size)
            refuse("it ends before its last face");
        const char* bytes = m_at;
        m_at += size;
        switch (type) {
        case Number::Int8:
            return as<qint8>(bytes);
        case Number::UInt8:
            return as<quint8>(bytes);
        case Number::Int16:
            return as<qint16>(bytes);
        case Number::UInt16:
            return as<quint16>(bytes);
        case Number::Int32:
            return as<qint32>(bytes);
        case Number::UInt32:
            return as<quint32>(bytes);
        case Number::Float:
            return as<float>(bytes);
        case Number::Double:
            break;
        }
        return as<double>(bytes);
    }

    const std::filesystem::path& m_path;
    Encoding m_encoding;
    const char *m_at, *m_end;
};

/// Of every vertex, in the order of the file.
struct Vertices {
    std::vector<QVector3D> position, normal;
    std::vector<QVector2D> uv;
    std::vector<QRgb> colour;
};

int columnOf(const Element& element, std::initializer_list<const char*> names)
{
    for (std::size_t i = 0; i < element.properties.size(); ++i)
        for (const char* name : names)
            if (element.properties[i].name == name)
                return static_cast<int>(i);
    return -1;
}

int byteOf(double value, Number type)
{
    const bool isFraction = type == Number::Float || type == Number::Double;
    const double most = type == Number::UInt16 ? 65535 : isFraction ? 1 : 255;
    return static_cast<int>(std::lround(std::clamp(value / most, 0.0, 1.0) * 255));
}

Vertices readVertices(const std::filesystem::path& path, const Element& element, Reader& reader)
{
    const int x = columnOf(element, {"x"}), y = columnOf(element, {"y"}),
              z = columnOf(element, {"z"});
    if (x < 0 || y < 0 || z < 0)
        refuseMesh(path, "its vertices have no x, y and z");
    const int nx = columnOf(element, {"nx"}), ny = columnOf(element, {"ny"}),
              nz = columnOf(element, {"nz"});
    const int red = columnOf(element, {"red", "diffuse_red"}),
              green = columnOf(element, {"green", "diffuse_green"}),
              blue = columnOf(element, {"blue", "diffuse_blue"});
    const int u = columnOf(element, {"s", "u", "texture_u"}),
              v = columnOf(element, {"t", "v", "texture_v"});
    Vertices result;
    std::vector<double> row(element.properties.size());
    for (std::size_t i = 0; i < element.count; ++i) {
        for (std::size_t k = 0; k < row.size(); ++k) {
            const Property& property = element.properties[k];
            if (!property.countType) {
                row[k] = reader.next(property.type);
                continue;
            }
            for (double left = reader.next(*property.countType); left > 0; --left)
                reader.next(property.type);
        }
        const auto at = [&row](int column) { return static_cast<float>(row[column]); };
        result.position.emplace_back(at(x), at(y), at(z));
        if (nx >= 0 && ny >= 0 && nz >= 0)
            result.normal.push_back(QVector3D(at(nx), at(ny), at(nz)).normalized());
        if (u >= 0 && v >= 0)
            result.uv.emplace_back(at(u), 1 - at(v));
        if (red >= 0 && green >= 0 && blue >= 0)
            result.colour.push_back(qRgb(byteOf(row[red], element.properties[red].type),
                                         byteOf(row[green], element.properties[green].type),
                                         byteOf(row[blue], element.properties[blue].type)));
    }
    return result;
}

/// A polygon of the file: rows of its vertices, and its own texture coordinates where it has them.
struct Face {
    std::vector<double> corners, uv;
    double group = 0;
};

/// Triangles by the group of their faces.
struct Group {
    std::vector<std::array<std::uint32_t, 3>> triangles;
    std::vector<QVector2D> uv; ///< [3F] or fewer, where faces have none
};

void addFan(const std::filesystem::path& path, const Face& face, std::size_t vertices, Group& group)
{
    const bool hasUv = face.uv.size() == 2 * face.corners.size();
    for (const double corner : face.corners)
        if (corner < 0 || corner >= static_cast<double>(vertices))
            refuseMesh(path, "a face names vertex " +
                                 std::to_string(static_cast<long long>(corner)) + " of " +
                                 std::to_string(vertices));
    for (std::size_t i = 2; i < face.corners.size(); ++i) {
        const std::array<std::size_t, 3> fan{0, i - 1, i};
        auto& triangle = group.triangles.emplace_back();
        for (std::size_t k = 0; k < 3; ++k) {
            triangle[k] = static_cast<std::uint32_t>(face.corners[fan[k]]);
            if (hasUv)
                group.uv.emplace_back(static_cast<float>(face.uv[2 * fan[k]]),
                                      1 - static_cast<float>(face.uv[2 * fan[k] + 1]));
        }
    }
}

std::map<double, Group> readFaces(const std::filesystem::path& path, const Element& element,
                                  std::size_t vertices, Reader& reader)
{
    const int corners = columnOf(element, {"vertex_indices", "vertex_index"});
    const int uv = columnOf(element, {"texcoord"});
    const int group = columnOf(element, {"group", "group_id", "material_index"});
    if (corners < 0 || !element.properties[corners].countType)
        refuseMesh(path, "its faces have no list of vertices");
    std::map<double, Group> groups;
    Face face;
    for (std::size_t i = 0; i < element.count; ++i) {
        face = {};
        for (std::size_t k = 0; k < element.properties.size(); ++k) {
            const Property& property = element.properties[k];
            const int column = static_cast<int>(k);
            const double count = property.countType ? reader.next(*property.countType) : 1;
            if (!(count >= 0) || count > 2 * kMostCorners)
                refuseMesh(path, "a face has an impossible number of corners");
            for (double n = 0; n < count; ++n) {
                const double value = reader.next(property.type);
                if (column == corners)
                    face.corners.push_back(value);
                else if (column == uv)
                    face.uv.push_back(value);
                else if (column == group)
                    face.group = value;
            }
        }
        addFan(path, face, vertices, groups[std::isfinite(face.group) ? face.group : 0]);
    }
    return groups;
}

void skip(const Element& element, Reader& reader)
{
    for (std::size_t i = 0; i < element.count; ++i)
        for (const Property& property : element.properties)
            for (double left = property.countType ? reader.next(*property.countType) : 1; left > 0;
                 --left)
                reader.next(property.type);
}

void addTexture(const std::filesystem::path& path, const Header& header, ViewMesh& mesh)
{
    if (header.texture.isEmpty() || mesh.uv.empty())
        return;
    const auto beside = path.parent_path() / header.texture.toStdString();
    QFile file(QString::fromStdString(beside.string()));
    QImage picture;
    if (file.open(QIODevice::ReadOnly))
        picture = decodePicture(file.readAll());
    if (picture.isNull()) {
        mesh.problems << QStringLiteral("The picture %1 of %2 is missing, so the mesh is shown "
                                        "without it. Put the picture beside the file.")
                             .arg(QString::fromUtf8(header.texture),
                                  QString::fromStdString(path.filename().string()));
        return;
    }
    mesh.textures.push_back(picture);
    for (MeshPart& part : mesh.parts)
        part.texture = 0;
}

ViewMesh assemble(Vertices&& vertices, std::map<double, Group>&& groups)
{
    ViewMesh mesh;
    bool hasOwnUv = !groups.empty();
    for (const auto& [id, group] : groups)
        hasOwnUv = hasOwnUv && group.uv.size() == 3 * group.triangles.size();
    for (auto& [id, group] : groups) {
        mesh.parts.push_back({groups.size() > 1 ? QStringLiteral("group %1").arg(id) : QString(),
                              mesh.triangles.size(), group.triangles.size()});
        mesh.triangles.insert(mesh.triangles.end(), group.triangles.begin(), group.triangles.end());
        if (hasOwnUv)
            mesh.uv.insert(mesh.uv.end(), group.uv.begin(), group.uv.end());
    }
    const auto spread = [&mesh](const auto& ofVertex, auto& ofCorner) {
        if (ofVertex.empty())
            return;
        ofCorner.reserve(3 * mesh.triangles.size());
        for (const auto& triangle : mesh.triangles)
            for (const std::uint32_t vertex : triangle)
                ofCorner.push_back(ofVertex[vertex]);
    };
    spread(vertices.normal, mesh.normals);
    spread(vertices.colour, mesh.colours);
    if (!hasOwnUv)
        spread(vertices.uv, mesh.uv);
    mesh.positions = std::move(vertices.position);
    return mesh;
}

bool holdsSplats(const Header& header)
{
    const Element* vertex = header.find("vertex");
    const Element* face = header.find("face");
    return vertex != nullptr && (face == nullptr || face->count == 0) &&
           columnOf(*vertex, {"f_dc_0"}) >= 0 && columnOf(*vertex, {"opacity"}) >= 0;
}

} // namespace

bool hasPlyFaces(const std::filesystem::path& path)
{
    QFile file(QString::fromStdString(path.string()));
    Header header;
    if (!file.open(QIODevice::ReadOnly) || readHeader(file, header))
        return false;
    const Element* face = header.find("face");
    return face != nullptr && face->count > 0;
}

ViewMesh readPlyMesh(const std::filesystem::path& path)
{
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::ReadOnly))
        refuseMesh(path, "it cannot be opened", "Check the name and the rights of the file.");
    Header header;
    if (const auto fault = readHeader(file, header))
        refuseMesh(path, *fault);
    if (holdsSplats(header))
        refuseMesh(path, "it holds Gaussians and no triangle",
                   "File → Open shows it as a 3-D scene where a lab reads such files.");
    const Element* face = header.find("face");
    if (face == nullptr || face->count == 0)
        refuseMesh(path, "it holds points and no triangle",
                   "Reconstruct a surface from them first.");
    const qint64 size = file.size() - header.size;
    const uchar* bytes = size > 0 ? file.map(header.size, size) : nullptr;
    const QByteArray copy = bytes == nullptr ? file.readAll() : QByteArray();
    const QByteArrayView data = bytes == nullptr
                                    ? QByteArrayView(copy)
                                    : QByteArrayView(reinterpret_cast<const char*>(bytes), size);
    Reader reader(path, header.encoding, data);
    Vertices vertices;
    std::map<double, Group> groups;
    for (const Element& element : header.elements) {
        if (element.name == "vertex")
            vertices = readVertices(path, element, reader);
        else if (element.name == "face")
            groups = readFaces(path, element, vertices.position.size(), reader);
        else
            skip(element, reader);
        if (!groups.empty())
            break;
    }
    ViewMesh mesh = assemble(std::move(vertices), std::move(groups));
    mesh.up = header.up;
    mesh.front = header.front;
    addTexture(path, header, mesh);
    return mesh;
}

} // namespace vergence
