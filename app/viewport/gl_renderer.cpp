#include "app/viewport/gl_renderer.h"

#include <algorithm>
#include <cmath>

#include <QOpenGLContext>
#include <QOpenGLVersionFunctionsFactory>

#include "core/base/error.h"

namespace vergence {
namespace {

int pixelKind(const ShownFrame& shown)
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

/// Exposure changes numbers and linear light anyway; only colours in sRGB can do without.
bool isExposed(const Tone& tone, const ShaderKey& key)
{
    const bool readsSrgb = key.a.kind == 0 || (key.operation != 0 && key.b.kind == 0);
    return readsSrgb && tone.exposure != 0;
}

/// Bound to the active unit.
unsigned makeTexture(QOpenGLFunctions_3_3_Core& gl)
{
    unsigned id = 0;
    gl.glGenTextures(1, &id);
    gl.glBindTexture(GL_TEXTURE_2D, id);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
    return id;
}

/// To the bound texture.
void upload(QOpenGLFunctions_3_3_Core& gl, const QImage& image)
{
    gl.glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, image.width(), image.height(), 0, GL_RGBA,
                    GL_UNSIGNED_BYTE, image.constBits());
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
    m_emptyArray.create();
    m_maps = makeTexture(*m_gl);
    upload(*m_gl, colourMapTable());
    m_overlay = makeTexture(*m_gl);
}

GlRenderer::~GlRenderer()
{
    m_gl->glDeleteTextures(1, &m_maps);
    m_gl->glDeleteTextures(1, &m_overlay);
}

void GlRenderer::draw(const ViewScene& scene, const Target& target)
{
    m_newKindsLeft = target.mostNewKinds;
    m_isComplete = true;
    const QColor background = target.palette.color(QPalette::Window);
    const QSizeF pixels = target.viewport * target.pixelRatio;
    m_gl->glViewport(0, 0, static_cast<GLsizei>(std::lround(pixels.width())),
                     static_cast<GLsizei>(std::lround(pixels.height())));
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
    for (const Pane& pane : scene.panes(target.viewport))
        drawPane(pane, scene, target);
    m_gl->glDisable(GL_SCISSOR_TEST);
    drawStack(scene, target);
    m_gl->glDisable(GL_BLEND);
    m_gl->glActiveTexture(GL_TEXTURE0);
}

void GlRenderer::drawOverlay(const QImage& overlay, bool isNew)
{
    m_gl->glActiveTexture(GL_TEXTURE0);
    m_gl->glBindTexture(GL_TEXTURE_2D, m_overlay);
    if (isNew || !m_hasOverlay)
        upload(*m_gl, overlay);
    m_hasOverlay = true;
    if (!admits({}))
        return;
    m_gl->glEnable(GL_BLEND);
    const QOpenGLVertexArrayObject::Binder array(&m_emptyArray);
    QOpenGLShaderProgram& program = m_programs.find({});
    program.bind();
    program.setUniformValue("uRect", QVector4D(-1, 1, 1, -1));
    m_gl->glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    program.release();
    m_gl->glDisable(GL_BLEND);
}

/// The program is built in one drawing and first used in the next, where the driver compiles again.
bool GlRenderer::admits(const Kind& kind)
{
    if (m_newKindsLeft < 0 || m_known.contains(kind)) {
        m_known.insert(kind);
        return true;
    }
    m_isComplete = false;
    if (m_newKindsLeft == 0)
        return false;
    --m_newKindsLeft;
    if (!m_programs.isBuilt(kind.shader)) {
        m_programs.find(kind.shader);
        return false;
    }
    m_known.insert(kind);
    return true;
}

/// A frame whose pixels have not arrived yet is drawn from the texture of the one before.
bool GlRenderer::isDrawable(const ShownFrame& shown) const
{
    return shown.isPicture() && m_textures.find(shown.frame.info.stream) != nullptr;
}

ShaderKey::Picture GlRenderer::pictureKey(const ShownFrame& shown) const
{
    const bool isLayered = m_textures.find(shown.frame.info.stream)->target == GL_TEXTURE_2D_ARRAY;
    return {isLayered, pixelKind(shown)};
}

/// `width` of the picture on the screen, in pixels.
GlRenderer::Kind GlRenderer::kindOf(const Pane& pane, const ShownFrame& shown,
                                    const ShownFrame& other, const ViewScene& scene,
                                    double width) const
{
    const auto textureOf = [&](const ShownFrame& picture) {
        const bool isReduced = width < picture.size().width();
        return Kind::Texture{picture.frame.info.format, scene.isSmooth() || isReduced};
    };
    Kind kind;
    kind.shader.operation = operationOf(pane.operation);
    kind.shader.a = pictureKey(shown);
    kind.a = textureOf(shown);
    if (pane.operation != Pane::Operation::Picture) {
        kind.shader.b = pictureKey(other);
        kind.b = textureOf(other);
    }
    kind.shader.isExposed = isExposed(scene.settings().tone, kind.shader);
    return kind;
}

void GlRenderer::drawPane(const Pane& pane, const ViewScene& scene, const Target& target)
{
    const auto shown = scene.frame(pane.stream);
    const bool isDifference = pane.operation != Pane::Operation::Picture;
    const auto other = isDifference ? scene.frame(pane.other) : shown;
    if (!shown || !other || !isDrawable(*shown) || !isDrawable(*other))
        return;
    const ViewSettings& settings = scene.settings();
    const QRectF rect = pictureRect(pane.area, shown->size(), settings.transform);
    const Kind kind = kindOf(pane, *shown, *other, scene, rect.width() * target.pixelRatio);
    if (!admits(kind))
        return;
    const auto pixel = [&](double value) {
        return static_cast<GLint>(std::lround(value * target.pixelRatio));
    };
    const QSizeF viewport = target.viewport;
    const GLint left = pixel(pane.clip.left()), right = pixel(pane.clip.right());
    const GLint bottom = pixel(viewport.height() - pane.clip.bottom());
    const GLint top = pixel(viewport.height() - pane.clip.top());
    m_gl->glScissor(left, bottom, std::max(0, right - left), std::max(0, top - bottom));

    QOpenGLShaderProgram& program = m_programs.find(kind.shader);
    program.bind();
    program.setUniformValue(
        "uRect", QVector4D(static_cast<float>(rect.left() / viewport.width() * 2 - 1),
                           static_cast<float>(1 - rect.top() / viewport.height() * 2),
                           static_cast<float>(rect.right() / viewport.width() * 2 - 1),
                           static_cast<float>(1 - rect.bottom() / viewport.height() * 2)));
    bindPicture(program, 'A', *shown, pane.layer, kind.a.isLinear);
    if (isDifference)
        bindPicture(program, 'B', *other, pane.otherLayer, kind.b.isLinear);
    bindTone(program, settings.tone, *shown);
    program.setUniformValue("uGain", static_cast<float>(settings.compare.gain));
    program.setUniformValue("uSignedRow", mapRow(FalseColour::Diverging));
    m_gl->glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    program.release();
}

/// Both ways of scaling alike: with two the driver compiles both, and what chooses between them.
void GlRenderer::bindPicture(QOpenGLShaderProgram& program, char which, const ShownFrame& shown,
                             int layer, bool isLinear)
{
    const FrameTextures::Texture& texture = *m_textures.find(shown.frame.info.stream);
    const bool isArray = texture.target == GL_TEXTURE_2D_ARRAY;
    const unsigned unit = (which == 'A' ? 0U : 2U) + (isArray ? 1U : 0U);
    m_gl->glActiveTexture(GL_TEXTURE0 + unit);
    m_gl->glBindTexture(texture.target, texture.id);
    const GLint filter = isLinear ? GL_LINEAR : GL_NEAREST;
    m_gl->glTexParameteri(texture.target, GL_TEXTURE_MIN_FILTER, filter);
    m_gl->glTexParameteri(texture.target, GL_TEXTURE_MAG_FILTER, filter);
    program.setUniformValue(which == 'A' ? "uLayerA" : "uLayerB", layer);
}

void GlRenderer::bindTone(QOpenGLShaderProgram& program, const Tone& tone, const ShownFrame& shown)
{
    const ValueRange range = rangeFor(tone, shown);
    program.setUniformValue("uExposure", static_cast<float>(std::exp2(tone.exposure)));
    program.setUniformValue("uRange", static_cast<float>(range.low),
                            static_cast<float>(range.high));
    program.setUniformValue("uMapRow", mapRow(mapFor(tone, shown)));
}

void GlRenderer::drawStack(const ViewScene& scene, const Target& target)
{
    const ViewSettings& settings = scene.settings();
    const auto shown = scene.frame(settings.stream);
    const auto planes = scene.planes();
    if (!shown || planes.empty() || !isDrawable(*shown))
        return;
    Kind kind;
    kind.shader.isPlane = true;
    kind.shader.a = pictureKey(*shown);
    kind.a = {shown->frame.info.format, true};
    kind.shader.isExposed = isExposed(settings.tone, kind.shader);
    if (!admits(kind))
        return;
    const QColor accent = target.palette.color(QPalette::Highlight);
    QColor border = target.palette.color(QPalette::WindowText);
    border.setAlphaF(0.55F);
    QOpenGLShaderProgram& program = m_programs.find(kind.shader);
    program.bind();
    program.setUniformValue("uWorldToClip", settings.camera.worldToClip(target.viewport));
    bindTone(program, settings.tone, *shown);
    for (const StackPlane& plane : planes) {
        bindPicture(program, 'A', *shown, plane.layer, true);
        program.setUniformValue("uOpacity", static_cast<float>(settings.opacity));
        program.setUniformValue("uCentre", plane.centre);
        program.setUniformValue("uHalfSize", static_cast<float>(plane.halfSize.width()),
                                static_cast<float>(plane.halfSize.height()));
        const bool isSelected = plane.layer == scene.layerFor(settings.stream);
        program.setUniformValue("uBorder", isSelected ? accent : border);
        m_gl->glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    }
    program.release();
}

} // namespace vergence
