#include "app/viewport/mesh/prepared_mesh.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/viewport/mesh/coarse_mesh.h"
#include "app/viewport/mesh/mesh_topology.h"

namespace vergence {
namespace {

constexpr std::size_t kLarge = 80'000; ///< triangles; more have a coarse form
constexpr int kCoarseCells = 80;       ///< along the longest side: some 20,000 triangles

std::array<std::int16_t, 3> packed(const QVector3D& normal)
{
    const auto part = [](float x) {
        return static_cast<std::int16_t>(std::lround(std::clamp(x, -1.0F, 1.0F) * 32767));
    };
    return {part(normal.x()), part(normal.y()), part(normal.z())};
}

std::array<std::uint8_t, 4> product(QRgb a, QRgb b)
{
    const auto part = [](int x, int y) { return static_cast<std::uint8_t>((x * y + 127) / 255); };
    return {part(qRed(a), qRed(b)), part(qGreen(a), qGreen(b)), part(qBlue(a), qBlue(b)), 255};
}

std::vector<QImage> withHalves(QImage picture)
{
    std::vector<QImage> levels{std::move(picture)};
    while (std::max(levels.back().width(), levels.back().height()) > 1) {
        const QImage& last = levels.back();
        levels.push_back(last.scaled(std::max(1, last.width() / 2), std::max(1, last.height() / 2),
                                     Qt::IgnoreAspectRatio, Qt::SmoothTransformation)
                             .convertToFormat(QImage::Format_RGBA8888));
    }
    return levels;
}

std::vector<MeshLine> linesOf(const std::vector<MeshEdge>& edges,
                              const std::vector<QVector3D>& positions)
{
    std::vector<MeshLine> lines;
    lines.reserve(edges.size());
    for (const auto& [a, b] : edges)
        lines.push_back({positions[a], positions[b]});
    return lines;
}

void addCorners(const ViewMesh& mesh, const MeshTopology& topology, PreparedMesh& prepared)
{
    std::vector<QVector3D> smooth;
    if (mesh.normals.empty())
        smooth = smoothNormals(mesh.positions, mesh.triangles, topology);
    prepared.surface.corners.resize(3 * mesh.triangles.size());
    for (std::size_t p = 0; p < mesh.parts.size(); ++p) {
        const MeshPart& part = mesh.parts[p];
        for (std::size_t f = part.firstTriangle; f < part.firstTriangle + part.triangleCount; ++f) {
            // One part alone says nothing; then the pieces that hang together are told apart.
            const std::size_t group = mesh.parts.size() > 1 ? p : topology.component[f];
            for (std::size_t k = 0; k < 3; ++k) {
                const std::size_t i = 3 * f + k;
                const std::uint32_t vertex = mesh.triangles[f][k];
                const QVector3D& at = mesh.positions[vertex];
                MeshCorner& corner = prepared.surface.corners[i];
                corner.position = {at.x(), at.y(), at.z()};
                if (!mesh.uv.empty())
                    corner.uv = {mesh.uv[i].x(), mesh.uv[i].y()};
                corner.colour = product(
                    mesh.colours.empty() ? qRgb(255, 255, 255) : mesh.colours[i], part.colour);
                corner.normal = packed(mesh.normals.empty() ? smooth[vertex] : mesh.normals[i]);
                corner.group = static_cast<std::uint16_t>(group);
            }
        }
    }
}

/// Colour of a texture in the middle of a triangle, and half-way from there to its corners.
QVector3D meanInside(const QImage& picture, const std::array<QVector2D, 3>& uv)
{
    const QVector2D middle = (uv[0] + uv[1] + uv[2]) / 3;
    QVector3D sum;
    for (const QVector2D& at :
         {middle, (middle + uv[0]) / 2, (middle + uv[1]) / 2, (middle + uv[2]) / 2}) {
        const auto pixel = [](float part, int size) {
            return std::clamp(static_cast<int>(part * static_cast<float>(size)), 0, size - 1);
        };
        const QRgb colour =
            picture.pixel(pixel(at.x(), picture.width()), pixel(at.y(), picture.height()));
        sum += QVector3D(qRed(colour), qGreen(colour), qBlue(colour));
    }
    return sum / 4;
}

/// Triangles smaller than a few pixels take the mean of the texture around their vertices: halves
/// of a texture mix what lies side by side in it, but not on the mesh.
void addFarColours(const ViewMesh& mesh, const MeshTopology& topology, MeshSurface& surface)
{
    std::vector<QVector3D> sum(mesh.positions.size());
    std::vector<float> weight(mesh.positions.size(), 0.0F);
    for (const MeshBatch& batch : surface.batches) {
        if (batch.texture < 0)
            continue;
        const QImage& picture = mesh.textures[static_cast<std::size_t>(batch.texture)];
        for (std::size_t f = batch.firstTriangle; f < batch.firstTriangle + batch.triangleCount;
             ++f) {
            const auto& rows = mesh.triangles[f];
            const QVector3D a = mesh.positions[rows[0]];
            const float area =
                QVector3D::crossProduct(mesh.positions[rows[1]] - a, mesh.positions[rows[2]] - a)
                    .length();
            const QVector3D colour =
                meanInside(picture, {mesh.uv[3 * f], mesh.uv[3 * f + 1], mesh.uv[3 * f + 2]});
            for (const std::uint32_t row : rows) {
                sum[topology.welded[row]] += area * colour;
                weight[topology.welded[row]] += area;
            }
        }
    }
    for (std::size_t i = 0; i < surface.corners.size(); ++i) {
        const std::uint32_t row = topology.welded[mesh.triangles[i / 3][i % 3]];
        for (int k = 0; k < 3 && weight[row] > 0; ++k)
            surface.corners[i].far[static_cast<std::size_t>(k)] =
                static_cast<std::uint8_t>(std::lround(sum[row][k] / weight[row]));
    }
}

void addBounds(PreparedMesh& prepared)
{
    constexpr float kFar = std::numeric_limits<float>::max();
    prepared.lowest = {kFar, kFar, kFar};
    prepared.highest = -prepared.lowest;
    for (const MeshCorner& corner : prepared.surface.corners) {
        for (int axis = 0; axis < 3; ++axis) {
            const float x = corner.position[static_cast<std::size_t>(axis)];
            prepared.lowest[axis] = std::min(prepared.lowest[axis], x);
            prepared.highest[axis] = std::max(prepared.highest[axis], x);
        }
    }
}

} // namespace

float PreparedMesh::radius() const
{
    const float half = (highest - lowest).length() / 2;
    return half > 0 && std::isfinite(half) ? half : 1;
}

PreparedMesh prepareMesh(ViewMesh&& mesh, const QString& name)
{
    const MeshTopology topology = findTopology(mesh.positions, mesh.triangles);
    PreparedMesh prepared;
    prepared.name = name;
    prepared.up = mesh.up;
    prepared.front = mesh.front;
    prepared.vertexCount = topology.vertexCount;
    prepared.componentCount = topology.componentCount;
    prepared.partCount = mesh.parts.size();
    prepared.hasUv = !mesh.uv.empty();
    prepared.hasColours =
        !mesh.colours.empty() || std::any_of(mesh.parts.begin(), mesh.parts.end(), [](auto& part) {
            return part.colour != qRgb(255, 255, 255);
        });
    prepared.problems = mesh.problems;
    prepared.boundary = linesOf(topology.boundary, mesh.positions);
    prepared.nonManifold = linesOf(topology.nonManifold, mesh.positions);
    for (const MeshPart& part : mesh.parts) {
        auto& batches = prepared.surface.batches;
        const int texture = mesh.uv.empty() ? -1 : part.texture;
        if (batches.empty() || batches.back().texture != texture)
            batches.push_back({part.firstTriangle, 0, texture});
        batches.back().triangleCount += part.triangleCount;
    }
    addCorners(mesh, topology, prepared);
    if (prepared.hasUv && !mesh.textures.empty())
        addFarColours(mesh, topology, prepared.surface);
    addBounds(prepared);
    if (prepared.triangleCount() > kLarge)
        prepared.coarse =
            coarsen(prepared.surface, prepared.lowest, prepared.highest, kCoarseCells);
    if (prepared.hasUv)
        for (QImage& picture : mesh.textures)
            prepared.textures.push_back(withHalves(std::move(picture)));
    return prepared;
}

/// Moller and Trumbore, Fast, Minimum Storage Ray/Triangle Intersection (1997).
std::optional<QVector3D> firstHit(const PreparedMesh& mesh, const QVector3D& origin,
                                  const QVector3D& direction,
                                  const std::optional<MeshSection>& section)
{
    const auto point = [&mesh](std::size_t i) {
        const auto& at = mesh.surface.corners[i].position;
        return QVector3D(at[0], at[1], at[2]);
    };
    float nearest = std::numeric_limits<float>::max();
    for (std::size_t i = 0; i + 2 < mesh.surface.corners.size(); i += 3) {
        const QVector3D a = point(i), ab = point(i + 1) - a, ac = point(i + 2) - a;
        const QVector3D p = QVector3D::crossProduct(direction, ac);
        const float determinant = QVector3D::dotProduct(ab, p);
        if (determinant == 0)
            continue;
        const QVector3D toOrigin = origin - a;
        const float u = QVector3D::dotProduct(toOrigin, p) / determinant;
        if (!(u >= 0 && u <= 1))
            continue;
        const QVector3D q = QVector3D::crossProduct(toOrigin, ab);
        const float v = QVector3D::dotProduct(direction, q) / determinant;
        if (!(v >= 0 && u + v <= 1))
            continue;
        const float t = QVector3D::dotProduct(ac, q) / determinant;
        if (t > 0 && t < nearest && !(section && section->hides(origin + t * direction)))
            nearest = t;
    }
    if (nearest == std::numeric_limits<float>::max())
        return std::nullopt;
    return origin + nearest * direction;
}

} // namespace vergence
