#include "app/viewport/gl_renderer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <QOpenGLContext>
#include <QOpenGLVersionFunctionsFactory>

#include "core/base/error.h"

namespace vergence {
namespace {

constexpr int kMapUnit = 4;

void build(QOpenGLShaderProgram& program, const QString& name)
{
    const QString base = QStringLiteral(":/shaders/") + name;
    const bool isBuilt =
        program.addShaderFromSourceFile(QOpenGLShader::Vertex, base + QStringLiteral(".vert")) &&
        program.addShaderFromSourceFile(QOpenGLShader::Fragment, base + QStringLiteral(".frag")) &&
        program.link();
    if (!isBuilt)
        throw DeviceError("The shader '" + name.toStdString() +
                          "' cannot be built: " + program.log().toStdString());
    // Samplers of different types may never share a unit, so each has its own for good.
    program.bind();
    program.setUniformValue("uImageA", 0);
    program.setUniformValue("uStackA", 1);
    program.setUniformValue("uImageB", 2);
    program.setUniformValue("uStackB", 3);
    program.setUniformValue("uMaps", kMapUnit);
    program.release();
}

int kindOf(const ShownFrame& shown)
{
    return shown.isScalar() ? 2 : shown.isLinear ? 1 : 0;
}

float mapRow(FalseColour map)
{
    return (static_cast<float>(map) + 0.5F) / kFalseColourCount;
}

int operationOf(Pane::Operation operation)
{
    switch (operation) {
    case Pane::Operation::AbsoluteDifference:
        return 1;
    case Pane::Operation::SignedDifference:
        return 2;
    case Pane::Operation::Picture:
        break;
    }
    return 0;
}

unsigned makeMapTexture(QOpenGLFunctions_3_3_Core& gl)
{
    const QImage table = colourMapTable();
    unsigned id = 0;
    gl.glGenTextures(1, &id);
    gl.glBindTexture(GL_TEXTURE_2D, id);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    gl.glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, table.width(), table.height(), 0, GL_RGBA,
                    GL_UNSIGNED_BYTE, table.constBits());
    return id;
}

QOpenGLFunctions_3_3_Core& currentFunctions()
{
    auto* gl = QOpenGLVersionFunctionsFactory::get<QOpenGLFunctions_3_3_Core>(
        QOpenGLContext::currentContext());
    if (gl == nullptr)
        throw DeviceError("OpenGL 3.3 is not available, so pictures are drawn in reduced form.");
    return *gl;
}

} // namespace

GlRenderer::GlRenderer() : m_gl(&currentFunctions()), m_textures(*m_gl)
{
    build(m_imageProgram, QStringLiteral("image"));
    build(m_stackProgram, QStringLiteral("stack"));
    m_emptyArray.create();
    m_maps = makeMapTexture(*m_gl);
}

GlRenderer::~GlRenderer()
{
    m_gl->glDeleteTextures(1, &m_maps);
}

void GlRenderer::draw(const ViewScene& scene, QSizeF viewport, double pixelRatio,
                      const QPalette& palette)
{
    const QColor background = palette.color(QPalette::Window);
    m_gl->glViewport(0, 0, static_cast<GLsizei>(std::lround(viewport.width() * pixelRatio)),
                     static_cast<GLsizei>(std::lround(viewport.height() * pixelRatio)));
    m_gl->glDisable(GL_DEPTH_TEST);
    m_gl->glDisable(GL_SCISSOR_TEST);
    m_gl->glDisable(GL_STENCIL_TEST);
    m_gl->glDisable(GL_CULL_FACE);
    m_gl->glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
    m_gl->glClearColor(background.redF(), background.greenF(), background.blueF(), 1);
    m_gl->glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
    m_gl->glEnable(GL_BLEND);
    m_gl->glBlendEquation(GL_FUNC_ADD);
    m_gl->glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    m_gl->glActiveTexture(GL_TEXTURE0 + kMapUnit);
    m_gl->glBindTexture(GL_TEXTURE_2D, m_maps);
    const QOpenGLVertexArrayObject::Binder array(&m_emptyArray);
    m_gl->glEnable(GL_SCISSOR_TEST);
    for (const Pane& pane : scene.panes(viewport))
        drawPane(pane, scene, viewport, pixelRatio);
    m_gl->glDisable(GL_SCISSOR_TEST);
    drawStack(scene, viewport, palette);
    m_gl->glDisable(GL_BLEND);
    m_gl->glActiveTexture(GL_TEXTURE0);
}

/// A frame whose pixels have not arrived yet is drawn from the texture of the one before.
bool GlRenderer::isDrawable(const ShownFrame& shown) const
{
    return shown.isPicture() && m_textures.find(shown.frame.info.stream) != nullptr;
}

void GlRenderer::drawPane(const Pane& pane, const ViewScene& scene, QSizeF viewport,
                          double pixelRatio)
{
    const auto shown = scene.frame(pane.stream);
    const bool isDifference = pane.operation != Pane::Operation::Picture;
    const auto other = isDifference ? scene.frame(pane.other) : shown;
    if (!shown || !other || !isDrawable(*shown) || !isDrawable(*other))
        return;
    const auto pixel = [&](double value) {
        return static_cast<GLint>(std::lround(value * pixelRatio));
    };
    const GLint left = pixel(pane.clip.left()), right = pixel(pane.clip.right());
    const GLint bottom = pixel(viewport.height() - pane.clip.bottom());
    const GLint top = pixel(viewport.height() - pane.clip.top());
    m_gl->glScissor(left, bottom, std::max(0, right - left), std::max(0, top - bottom));

    const ViewSettings& settings = scene.settings();
    const QRectF rect = pictureRect(pane.area, shown->size(), settings.transform);
    m_imageProgram.bind();
    m_imageProgram.setUniformValue(
        "uRect", QVector4D(static_cast<float>(rect.left() / viewport.width() * 2 - 1),
                           static_cast<float>(1 - rect.top() / viewport.height() * 2),
                           static_cast<float>(rect.right() / viewport.width() * 2 - 1),
                           static_cast<float>(1 - rect.bottom() / viewport.height() * 2)));
    bindPicture(m_imageProgram, 'A', *shown, pane.layer, settings.tone.isSmooth);
    bindPicture(m_imageProgram, 'B', *other, isDifference ? pane.otherLayer : pane.layer,
                settings.tone.isSmooth);
    bindTone(m_imageProgram, settings.tone, *shown);
    m_imageProgram.setUniformValue("uOperation", operationOf(pane.operation));
    m_imageProgram.setUniformValue("uGain", static_cast<float>(settings.compare.gain));
    m_imageProgram.setUniformValue("uSignedRow", mapRow(FalseColour::Diverging));
    m_gl->glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    m_imageProgram.release();
}

void GlRenderer::bindPicture(QOpenGLShaderProgram& program, char which, const ShownFrame& shown,
                             int layer, bool isSmooth)
{
    const FrameTextures::Texture& texture = *m_textures.find(shown.frame.info.stream);
    const bool isArray = texture.target == GL_TEXTURE_2D_ARRAY;
    const unsigned unit = (which == 'A' ? 0U : 2U) + (isArray ? 1U : 0U);
    m_gl->glActiveTexture(GL_TEXTURE0 + unit);
    m_gl->glBindTexture(texture.target, texture.id);
    m_gl->glTexParameteri(texture.target, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    m_gl->glTexParameteri(texture.target, GL_TEXTURE_MAG_FILTER, isSmooth ? GL_LINEAR : GL_NEAREST);
    program.setUniformValue(which == 'A' ? "uLayerA" : "uLayerB", isArray ? layer : -1);
    program.setUniformValue(which == 'A' ? "uKindA" : "uKindB", kindOf(shown));
}

void GlRenderer::bindTone(QOpenGLShaderProgram& program, const Tone& tone, const ShownFrame& shown)
{
    const ValueRange range = rangeFor(tone, shown);
    program.setUniformValue("uExposure", static_cast<float>(std::exp2(tone.exposure)));
    program.setUniformValue("uRange", static_cast<float>(range.low),
                            static_cast<float>(range.high));
    program.setUniformValue("uMapRow", mapRow(mapFor(tone, shown)));
}

void GlRenderer::drawStack(const ViewScene& scene, QSizeF viewport, const QPalette& palette)
{
    const ViewSettings& settings = scene.settings();
    const auto shown = scene.frame(settings.stream);
    const auto planes = scene.planes();
    if (!shown || planes.empty() || !isDrawable(*shown))
        return;
    const QColor accent = palette.color(QPalette::Highlight);
    QColor border = palette.color(QPalette::WindowText);
    border.setAlphaF(0.55F);
    m_stackProgram.bind();
    m_stackProgram.setUniformValue("uWorldToClip", settings.camera.worldToClip(viewport));
    bindTone(m_stackProgram, settings.tone, *shown);
    for (const StackPlane& plane : planes) {
        bindPicture(m_stackProgram, 'A', *shown, plane.layer, true);
        m_stackProgram.setUniformValue("uOpacity", static_cast<float>(settings.opacity));
        m_stackProgram.setUniformValue("uCentre", plane.centre);
        m_stackProgram.setUniformValue("uHalfSize", static_cast<float>(plane.halfSize.width()),
                                       static_cast<float>(plane.halfSize.height()));
        const bool isSelected = plane.layer == scene.layerFor(settings.stream);
        m_stackProgram.setUniformValue("uBorder", isSelected ? accent : border);
        m_gl->glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    }
    m_stackProgram.release();
}

} // namespace vergence
