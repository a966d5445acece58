#include "app/viewport/mesh/mesh_files.h"

#include <cmath>

#include <QBuffer>
#include <QImageReader>

#include "app/viewport/mesh/mesh_readers.h"
#include "core/base/error.h"

namespace vergence {
namespace {

constexpr int kMostPictureMegabytes = 2048; ///< 16,384 × 16,384 pixels in RGBA take 1024

std::string suffixOf(const std::filesystem::path& path)
{
    return QString::fromStdString(path.extension().string()).toLower().toStdString();
}

bool isFinite(const QVector3D& v)
{
    return std::isfinite(v.x()) && std::isfinite(v.y()) && std::isfinite(v.z());
}

} // namespace

MeshFileKind meshFileKind(const std::filesystem::path& path)
{
    const std::string suffix = suffixOf(path);
    if (suffix == ".glb" || suffix == ".obj")
        return MeshFileKind::Mesh;
    if (suffix != ".ply")
        return MeshFileKind::Other;
    return hasPlyFaces(path) ? MeshFileKind::Mesh : MeshFileKind::PlyWithoutFaces;
}

ViewMesh readMeshFile(const std::filesystem::path& path)
{
    const std::string suffix = suffixOf(path);
    const bool isKnown = suffix == ".glb" || suffix == ".obj" || suffix == ".ply";
    if (!isKnown)
        refuseMesh(path, "its kind is not known", "Choose a .glb, .obj or .ply file.");
    ViewMesh mesh = suffix == ".glb"   ? readGlbMesh(path)
                    : suffix == ".obj" ? readObjMesh(path)
                                       : readPlyMesh(path);
    checkMesh(path, mesh);
    return mesh;
}

void refuseMesh(const std::filesystem::path& path, const std::string& why,
                const std::string& remedy)
{
    std::string fault = why; // a library's words may end as a sentence does
    while (!fault.empty() && (fault.back() == '.' || fault.back() == ' '))
        fault.pop_back();
    throw InputError(path.filename().string() + " cannot be shown as a mesh: " + fault + ". " +
                     remedy);
}

QImage decodePicture(const QByteArray& bytes)
{
    QImageReader::setAllocationLimit(kMostPictureMegabytes);
    QBuffer buffer;
    buffer.setData(bytes);
    buffer.open(QIODevice::ReadOnly);
    return QImageReader(&buffer).read().convertToFormat(QImage::Format_RGBA8888);
}

bool takeDirection(const QList<QByteArray>& words, QVector3D& up, QVector3D& front)
{
    if (words.size() != 4 || (words[0] != "up" && words[0] != "front"))
        return false;
    QVector3D direction;
    for (int axis = 0; axis < 3; ++axis) {
        bool isNumber = false;
        direction[axis] = words[axis + 1].toFloat(&isNumber);
        if (!isNumber)
            return false;
    }
    if (!isFinite(direction) || direction.length() < 1e-3F)
        return false;
    (words[0] == "up" ? up : front) = direction.normalized();
    return true;
}

void checkMesh(const std::filesystem::path& path, const ViewMesh& mesh)
{
    if (mesh.triangles.empty())
        refuseMesh(path, "it holds no triangle");
    for (const QVector3D& position : mesh.positions)
        if (!isFinite(position))
            refuseMesh(path, "a coordinate is not a finite number");
    for (const auto& triangle : mesh.triangles)
        for (const std::uint32_t vertex : triangle)
            if (vertex >= mesh.positions.size())
                refuseMesh(path, "a face names vertex " + std::to_string(vertex) + " of " +
                                     std::to_string(mesh.positions.size()));
}

} // namespace vergence
