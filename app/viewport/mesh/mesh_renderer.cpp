#include "app/viewport/mesh/mesh_renderer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QElapsedTimer>
#include <QFile>

#include "app/viewport/mesh/mesh_overlay.h"
#include "core/base/error.h"

namespace vergence {
namespace {

constexpr double kWorkMilliseconds = 10; ///< of one portion of refine()
constexpr int kPortionsUnseen = 10;      ///< that are sent before the progress is shown
constexpr std::size_t kLeastSlice = 4000, kMostSlice = 2'000'000; ///< triangles
constexpr std::size_t kMostCoarseLines = 20'000;                  ///< more wait until all is drawn
constexpr float kBoundaryWidth = 2, kNonManifoldWidth = 4, kDash = 6; ///< logical pixels

QByteArray source(const QString& name)
{
    QFile file(QStringLiteral(":/shaders/") + name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QVector4D vectorOf(const QColor& colour, float alpha)
{
    return {static_cast<float>(colour.redF()), static_cast<float>(colour.greenF()),
            static_cast<float>(colour.blueF()), alpha};
}

std::unique_ptr<QOpenGLShaderProgram> build(const QString& vertex, const QString& fragment,
                                            const QByteArray& constants)
{
    auto program = std::make_unique<QOpenGLShaderProgram>();
    const bool isBuilt =
        program->addShaderFromSourceCode(QOpenGLShader::Vertex, source(vertex)) &&
        program->addShaderFromSourceCode(QOpenGLShader::Fragment, constants + source(fragment)) &&
        program->link();
    if (!isBuilt)
        throw DeviceError("The shader '" + fragment.toStdString() +
                          "' cannot be built: " + program->log().toStdString());
    return program;
}

QVector2D checkerCells(const MeshScene& scene)
{
    const int cells = scene.settings().checkerCells;
    if (cells > 0)
        return {static_cast<float>(cells), static_cast<float>(cells)};
    const auto& textures = scene.mesh()->textures;
    const QSize size = textures.empty() ? QSize(1024, 1024) : textures.front().front().size();
    return {static_cast<float>(size.width()), static_cast<float>(size.height())};
}

} // namespace

MeshRenderer::MeshRenderer(QOpenGLFunctions_3_3_Core& gl) : m_gl(gl)
{
    m_emptyArray.create();
}

MeshRenderer::Picture MeshRenderer::pictureOf(const MeshScene& scene, const Target& target)
{
    return {scene.camera(),
            scene.settings(),
            scene.uvWindow(),
            (target.viewport * target.pixelRatio).toSize(),
            target.palette.color(QPalette::Window).rgb(),
            scene.mesh()};
}

/// The newest mesh replaces the shown one once all of it is there.
void MeshRenderer::fetch(const MeshScene& scene, bool isForScreen)
{
    const auto wanted = scene.mesh();
    if (!wanted) {
        m_shown.reset();
        m_next.reset();
        return;
    }
    if (m_shown && m_shown->source() == wanted) {
        m_next.reset();
        return;
    }
    if (!m_next || m_next->source() != wanted)
        m_next = std::make_unique<MeshBuffers>(m_gl, wanted);
    if (!isForScreen)
        m_next->advance(std::nullopt);
    if (m_next->isComplete())
        m_shown = std::move(m_next);
    else
        m_isComplete = false;
}

QOpenGLShaderProgram* MeshRenderer::program(Kind kind, MeshShading shading, const Target& target)
{
    auto& found = m_programs[{kind, shading}];
    if (found)
        return found.get();
    if (target.isForScreen && m_hasBuilt) {
        m_isComplete = false;
        m_wantsDrawing = true;
        return nullptr;
    }
    m_hasBuilt = true;
    switch (kind) {
    case Kind::Surface:
        found = build("mesh.vert", "mesh.frag",
                      "#version 330 core\n#define SHADING " +
                          QByteArray::number(static_cast<int>(shading)) + '\n');
        break;
    case Kind::Lines:
        found = build("mesh_lines.vert", "mesh_lines.frag", {});
        break;
    case Kind::UvTriangles:
        found = build("mesh_uv.vert", "mesh_uv.frag", {});
        break;
    case Kind::UvPicture:
        found = build("mesh_picture.vert", "mesh_picture.frag", {});
        break;
    }
    return found.get();
}

void MeshRenderer::draw(const MeshScene& scene, const Target& target)
{
    m_isComplete = true;
    m_hasBuilt = false;
    m_sinceShown = 0;
    fetch(scene, target.isForScreen);
    if (!m_shown)
        return;
    const bool isSliced = target.isForScreen && !m_shown->mesh().coarse.corners.empty();
    if (!isSliced)
        return drawSlice(scene, target, {false, 0, m_shown->mesh().triangleCount()});
    Picture picture = pictureOf(scene, target);
    if (m_picture != picture) {
        m_picture = std::move(picture);
        m_drawn = 0;
    }
    if (m_canvas && m_drawn == m_shown->mesh().triangleCount())
        return showCanvas();
    drawSlice(scene, target, {true, 0, m_shown->mesh().coarse.triangleCount()});
    m_isComplete = false;
}

bool MeshRenderer::refine(const MeshScene& scene, const Target& target)
{
    if (std::exchange(m_wantsDrawing, false))
        return true;
    if (m_next)
        return refineBuffers();
    return refinePicture(scene, target);
}

bool MeshRenderer::refineBuffers()
{
    return m_next->advance(kWorkMilliseconds) || ++m_sinceShown >= kPortionsUnseen;
}

bool MeshRenderer::refinePicture(const MeshScene& scene, const Target& target)
{
    const std::size_t all = m_shown ? m_shown->mesh().triangleCount() : 0;
    const bool isWanted = m_picture && m_shown && m_shown->source() == m_picture->mesh;
    if (!isWanted || m_drawn >= all || m_picture != pictureOf(scene, target))
        return true; // whatever has changed is drawn anew
    QElapsedTimer clock;
    clock.start();
    GLint screen = 0;
    m_gl.glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &screen);
    if (!m_canvas || m_canvas->size() != m_picture->pixels)
        m_canvas = std::make_unique<QOpenGLFramebufferObject>(
            m_picture->pixels, QOpenGLFramebufferObject::CombinedDepthStencil);
    m_canvas->bind();
    m_gl.glViewport(0, 0, m_canvas->width(), m_canvas->height());
    if (m_drawn == 0) {
        const QColor background(m_picture->background);
        m_gl.glDisable(GL_SCISSOR_TEST);
        m_gl.glDepthMask(GL_TRUE);
        m_gl.glClearColor(background.redF(), background.greenF(), background.blueF(), 1);
        m_gl.glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    }
    Target beside = target;
    beside.isForScreen = false;
    const std::size_t count = std::min(m_sliceSize, all - m_drawn);
    drawSlice(scene, beside, {false, m_drawn, count});
    m_gl.glFinish();
    m_gl.glBindFramebuffer(GL_FRAMEBUFFER, static_cast<GLuint>(screen));
    m_drawn += count;
    const double spent = std::max(0.1, static_cast<double>(clock.nsecsElapsed()) * 1e-6);
    m_sliceSize =
        std::clamp(static_cast<std::size_t>(static_cast<double>(count) *
                                            std::clamp(kWorkMilliseconds / spent, 0.3, 3.0)),
                   kLeastSlice, kMostSlice);
    return m_drawn == all;
}

void MeshRenderer::showCanvas()
{
    GLint screen = 0;
    m_gl.glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &screen);
    m_gl.glBindFramebuffer(GL_READ_FRAMEBUFFER, m_canvas->handle());
    m_gl.glBlitFramebuffer(0, 0, m_canvas->width(), m_canvas->height(), 0, 0, m_canvas->width(),
                           m_canvas->height(), GL_COLOR_BUFFER_BIT, GL_NEAREST);
    m_gl.glBindFramebuffer(GL_FRAMEBUFFER, static_cast<GLuint>(screen));
}

/// The first slice brings what lies behind, the last one what lies in front.
void MeshRenderer::drawSlice(const MeshScene& scene, const Target& target, const Slice& slice)
{
    const PreparedMesh& mesh = m_shown->mesh();
    if (scene.settings().shading == MeshShading::UvLayout) {
        drawLayout(scene, target, slice);
    } else {
        drawSurface(scene, target, slice);
        const bool isLast = slice.isCoarse
                                ? mesh.boundary.size() + mesh.nonManifold.size() < kMostCoarseLines
                                : slice.first + slice.count == mesh.triangleCount();
        if (scene.settings().marksEdges && isLast)
            drawLines(scene, target);
    }
    m_gl.glDisable(GL_DEPTH_TEST);
    m_gl.glDisable(GL_BLEND);
    m_gl.glDisable(GL_CLIP_DISTANCE0);
    m_gl.glActiveTexture(GL_TEXTURE0);
    m_gl.glBindTexture(GL_TEXTURE_2D, 0);
}

void MeshRenderer::drawTriangles(QOpenGLShaderProgram& program, const Slice& slice, bool isTextured)
{
    const PreparedMesh& mesh = m_shown->mesh();
    const MeshSurface& surface = slice.isCoarse ? mesh.coarse : mesh.surface;
    for (const auto& block : slice.isCoarse ? m_shown->coarse() : m_shown->surface()) {
        const std::size_t first = std::max(block->firstTriangle, slice.first);
        const std::size_t end =
            std::min(block->firstTriangle + block->triangleCount, slice.first + slice.count);
        if (first >= end)
            continue;
        const QOpenGLVertexArrayObject::Binder array(&block->array);
        for (const MeshBatch& batch : surface.batches) {
            const std::size_t from = std::max(batch.firstTriangle, first);
            const std::size_t to = std::min(batch.firstTriangle + batch.triangleCount, end);
            if (from >= to)
                continue;
            if (isTextured)
                bindTexture(program, batch.texture);
            m_gl.glDrawArrays(GL_TRIANGLES, static_cast<GLint>(3 * (from - block->firstTriangle)),
                              static_cast<GLsizei>(3 * (to - from)));
        }
    }
}

void MeshRenderer::bindTexture(QOpenGLShaderProgram& program, int texture)
{
    program.setUniformValue("uHasTexture", texture >= 0);
    program.setUniformValue("uTexture", 0);
    m_gl.glActiveTexture(GL_TEXTURE0);
    m_gl.glBindTexture(GL_TEXTURE_2D, texture >= 0 ? m_shown->texture(texture) : 0);
}

void MeshRenderer::bindSection(QOpenGLShaderProgram& program, const MeshScene& scene)
{
    const auto section = scene.section();
    program.setUniformValue("uSection", section ? QVector4D(section->normal, section->offset)
                                                : QVector4D(0, 0, 0, 1));
    if (section)
        m_gl.glEnable(GL_CLIP_DISTANCE0);
}

void MeshRenderer::drawSurface(const MeshScene& scene, const Target& target, const Slice& slice)
{
    const MeshSettings& settings = scene.settings();
    QOpenGLShaderProgram* surface = program(Kind::Surface, settings.shading, target);
    if (surface == nullptr)
        return;
    surface->bind();
    surface->setUniformValue("uWorldToClip",
                             scene.camera().worldToClip(target.viewport, m_shown->mesh()));
    surface->setUniformValue("uWorldToView", scene.camera().worldToView());
    bindSection(*surface, scene);
    surface->setUniformValue("uTintsBackFaces", settings.tintsBackFaces);
    surface->setUniformValue("uTintsGroups", settings.tintsGroups);
    surface->setUniformValue("uBackFace", vectorOf(backFaceColour(), 1).toVector3D());
    surface->setUniformValue(
        "uWire",
        vectorOf(QColor("#15181c"), settings.hasWireframe && !slice.isCoarse ? 0.75F : 0.0F));
    surface->setUniformValue("uIsCoarse", slice.isCoarse);
    surface->setUniformValue("uCells", checkerCells(scene));
    m_gl.glEnable(GL_DEPTH_TEST);
    m_gl.glDepthFunc(GL_LEQUAL);
    m_gl.glDepthMask(GL_TRUE);
    drawTriangles(*surface, slice, true);
    surface->release();
}

void MeshRenderer::drawLines(const MeshScene& scene, const Target& target)
{
    QOpenGLShaderProgram* lines = program(Kind::Lines, MeshShading::Smooth, target);
    if (lines == nullptr)
        return;
    const auto ratio = static_cast<float>(target.pixelRatio);
    lines->bind();
    lines->setUniformValue("uWorldToClip",
                           scene.camera().worldToClip(target.viewport, m_shown->mesh()));
    lines->setUniformValue("uViewport", static_cast<float>(target.viewport.width()) * ratio,
                           static_cast<float>(target.viewport.height()) * ratio);
    bindSection(*lines, scene);
    const auto draw = [&](QOpenGLVertexArrayObject& edges, std::size_t count, const QColor& colour,
                          float width, float dash) {
        if (count == 0)
            return;
        const QOpenGLVertexArrayObject::Binder array(&edges);
        lines->setUniformValue("uColour", vectorOf(colour, 1));
        lines->setUniformValue("uWidth", width * ratio);
        lines->setUniformValue("uDash", dash * ratio);
        m_gl.glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, static_cast<GLsizei>(count));
    };
    const PreparedMesh& mesh = m_shown->mesh();
    draw(m_shown->boundary(), mesh.boundary.size(), boundaryColour(), kBoundaryWidth, 0);
    draw(m_shown->nonManifold(), mesh.nonManifold.size(), nonManifoldColour(), kNonManifoldWidth,
         kDash);
    lines->release();
}

void MeshRenderer::drawLayout(const MeshScene& scene, const Target& target, const Slice& slice)
{
    QOpenGLShaderProgram* picture = program(Kind::UvPicture, MeshShading::Smooth, target);
    QOpenGLShaderProgram* triangles = program(Kind::UvTriangles, MeshShading::Smooth, target);
    if (picture == nullptr || triangles == nullptr)
        return;
    const QSizeF half = uvHalfSize(scene.uvWindow(), target.viewport);
    const QPointF centre = scene.uvWindow().centre;
    const QVector4D window(static_cast<float>(centre.x()), static_cast<float>(centre.y()),
                           static_cast<float>(half.width()), static_cast<float>(half.height()));
    if (slice.first == 0) {
        picture->bind();
        picture->setUniformValue("uWindow", window);
        picture->setUniformValue("uCells", 32.0F, 32.0F);
        bindTexture(*picture, m_shown->mesh().hasTexture() ? 0 : -1);
        const QOpenGLVertexArrayObject::Binder array(&m_emptyArray);
        m_gl.glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
        picture->release();
    }
    triangles->bind();
    triangles->setUniformValue("uWindow", window);
    triangles->setUniformValue("uColour", vectorOf(boundaryColour(), 0.85F));
    m_gl.glEnable(GL_BLEND);
    m_gl.glBlendEquation(GL_FUNC_ADD);
    m_gl.glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    drawTriangles(*triangles, slice, false);
    triangles->release();
}

} // namespace vergence
