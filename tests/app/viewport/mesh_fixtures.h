#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <QBuffer>
#include <QDataStream>
#include <QFile>
#include <QImage>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QString>
#include <QVector2D>
#include <QVector3D>

#include "app/viewport/mesh/view_mesh.h"

/// Files of a box of 2 × 4 × 6 units around the origin, written by hand: known answers for readers
/// and for the mesh view.
namespace vergence::test {

inline constexpr double kBoxVolume = 48;

/// A square of the box: corners counter-clockwise from outside, its normal.
struct BoxSide {
    std::array<QVector3D, 4> corners;
    QVector3D normal;
};

inline std::vector<BoxSide> boxSides()
{
    const QVector3D half(1, 2, 3);
    std::vector<BoxSide> sides;
    for (int axis = 0; axis < 3; ++axis) {
        for (const float sign : {1.0F, -1.0F}) {
            QVector3D normal, u, v;
            normal[axis] = sign;
            u[(axis + 1) % 3] = 1;
            v[(axis + 2) % 3] = sign;
            BoxSide side;
            side.normal = normal;
            const float corners[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
            for (std::size_t i = 0; i < 4; ++i)
                side.corners[i] = (normal + corners[i][0] * u + corners[i][1] * v) * half;
            sides.push_back(side);
        }
    }
    return sides;
}

/// Where corner i of a side lies on the picture, v downwards.
inline QVector2D uvOf(std::size_t i)
{
    const QVector2D uv[] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    return uv[i];
}

/// Quarters of red, green, blue and yellow, from the upper left row by row.
inline QImage quarters(int side = 64)
{
    QImage image(side, side, QImage::Format_RGB32);
    const QRgb colours[] = {qRgb(220, 40, 40), qRgb(40, 200, 60), qRgb(50, 80, 230),
                            qRgb(230, 210, 40)};
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x)
            image.setPixel(x, y, colours[2 * (2 * y / side) + 2 * x / side]);
    return image;
}

inline QByteArray pngOf(const QImage& image)
{
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return buffer.data();
}

inline void write(const QString& path, const QByteArray& bytes)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
        qFatal("%s cannot be written", qPrintable(path));
}

template <class T>
void append(QByteArray& bytes, T value)
{
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The parts of a GLB file, so that a test can spoil one of them.
struct Glb {
    QJsonObject json;
    QByteArray data;

    QByteArray bytes() const
    {
        QByteArray text = QJsonDocument(json).toJson(QJsonDocument::Compact), binary = data;
        text.append(QByteArray((4 - text.size() % 4) % 4, ' '));
        binary.append(QByteArray((4 - binary.size() % 4) % 4, '\0'));
        QByteArray file("glTF");
        append<quint32>(file, 2);
        append<quint32>(file, static_cast<quint32>(28 + text.size() + binary.size()));
        append<quint32>(file, static_cast<quint32>(text.size()));
        file += "JSON" + text;
        append<quint32>(file, static_cast<quint32>(binary.size()));
        file += QByteArray("BIN\0", 4) + binary;
        return file;
    }
};

/// Positions in a system with z upwards; the node turns it to y upwards, as glTF has it: there the
/// box is 2 × 6 × 4. `sides` of the six are written.
inline Glb boxGlb(std::size_t sides = 6, const QImage& picture = quarters())
{
    QByteArray positions, normals, uv, indices;
    const auto all = boxSides();
    for (std::size_t s = 0; s < sides; ++s) {
        for (std::size_t i = 0; i < 4; ++i) {
            for (int k = 0; k < 3; ++k) {
                append<float>(positions, all[s].corners[i][k]);
                append<float>(normals, all[s].normal[k]);
            }
            append<float>(uv, uvOf(i).x());
            append<float>(uv, uvOf(i).y());
        }
        for (const int i : {0, 1, 2, 0, 2, 3})
            append<quint16>(indices, static_cast<quint16>(4 * s + static_cast<std::size_t>(i)));
    }
    Glb glb;
    QJsonArray views, accessors;
    const auto addView = [&](const QByteArray& bytes) {
        views.append(QJsonObject{
            {"buffer", 0}, {"byteOffset", glb.data.size()}, {"byteLength", bytes.size()}});
        glb.data += bytes;
        glb.data.append(QByteArray((4 - glb.data.size() % 4) % 4, '\0'));
        return views.size() - 1;
    };
    const int vertices = static_cast<int>(4 * sides), corners = static_cast<int>(6 * sides);
    const auto addTable = [&](const QByteArray& bytes, int type, int count, const char* shape) {
        accessors.append(QJsonObject{{"bufferView", addView(bytes)},
                                     {"componentType", type},
                                     {"count", count},
                                     {"type", shape},
                                     {"min", QJsonArray{-1, -2, -3}},
                                     {"max", QJsonArray{1, 2, 3}}});
        return accessors.size() - 1;
    };
    const QJsonObject attributes{{"POSITION", addTable(positions, 5126, vertices, "VEC3")},
                                 {"NORMAL", addTable(normals, 5126, vertices, "VEC3")},
                                 {"TEXCOORD_0", addTable(uv, 5126, vertices, "VEC2")}};
    const auto indexTable = addTable(indices, 5123, corners, "SCALAR");
    const auto pictureView = addView(pngOf(picture));
    const QJsonObject primitive{
        {"attributes", attributes}, {"indices", indexTable}, {"material", 0}};
    glb.json = {
        {"asset", QJsonObject{{"version", "2.0"}}},
        {"scene", 0},
        {"scenes", QJsonArray{QJsonObject{{"nodes", QJsonArray{0}}}}},
        {"nodes", QJsonArray{QJsonObject{{"mesh", 0},
                                         {"rotation", QJsonArray{-0.70710678, 0, 0, 0.70710678}}}}},
        {"meshes", QJsonArray{QJsonObject{{"name", "box"}, {"primitives", QJsonArray{primitive}}}}},
        {"materials",
         QJsonArray{QJsonObject{{"pbrMetallicRoughness",
                                 QJsonObject{{"baseColorTexture", QJsonObject{{"index", 0}}}}}}}},
        {"textures", QJsonArray{QJsonObject{{"source", 0}}}},
        {"images", QJsonArray{QJsonObject{{"bufferView", pictureView}, {"mimeType", "image/png"}}}},
        {"accessors", accessors},
        {"bufferViews", views},
        {"buffers", QJsonArray{QJsonObject{{"byteLength", glb.data.size()}}}}};
    return glb;
}

/// Eight vertices, six squares; `texture` names the picture of its material, beside it.
inline void writeBoxObj(const QString& folder, const QString& texture = QStringLiteral("box.png"))
{
    QByteArray obj = "mtllib box.mtl\nusemtl skin\n";
    std::vector<QVector3D> vertices;
    QByteArray faces;
    for (const BoxSide& side : boxSides()) {
        faces += "f";
        for (std::size_t i = 0; i < 4; ++i) {
            auto found = std::find(vertices.begin(), vertices.end(), side.corners[i]);
            if (found == vertices.end())
                found = vertices.insert(vertices.end(), side.corners[i]);
            const auto row = found - vertices.begin() + 1;
            faces += ' ' + QByteArray::number(qlonglong(row)) + '/' +
                     QByteArray::number(qulonglong(i + 1));
        }
        faces += '\n';
    }
    for (const QVector3D& v : vertices)
        obj += QStringLiteral("v %1 %2 %3\n").arg(v.x()).arg(v.y()).arg(v.z()).toLatin1();
    for (std::size_t i = 0; i < 4; ++i)
        obj += QStringLiteral("vt %1 %2\n").arg(uvOf(i).x()).arg(1 - uvOf(i).y()).toLatin1();
    write(folder + "/box.obj", obj + faces);
    write(folder + "/box.mtl", "newmtl skin\nKd 1 1 1\nmap_Kd " + texture.toLatin1() + '\n');
    write(folder + "/box.png", pngOf(quarters()));
}

/// Squares with a colour per vertex, red where x is positive and green elsewhere. `format` as in
/// the header. `sides` of the six are written.
inline QByteArray boxPly(const QByteArray& format, std::size_t sides = 6)
{
    const bool isText = format == "ascii";
    QByteArray header = "ply\nformat " + format + " 1.0\ncomment made for a test\nelement vertex " +
                        QByteArray::number(qulonglong(4 * sides)) +
                        "\nproperty float x\nproperty float y\nproperty float z\n"
                        "property uchar red\nproperty uchar green\nproperty uchar blue\n"
                        "element face " +
                        QByteArray::number(qulonglong(sides)) +
                        "\nproperty list uchar int vertex_indices\nend_header\n";
    QByteArray data;
    QDataStream stream(&data, QIODevice::WriteOnly);
    stream.setFloatingPointPrecision(QDataStream::SinglePrecision);
    stream.setByteOrder(format == "binary_big_endian" ? QDataStream::BigEndian
                                                      : QDataStream::LittleEndian);
    const auto all = boxSides();
    for (std::size_t s = 0; s < sides; ++s) {
        for (const QVector3D& v : all[s].corners) {
            const quint8 red = v.x() > 0 ? 255 : 0, green = v.x() > 0 ? 0 : 255;
            if (isText)
                data += QStringLiteral("%1 %2 %3 %4 %5 0\n")
                            .arg(v.x())
                            .arg(v.y())
                            .arg(v.z())
                            .arg(red)
                            .arg(green)
                            .toLatin1();
            else
                stream << v.x() << v.y() << v.z() << red << green << quint8(0);
        }
    }
    for (std::size_t s = 0; s < sides; ++s) {
        const auto first = static_cast<qint32>(4 * s);
        if (isText)
            data += QStringLiteral("4 %1 %2 %3 %4\n")
                        .arg(first)
                        .arg(first + 1)
                        .arg(first + 2)
                        .arg(first + 3)
                        .toLatin1();
        else
            stream << quint8(4) << first << first + 1 << first + 2 << first + 3;
    }
    return header + data;
}

/// A wavy square of 2 · cells² triangles, with texture coordinates and no picture.
inline ViewMesh waves(int cells)
{
    ViewMesh mesh;
    std::vector<QVector2D> uv;
    for (int y = 0; y <= cells; ++y) {
        for (int x = 0; x <= cells; ++x) {
            uv.emplace_back(static_cast<float>(x) / static_cast<float>(cells),
                            static_cast<float>(y) / static_cast<float>(cells));
            const float height = 0.1F * std::sin(12 * uv.back().x()) * std::cos(9 * uv.back().y());
            mesh.positions.emplace_back(uv.back().x(), height, uv.back().y());
        }
    }
    const auto row = [cells](int x, int y) {
        return static_cast<std::uint32_t>(y * (cells + 1) + x);
    };
    for (int y = 0; y < cells; ++y) {
        for (int x = 0; x < cells; ++x) {
            mesh.triangles.push_back({row(x, y), row(x, y + 1), row(x + 1, y)});
            mesh.triangles.push_back({row(x + 1, y), row(x, y + 1), row(x + 1, y + 1)});
        }
    }
    for (const auto& triangle : mesh.triangles)
        for (const std::uint32_t vertex : triangle)
            mesh.uv.push_back(uv[vertex]);
    mesh.parts = {{{}, 0, mesh.triangles.size()}};
    return mesh;
}

/// A file of Gaussians as trainers write it, with one of them and few of the properties.
inline QByteArray splatPly()
{
    return "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
           "property float z\nproperty float f_dc_0\nproperty float opacity\nend_header\n"
           "0 0 0 1 1\n";
}

} // namespace vergence::test
