#pragma once

#include <QOpenGLBuffer>
#include <QOpenGLFunctions_3_3_Core>
#include <QOpenGLShaderProgram>
#include <QOpenGLVertexArrayObject>
#include <QPalette>

#include "app/viewport/frame_textures.h"
#include "app/viewport/view_scene.h"

namespace vergence {

/// Draws a ViewScene with OpenGL 3.3 core. Lives as long as one context; made, used and destroyed
/// with it current, on the GUI thread.
class GlRenderer {
public:
    GlRenderer(); ///< throws DeviceError where shaders do not build or OpenGL 3.3 is missing
    ~GlRenderer();
    GlRenderer(const GlRenderer&) = delete;
    GlRenderer& operator=(const GlRenderer&) = delete;

    FrameTextures& textures() { return m_textures; }
    /// Draws into the bound framebuffer; `viewport` in logical pixels.
    void draw(const ViewScene& scene, QSizeF viewport, double pixelRatio, const QPalette& palette);

private:
    bool isDrawable(const ShownFrame& shown) const;
    void drawPane(const Pane& pane, const ViewScene& scene, QSizeF viewport, double pixelRatio);
    void drawStack(const ViewScene& scene, QSizeF viewport, const QPalette& palette);
    /// Binds a stream's texture to the units of A (0, 1) or B (2, 3) and sets the uniforms that
    /// tell how to read it.
    void bindPicture(QOpenGLShaderProgram& program, char which, const ShownFrame& shown, int layer,
                     bool isSmooth);
    void bindTone(QOpenGLShaderProgram& program, const Tone& tone, const ShownFrame& shown);

    QOpenGLFunctions_3_3_Core* m_gl;
    QOpenGLShaderProgram m_imageProgram, m_stackProgram;
    QOpenGLVertexArrayObject m_emptyArray;
    FrameTextures m_textures;
    unsigned m_maps = 0;
};

} // namespace vergence
