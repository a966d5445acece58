#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <QImage>
#include <QString>
#include <QStringList>
#include <QVector2D>
#include <QVector3D>

namespace vergence {

/// Triangles that follow one another and share a material: a material of an OBJ file, a primitive
/// of a GLB file, a group of faces of a PLY file.
struct MeshPart {
    QString name;
    std::size_t firstTriangle = 0, triangleCount = 0;
    int texture = -1;                  ///< index of ViewMesh::textures, or -1
    QRgb colour = qRgb(255, 255, 255); ///< of the material, sRGB; multiplies the texture
};

/// Triangles as a file holds them. Seen from outside, corners run counter-clockwise.
struct ViewMesh {
    std::vector<QVector3D> positions;                    ///< [V] units of the scene
    std::vector<std::array<std::uint32_t, 3>> triangles; ///< [F] rows of positions
    std::vector<QVector3D> normals;                      ///< [3F] unit, per corner; or empty
    std::vector<QVector2D> uv;   ///< [3F] per corner, v downwards from the upper edge; or empty
    std::vector<QRgb> colours;   ///< [3F] sRGB, per corner; or empty
    std::vector<MeshPart> parts; ///< cover all triangles in their order
    std::vector<QImage> textures;
    QVector3D up{0, 1, 0}; ///< direction that the file, its format or custom calls up
    QVector3D front;       ///< from the scene towards who looks at it; 0 where nothing says so
    QStringList problems;  ///< what the file lacks although the triangles can be shown; sentences
};

} // namespace vergence
