#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <QOpenGLFunctions_3_3_Core>
#include <QOpenGLVertexArrayObject>

#include "app/viewport/mesh/prepared_mesh.h"

namespace vergence {

/// A mesh in the memory of the graphics card. It goes there in pieces, so that the window stays
/// awake. Made, used and destroyed with the same context current.
class MeshBuffers {
public:
    MeshBuffers(QOpenGLFunctions_3_3_Core& gl, std::shared_ptr<const PreparedMesh> mesh);
    ~MeshBuffers();
    MeshBuffers(const MeshBuffers&) = delete;
    MeshBuffers& operator=(const MeshBuffers&) = delete;

    /// Sends pieces for about `milliseconds`; without a limit everything. True once all is there.
    bool advance(std::optional<double> milliseconds);
    bool isComplete() const { return m_next == m_pieces.size(); }
    double fraction() const; ///< of the pieces that have been sent

    const PreparedMesh& mesh() const { return *m_mesh; }
    std::shared_ptr<const PreparedMesh> source() const { return m_mesh; }
    unsigned texture(int index) const { return m_textures[static_cast<std::size_t>(index)]; }
    /// Triangles that share a buffer.
    struct Block {
        QOpenGLVertexArrayObject array;
        std::size_t firstTriangle = 0, triangleCount = 0;
    };
    using Blocks = std::vector<std::unique_ptr<Block>>; ///< in the order of their triangles
    const Blocks& surface() const { return m_surface; }
    const Blocks& coarse() const { return m_coarse; } ///< of PreparedMesh::coarse
    QOpenGLVertexArrayObject& boundary() { return m_boundary; }
    QOpenGLVertexArrayObject& nonManifold() { return m_nonManifold; }

private:
    void makeBuffer(const void* bytes, std::size_t size);
    void planSurface(Blocks& blocks, const MeshSurface& surface);
    void makeBlock(Blocks& blocks, const MeshSurface& surface, std::size_t first);
    void planLines(QOpenGLVertexArrayObject& array, const std::vector<MeshLine>& lines);
    void planTexture(const std::vector<QImage>& levels);
    void planLevel(unsigned texture, int number, const QImage& level);

    QOpenGLFunctions_3_3_Core& m_gl;
    std::shared_ptr<const PreparedMesh> m_mesh;
    Blocks m_surface, m_coarse;
    QOpenGLVertexArrayObject m_boundary, m_nonManifold;
    std::vector<unsigned> m_buffers, m_textures;
    std::vector<std::function<void()>> m_pieces; ///< each some 2 MB
    std::size_t m_next = 0;
};

} // namespace vergence
