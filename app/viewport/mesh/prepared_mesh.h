#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <QImage>
#include <QString>
#include <QStringList>
#include <QVector3D>

#include "app/viewport/mesh/view_mesh.h"

namespace vergence {

/// One corner of a triangle as the graphics card reads it.
struct MeshCorner {
    std::array<float, 3> position{};
    std::array<float, 2> uv{};
    std::array<std::uint8_t, 4> colour{255, 255, 255, 255}; ///< sRGB of vertex and material
    std::array<std::int16_t, 3> normal{};                   ///< unit, times 32767
    std::uint16_t group = 0;                                ///< of the face, for its tint
    std::array<std::uint8_t, 4> far{255, 255, 255, 255};    ///< mean sRGB of the texture around
};
static_assert(sizeof(MeshCorner) == 36);

/// Two ends of an edge.
using MeshLine = std::array<QVector3D, 2>;

/// Triangles that are drawn with one texture.
struct MeshBatch {
    std::size_t firstTriangle = 0, triangleCount = 0;
    int texture = -1; ///< row of PreparedMesh::textures, or -1
};

/// Corners and how they are drawn.
struct MeshSurface {
    std::vector<MeshCorner> corners; ///< [3F], three in a row are a triangle
    std::vector<MeshBatch> batches;  ///< cover all triangles in their order

    std::size_t triangleCount() const { return corners.size() / 3; }
};

/// A mesh as it is drawn and measured. Immutable once it was made.
struct PreparedMesh {
    QString name; ///< of the file
    MeshSurface surface;
    /// Reduced, for a camera that moves; empty where the mesh is small.
    MeshSurface coarse;
    std::vector<std::vector<QImage>> textures; ///< each followed by its halves; RGBA8888
    std::vector<MeshLine> boundary, nonManifold;
    QVector3D lowest, highest; ///< corners of the bounding box
    QVector3D up, front;       ///< as in ViewMesh
    std::size_t vertexCount = 0, componentCount = 0, partCount = 0;
    bool hasUv = false, hasColours = false;
    QStringList problems;

    std::size_t triangleCount() const { return surface.triangleCount(); }
    bool hasTexture() const { return !textures.empty(); }
    QVector3D centre() const { return (lowest + highest) / 2; }
    float radius() const; ///< of a sphere around the bounding box; above 0
};

/// Brings a mesh into that form; normals that the file lacks are computed. Seconds for a million
/// triangles: not for the GUI thread.
PreparedMesh prepareMesh(ViewMesh&& mesh, const QString& name);

/// A half space that is cut away: points p with dot(normal, p) > offset.
struct MeshSection {
    QVector3D normal;
    float offset = 0;
    bool hides(const QVector3D& p) const { return QVector3D::dotProduct(normal, p) > offset; }
};

/// The nearest point where a ray meets the mesh and is not cut away; `direction` of any length.
std::optional<QVector3D> firstHit(const PreparedMesh& mesh, const QVector3D& origin,
                                  const QVector3D& direction,
                                  const std::optional<MeshSection>& section);

} // namespace vergence
