#pragma once

#include <QPainter>
#include <QPalette>

#include "app/viewport/mesh/mesh_scene.h"

namespace vergence {

/// Colours of edges and faces that deserve attention, the same in the drawing and in its legend.
QColor boundaryColour();
QColor nonManifoldColour();
QColor backFaceColour();

/// Text and marks over a mesh: the measured distance, the legend of edges, what is going on.
void paintMeshOverlay(QPainter& painter, const MeshScene& scene, QSizeF viewport,
                      const QPalette& palette);

/// "12 triangles", "8 vertices", …: what the row below the view says of the mesh.
QStringList meshFacts(const PreparedMesh& mesh);

} // namespace vergence
