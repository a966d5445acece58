#include <algorithm>
#include <map>

#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <tiny_obj_loader.h>

#include "app/viewport/mesh/mesh_readers.h"

namespace vergence {
namespace {

QRgb colourOf(const float* rgb)
{
    return QColor::fromRgbF(std::clamp(rgb[0], 0.0F, 1.0F), std::clamp(rgb[1], 0.0F, 1.0F),
                            std::clamp(rgb[2], 0.0F, 1.0F))
        .rgb();
}

/// Triangles of one shape and material, as corners of the file.
struct Bucket {
    QString name;
    int material = -1;
    std::vector<tinyobj::index_t> corners;
};

std::vector<Bucket> sortByMaterial(const std::filesystem::path& path,
                                   const tinyobj::ObjReader& reader)
{
    std::map<std::pair<std::size_t, int>, Bucket> buckets;
    const auto& shapes = reader.GetShapes();
    for (std::size_t s = 0; s < shapes.size(); ++s) {
        const tinyobj::mesh_t& mesh = shapes[s].mesh;
        if (mesh.indices.size() != 3 * mesh.num_face_vertices.size())
            refuseMesh(path, "one of its polygons cannot be cut into triangles",
                       "Export it with triangles alone.");
        for (std::size_t face = 0; face < mesh.num_face_vertices.size(); ++face) {
            const int material = face < mesh.material_ids.size() ? mesh.material_ids[face] : -1;
            Bucket& bucket = buckets[{s, material}];
            bucket.name = QString::fromStdString(shapes[s].name);
            bucket.material = material;
            bucket.corners.insert(bucket.corners.end(), mesh.indices.begin() + 3 * face,
                                  mesh.indices.begin() + 3 * face + 3);
        }
    }
    std::vector<Bucket> result;
    for (auto& [key, bucket] : buckets)
        result.push_back(std::move(bucket));
    return result;
}

/// The pictures of the materials: index of ViewMesh::textures per material, or -1.
std::vector<int> readTextures(const std::filesystem::path& path,
                              const std::vector<tinyobj::material_t>& materials, ViewMesh& mesh)
{
    std::map<QString, int> known;
    std::vector<int> result;
    for (const tinyobj::material_t& material : materials) {
        const QString name = QString::fromStdString(material.diffuse_texname).replace('\\', '/');
        if (name.isEmpty() || known.contains(name)) {
            result.push_back(name.isEmpty() ? -1 : known[name]);
            continue;
        }
        const QDir folder(QString::fromStdString(path.parent_path().string()));
        QFile file(folder.filePath(name));
        QImage picture;
        const bool isThere = file.open(QIODevice::ReadOnly);
        if (isThere)
            picture = decodePicture(file.readAll());
        if (picture.isNull())
            mesh.problems << QStringLiteral("The picture %1 of %2 %3, so the mesh is shown "
                                            "without it. Put the picture beside the file.")
                                 .arg(name, QString::fromStdString(path.filename().string()),
                                      isThere ? QStringLiteral("cannot be decoded")
                                              : QStringLiteral("is missing"));
        else
            mesh.textures.push_back(picture);
        known[name] = picture.isNull() ? -1 : static_cast<int>(mesh.textures.size()) - 1;
        result.push_back(known[name]);
    }
    return result;
}

/// What the corners of all buckets have in common decides which arrays are filled.
void addCorners(const std::filesystem::path& path, const tinyobj::attrib_t& attributes,
                const std::vector<Bucket>& buckets, ViewMesh& mesh)
{
    const std::size_t vertices = attributes.vertices.size() / 3;
    bool hasUv = true, hasNormals = true;
    const bool hasColours = attributes.colors.size() == attributes.vertices.size();
    for (const Bucket& bucket : buckets) {
        for (const tinyobj::index_t& corner : bucket.corners) {
            const auto isIn = [](int index, std::size_t count) {
                return index >= 0 && static_cast<std::size_t>(index) < count;
            };
            if (!isIn(corner.vertex_index, vertices))
                refuseMesh(path, "a face names a vertex that is not there");
            hasUv = hasUv && isIn(corner.texcoord_index, attributes.texcoords.size() / 2);
            hasNormals = hasNormals && isIn(corner.normal_index, attributes.normals.size() / 3);
        }
    }
    for (const Bucket& bucket : buckets) {
        for (std::size_t i = 0; i < bucket.corners.size(); i += 3) {
            auto& triangle = mesh.triangles.emplace_back();
            for (std::size_t k = 0; k < 3; ++k) {
                const tinyobj::index_t& corner = bucket.corners[i + k];
                triangle[k] = static_cast<std::uint32_t>(corner.vertex_index);
                if (hasUv) {
                    const float* uv = attributes.texcoords.data() + 2 * corner.texcoord_index;
                    mesh.uv.emplace_back(uv[0], 1 - uv[1]);
                }
                if (hasNormals) {
                    const float* n = attributes.normals.data() + 3 * corner.normal_index;
                    mesh.normals.push_back(QVector3D(n[0], n[1], n[2]).normalized());
                }
                if (hasColours)
                    mesh.colours.push_back(
                        colourOf(attributes.colors.data() + 3 * corner.vertex_index));
            }
        }
    }
}

/// Comments at the beginning of the file may say how the scene stands.
void takeDirections(const std::filesystem::path& path, ViewMesh& mesh)
{
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::ReadOnly))
        return;
    constexpr int kMostLines = 100, kMostLetters = 200;
    for (int i = 0; i < kMostLines; ++i) {
        const QByteArray line = file.readLine(kMostLetters);
        if (!line.startsWith('#'))
            return;
        takeDirection(line.mid(1).simplified().split(' '), mesh.up, mesh.front);
    }
}

} // namespace

ViewMesh readObjMesh(const std::filesystem::path& path)
{
    if (!QFileInfo(QString::fromStdString(path.string())).isReadable())
        refuseMesh(path, "it cannot be opened", "Check the name and the rights of the file.");
    tinyobj::ObjReaderConfig config;
    config.vertex_color = false; // only those that are there
    tinyobj::ObjReader reader;
    const bool isRead = reader.ParseFromFile(path.string(), config);
    if (!isRead)
        refuseMesh(path, QString::fromStdString(reader.Error()).simplified().toStdString());
    ViewMesh mesh;
    takeDirections(path, mesh);
    if (QString::fromStdString(reader.Warning()).contains(QLatin1String("material file")))
        mesh.problems << QStringLiteral("The material file of %1 is missing, so the mesh is shown "
                                        "without its pictures. Put the .mtl file beside it.")
                             .arg(QString::fromStdString(path.filename().string()));
    const std::vector<Bucket> buckets = sortByMaterial(path, reader);
    const auto& materials = reader.GetMaterials();
    const std::vector<int> textures = readTextures(path, materials, mesh);
    const std::vector<float>& xyz = reader.GetAttrib().vertices;
    for (std::size_t i = 0; i + 2 < xyz.size(); i += 3)
        mesh.positions.emplace_back(xyz[i], xyz[i + 1], xyz[i + 2]);
    std::size_t first = 0;
    for (const Bucket& bucket : buckets) {
        MeshPart part{bucket.name, first, bucket.corners.size() / 3};
        if (bucket.material >= 0 && bucket.material < static_cast<int>(materials.size())) {
            const tinyobj::material_t& material = materials[bucket.material];
            part.texture = textures[bucket.material];
            part.colour = colourOf(material.diffuse);
            if (part.name.isEmpty())
                part.name = QString::fromStdString(material.name);
        }
        first += part.triangleCount;
        mesh.parts.push_back(part);
    }
    addCorners(path, reader.GetAttrib(), buckets, mesh);
    return mesh;
}

} // namespace vergence
