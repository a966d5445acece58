#pragma once

#include <compare>
#include <set>

#include <QImage>
#include <QOpenGLFunctions_3_3_Core>
#include <QOpenGLVertexArrayObject>
#include <QPalette>

#include "app/viewport/frame_textures.h"
#include "app/viewport/shader_programs.h"
#include "app/viewport/view_scene.h"

namespace vergence {

/// Draws a ViewScene with OpenGL 3.3 core. Lives as long as one context; made, used and destroyed
/// with it current, on the GUI thread.
class GlRenderer {
public:
    /// Where a drawing goes: the size of the view in logical pixels, and its colours.
    struct Target {
        QSizeF viewport;
        double pixelRatio = 1;
        QPalette palette;
        /// So many kinds of pictures may be compiled, which takes two drawings each; what is not
        /// ready is left out. Negative: everything is drawn at once.
        int mostNewKinds = -1;
    };

    GlRenderer(); ///< throws DeviceError where OpenGL 3.3 is missing
    ~GlRenderer();
    GlRenderer(const GlRenderer&) = delete;
    GlRenderer& operator=(const GlRenderer&) = delete;

    FrameTextures& textures() { return m_textures; }
    /// Draws into the bound framebuffer. Throws DeviceError where a shader does not build.
    void draw(const ViewScene& scene, const Target& target);
    /// Lays a picture of the whole view over what was drawn; `isNew` where it is another one than
    /// the last. Format_RGBA8888.
    void drawOverlay(const QImage& overlay, bool isNew);
    /// False where the last drawing left something out.
    bool isComplete() const { return m_isComplete; }

private:
    /// What the driver compiles for: the program and what it reads.
    struct Kind {
        struct Texture {
            PixelFormat format = PixelFormat::Rgba8;
            bool isLinear = false;
            auto operator<=>(const Texture&) const = default;
        };
        ShaderKey shader;
        Texture a, b;
        auto operator<=>(const Kind&) const = default;
    };

    bool isDrawable(const ShownFrame& shown) const;
    /// False where it has to wait.
    bool admits(const Kind& kind);
    Kind kindOf(const Pane& pane, const ShownFrame& shown, const ShownFrame& other,
                const ViewScene& scene, double width) const;
    void drawPane(const Pane& pane, const ViewScene& scene, const Target& target);
    void drawStack(const ViewScene& scene, const Target& target);
    ShaderKey::Picture pictureKey(const ShownFrame& shown) const;
    /// Binds a stream's texture to the units of A (0, 1) or B (2, 3).
    void bindPicture(QOpenGLShaderProgram& program, char which, const ShownFrame& shown, int layer,
                     bool isLinear);
    void bindTone(QOpenGLShaderProgram& program, const Tone& tone, const ShownFrame& shown);

    QOpenGLFunctions_3_3_Core* m_gl;
    ShaderPrograms m_programs;
    QOpenGLVertexArrayObject m_emptyArray;
    FrameTextures m_textures;
    unsigned m_maps = 0, m_overlay = 0;
    std::set<Kind> m_known;
    int m_newKindsLeft = 0;
    bool m_isComplete = true, m_hasOverlay = false;
};

} // namespace vergence
