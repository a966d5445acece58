#include "app/viewport/mesh/mesh_buffers.h"

#include <algorithm>
#include <cstddef>

#include <QElapsedTimer>

namespace vergence {
namespace {

constexpr std::size_t kPieceBytes = 1 << 21;

} // namespace

MeshBuffers::MeshBuffers(QOpenGLFunctions_3_3_Core& gl, std::shared_ptr<const PreparedMesh> mesh)
    : m_gl(gl),
      m_mesh(std::move(mesh))
{
    makeCorners(m_coarse, m_mesh->coarse);
    makeCorners(m_corners, m_mesh->surface);
    makeLines(m_boundary, m_mesh->boundary);
    makeLines(m_nonManifold, m_mesh->nonManifold);
    for (const auto& levels : m_mesh->textures)
        makeTexture(levels);
}

MeshBuffers::~MeshBuffers()
{
    m_gl.glDeleteBuffers(static_cast<GLsizei>(m_buffers.size()), m_buffers.data());
    m_gl.glDeleteTextures(static_cast<GLsizei>(m_textures.size()), m_textures.data());
}

double MeshBuffers::fraction() const
{
    return m_pieces.empty() ? 1
                            : static_cast<double>(m_next) / static_cast<double>(m_pieces.size());
}

/// Bound to GL_ARRAY_BUFFER; its bytes follow in pieces.
unsigned MeshBuffers::makeBuffer(const void* bytes, std::size_t size)
{
    unsigned id = 0;
    m_gl.glGenBuffers(1, &id);
    m_gl.glBindBuffer(GL_ARRAY_BUFFER, id);
    m_gl.glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(size), nullptr, GL_STATIC_DRAW);
    m_buffers.push_back(id);
    for (std::size_t at = 0; at < size; at += kPieceBytes) {
        Piece piece;
        piece.buffer = id;
        piece.bytes = static_cast<const std::byte*>(bytes) + at;
        piece.offset = at;
        piece.size = std::min(kPieceBytes, size - at);
        m_pieces.push_back(piece);
    }
    return id;
}

void MeshBuffers::makeCorners(QOpenGLVertexArrayObject& vertexArray, const MeshSurface& surface)
{
    vertexArray.create();
    if (surface.corners.empty())
        return;
    const QOpenGLVertexArrayObject::Binder array(&vertexArray);
    makeBuffer(surface.corners.data(), surface.corners.size() * sizeof(MeshCorner));
    const auto attribute = [this](unsigned location, int size, GLenum type, bool isNormalised,
                                  std::size_t offset) {
        m_gl.glEnableVertexAttribArray(location);
        m_gl.glVertexAttribPointer(location, size, type, isNormalised ? GL_TRUE : GL_FALSE,
                                   sizeof(MeshCorner), reinterpret_cast<const void*>(offset));
    };
    attribute(0, 3, GL_FLOAT, false, offsetof(MeshCorner, position));
    attribute(1, 2, GL_FLOAT, false, offsetof(MeshCorner, uv));
    attribute(2, 4, GL_UNSIGNED_BYTE, true, offsetof(MeshCorner, colour));
    attribute(3, 3, GL_SHORT, true, offsetof(MeshCorner, normal));
    attribute(4, 1, GL_UNSIGNED_SHORT, false, offsetof(MeshCorner, group));
}

void MeshBuffers::makeLines(QOpenGLVertexArrayObject& vertexArray,
                            const std::vector<MeshLine>& lines)
{
    vertexArray.create();
    if (lines.empty())
        return;
    const QOpenGLVertexArrayObject::Binder array(&vertexArray);
    makeBuffer(lines.data(), lines.size() * sizeof(MeshLine));
    for (const unsigned end : {0U, 1U}) {
        m_gl.glEnableVertexAttribArray(end);
        m_gl.glVertexAttribPointer(end, 3, GL_FLOAT, GL_FALSE, sizeof(MeshLine),
                                   reinterpret_cast<const void*>(end * sizeof(QVector3D)));
        m_gl.glVertexAttribDivisor(end, 1);
    }
}

void MeshBuffers::makeTexture(const std::vector<QImage>& levels)
{
    GLint most = 0;
    m_gl.glGetIntegerv(GL_MAX_TEXTURE_SIZE, &most);
    std::size_t first = 0; // the largest that the card takes
    while (first + 1 < levels.size() &&
           std::max(levels[first].width(), levels[first].height()) > most)
        ++first;
    unsigned id = 0;
    m_gl.glGenTextures(1, &id);
    m_gl.glBindTexture(GL_TEXTURE_2D, id);
    m_gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
    m_gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    m_gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL,
                         static_cast<GLint>(levels.size() - first - 1));
    m_textures.push_back(id);
    for (std::size_t i = first; i < levels.size(); ++i) {
        const QImage& level = levels[i];
        const auto rowBytes = static_cast<std::size_t>(level.bytesPerLine());
        const int rows = std::max(1, static_cast<int>(kPieceBytes / rowBytes));
        m_gl.glTexImage2D(GL_TEXTURE_2D, static_cast<GLint>(i - first), GL_RGBA8, level.width(),
                          level.height(), 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
        for (int row = 0; row < level.height(); row += rows) {
            Piece piece;
            piece.texture = id;
            piece.bytes = level.constScanLine(row);
            piece.level = static_cast<int>(i - first);
            piece.row = row;
            piece.rows = std::min(rows, level.height() - row);
            piece.width = level.width();
            m_pieces.push_back(piece);
        }
    }
}

void MeshBuffers::send(const Piece& piece)
{
    if (piece.buffer != 0) {
        m_gl.glBindBuffer(GL_ARRAY_BUFFER, piece.buffer);
        m_gl.glBufferSubData(GL_ARRAY_BUFFER, static_cast<GLintptr>(piece.offset),
                             static_cast<GLsizeiptr>(piece.size), piece.bytes);
        return;
    }
    m_gl.glBindTexture(GL_TEXTURE_2D, piece.texture);
    m_gl.glTexSubImage2D(GL_TEXTURE_2D, piece.level, 0, piece.row, piece.width, piece.rows, GL_RGBA,
                         GL_UNSIGNED_BYTE, piece.bytes);
}

bool MeshBuffers::advance(std::optional<double> milliseconds)
{
    QElapsedTimer clock;
    clock.start();
    while (!isComplete()) {
        send(m_pieces[m_next++]);
        if (milliseconds && static_cast<double>(clock.nsecsElapsed()) * 1e-6 >= *milliseconds)
            break;
    }
    m_gl.glBindBuffer(GL_ARRAY_BUFFER, 0);
    return isComplete();
}

} // namespace vergence
