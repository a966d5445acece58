#pragma once

#include <map>
#include <string>

#include <QOpenGLBuffer>
#include <QOpenGLFunctions_3_3_Core>
#include <QOpenGLShaderProgram>
#include <QOpenGLVertexArrayObject>
#include <QPalette>

#include "app/viewport/view_scene.h"
#include "core/view/frame_uploader.h"

namespace vergence {

/// Draws a ViewScene with OpenGL 3.3 core. Lives as long as one context; made, used and destroyed
/// with it current, on the GUI thread.
class GlRenderer {
public:
    GlRenderer(); ///< throws DeviceError where shaders do not build or OpenGL 3.3 is missing
    ~GlRenderer();
    GlRenderer(const GlRenderer&) = delete;
    GlRenderer& operator=(const GlRenderer&) = delete;

    /// Uploads what is new. Throws DeviceError from the uploader.
    void upload(const ViewScene& scene, FrameUploader& uploader);
    /// Draws into the bound framebuffer; `viewport` in logical pixels.
    void draw(const ViewScene& scene, QSizeF viewport, double pixelRatio, const QPalette& palette);
    void forgetTextures(); ///< the next upload sends everything again

private:
    struct Texture {
        unsigned id = 0;
        unsigned target = 0;
        std::uint64_t revision = 0;
    };

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
    std::map<std::string, Texture> m_textures;
    unsigned m_maps = 0;
};

} // namespace vergence
