#include "app/viewport/mesh/mesh_buffers.h"

#include <algorithm>
#include <cstddef>

#include <QElapsedTimer>

namespace vergence {
namespace {

constexpr std::size_t kPieceBytes = 1 << 21;
constexpr std::size_t kBlockTriangles = 20'000; ///< as many bytes, about

} // namespace

MeshBuffers::MeshBuffers(QOpenGLFunctions_3_3_Core& gl, std::shared_ptr<const PreparedMesh> mesh)
    : m_gl(gl),
      m_mesh(std::move(mesh))
{
    planSurface(m_coarse, m_mesh->coarse);
    planSurface(m_surface, m_mesh->surface);
    planLines(m_boundary, m_mesh->boundary);
    planLines(m_nonManifold, m_mesh->nonManifold);
    for (const auto& levels : m_mesh->textures)
        planTexture(levels);
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

/// Bound to GL_ARRAY_BUFFER.
void MeshBuffers::makeBuffer(const void* bytes, std::size_t size)
{
    unsigned id = 0;
    m_gl.glGenBuffers(1, &id);
    m_gl.glBindBuffer(GL_ARRAY_BUFFER, id);
    m_gl.glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(size), bytes, GL_STATIC_DRAW);
    m_buffers.push_back(id);
}

/// Many small buffers: a software renderer clears a large one while the window waits.
void MeshBuffers::planSurface(Blocks& blocks, const MeshSurface& surface)
{
    for (std::size_t first = 0; first < surface.triangleCount(); first += kBlockTriangles)
        m_pieces.emplace_back(
            [this, &blocks, &surface, first] { makeBlock(blocks, surface, first); });
}

void MeshBuffers::makeBlock(Blocks& blocks, const MeshSurface& surface, std::size_t first)
{
    auto block = std::make_unique<Block>();
    block->firstTriangle = first;
    block->triangleCount = std::min(kBlockTriangles, surface.triangleCount() - first);
    block->array.create();
    const QOpenGLVertexArrayObject::Binder array(&block->array);
    makeBuffer(surface.corners.data() + 3 * first, 3 * block->triangleCount * sizeof(MeshCorner));
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
    attribute(5, 4, GL_UNSIGNED_BYTE, true, offsetof(MeshCorner, far));
    blocks.push_back(std::move(block));
}

void MeshBuffers::planLines(QOpenGLVertexArrayObject& vertexArray,
                            const std::vector<MeshLine>& lines)
{
    if (lines.empty())
        return;
    m_pieces.emplace_back([this, &vertexArray, &lines] {
        vertexArray.create();
        const QOpenGLVertexArrayObject::Binder array(&vertexArray);
        makeBuffer(lines.data(), lines.size() * sizeof(MeshLine));
        for (const unsigned end : {0U, 1U}) {
            m_gl.glEnableVertexAttribArray(end);
            m_gl.glVertexAttribPointer(end, 3, GL_FLOAT, GL_FALSE, sizeof(MeshLine),
                                       reinterpret_cast<const void*>(end * sizeof(QVector3D)));
            m_gl.glVertexAttribDivisor(end, 1);
        }
    });
}

void MeshBuffers::planTexture(const std::vector<QImage>& levels)
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
    for (std::size_t i = first; i < levels.size(); ++i)
        planLevel(id, static_cast<int>(i - first), levels[i]);
}

void MeshBuffers::planLevel(unsigned texture, int number, const QImage& level)
{
    m_pieces.emplace_back([this, texture, number, &level] {
        m_gl.glBindTexture(GL_TEXTURE_2D, texture);
        m_gl.glTexImage2D(GL_TEXTURE_2D, number, GL_RGBA8, level.width(), level.height(), 0,
                          GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    });
    const int most =
        std::max(1, static_cast<int>(kPieceBytes / static_cast<std::size_t>(level.bytesPerLine())));
    for (int row = 0; row < level.height(); row += most) {
        const int rows = std::min(most, level.height() - row);
        m_pieces.emplace_back([this, texture, number, &level, row, rows] {
            m_gl.glBindTexture(GL_TEXTURE_2D, texture);
            m_gl.glTexSubImage2D(GL_TEXTURE_2D, number, 0, row, level.width(), rows, GL_RGBA,
                                 GL_UNSIGNED_BYTE, level.constScanLine(row));
        });
    }
}

bool MeshBuffers::advance(std::optional<double> milliseconds)
{
    QElapsedTimer clock;
    clock.start();
    while (!isComplete()) {
        m_pieces[m_next++]();
        if (milliseconds && static_cast<double>(clock.nsecsElapsed()) * 1e-6 >= *milliseconds)
            break;
    }
    m_gl.glBindBuffer(GL_ARRAY_BUFFER, 0);
    return isComplete();
}

} // namespace vergence
