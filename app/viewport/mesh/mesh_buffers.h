#pragma once

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
    QOpenGLVertexArrayObject& corners() { return m_corners; }
    QOpenGLVertexArrayObject& coarse() { return m_coarse; } ///< of PreparedMesh::coarse
    QOpenGLVertexArrayObject& boundary() { return m_boundary; }
    QOpenGLVertexArrayObject& nonManifold() { return m_nonManifold; }

private:
    /// Bytes of a buffer, or rows of a level of a texture.
    struct Piece {
        unsigned buffer = 0, texture = 0;
        const void* bytes = nullptr;
        std::size_t offset = 0, size = 0;
        int level = 0, row = 0, rows = 0, width = 0;
    };

    unsigned makeBuffer(const void* bytes, std::size_t size);
    void makeCorners(QOpenGLVertexArrayObject& array, const MeshSurface& surface);
    void makeLines(QOpenGLVertexArrayObject& array, const std::vector<MeshLine>& lines);
    void makeTexture(const std::vector<QImage>& levels);
    void send(const Piece& piece);

    QOpenGLFunctions_3_3_Core& m_gl;
    std::shared_ptr<const PreparedMesh> m_mesh;
    QOpenGLVertexArrayObject m_corners, m_coarse, m_boundary, m_nonManifold;
    std::vector<unsigned> m_buffers, m_textures;
    std::vector<Piece> m_pieces;
    std::size_t m_next = 0;
};

} // namespace vergence
