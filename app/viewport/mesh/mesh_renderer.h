#pragma once

#include <map>
#include <memory>
#include <optional>

#include <QOpenGLFramebufferObject>
#include <QOpenGLFunctions_3_3_Core>
#include <QOpenGLShaderProgram>
#include <QOpenGLVertexArrayObject>
#include <QPalette>
#include <QSizeF>

#include "app/viewport/mesh/mesh_buffers.h"
#include "app/viewport/mesh/mesh_scene.h"

namespace vergence {

/// Draws a MeshScene with OpenGL 3.3 core into the bound framebuffer, over what is there. Lives as
/// long as one context; made, used and destroyed with it current, on the GUI thread.
///
/// On the screen a large mesh appears in its coarse form at once, and as it is when refine() has
/// drawn all of it beside the screen, a slice at a time: a software renderer takes a second for a
/// million triangles, and the window must not stand still so long.
class MeshRenderer {
public:
    struct Target {
        QSizeF viewport; ///< logical pixels
        double pixelRatio = 1;
        QPalette palette;
        bool isForScreen = false; ///< whoever looks can wait; otherwise all is drawn at once
    };

    explicit MeshRenderer(QOpenGLFunctions_3_3_Core& gl);

    /// Throws DeviceError where a shader does not build.
    void draw(const MeshScene& scene, const Target& target);
    /// False where the last drawing left something to refine().
    bool isComplete() const { return m_isComplete; }
    /// Does some 10 ms of what is left. True where another drawing would show more.
    bool refine(const MeshScene& scene, const Target& target);
    /// Share of the newest mesh that the card has; 1 once it is all there.
    double sentFraction() const { return m_next ? m_next->fraction() : 1; }

private:
    enum class Kind { Surface, Lines, UvTriangles, UvPicture };
    using Key = std::pair<Kind, MeshShading>;
    /// All that a picture depends on.
    struct Picture {
        MeshCamera camera;
        MeshSettings settings;
        UvWindow uv;
        QSize pixels;
        QRgb background = 0;
        std::shared_ptr<const PreparedMesh> mesh;
        bool operator==(const Picture&) const = default;
    };
    /// Triangles of a surface of the mesh that are drawn.
    struct Slice {
        bool isCoarse = false;
        std::size_t first = 0, count = 0;
    };

    static Picture pictureOf(const MeshScene& scene, const Target& target);
    void fetch(const MeshScene& scene, bool isForScreen);
    bool refineBuffers();
    bool refinePicture(const MeshScene& scene, const Target& target);
    void showCanvas();
    void drawSlice(const MeshScene& scene, const Target& target, const Slice& slice);
    /// Null where it has to wait for another drawing.
    QOpenGLShaderProgram* program(Kind kind, MeshShading shading, const Target& target);
    void drawSurface(const MeshScene& scene, const Target& target, const Slice& slice);
    void drawLines(const MeshScene& scene, const Target& target);
    void drawLayout(const MeshScene& scene, const Target& target, const Slice& slice);
    void drawTriangles(QOpenGLShaderProgram& program, const Slice& slice, bool isTextured);
    void bindTexture(QOpenGLShaderProgram& program, int texture);
    void bindSection(QOpenGLShaderProgram& program, const MeshScene& scene);

    QOpenGLFunctions_3_3_Core& m_gl;
    QOpenGLVertexArrayObject m_emptyArray;
    std::map<Key, std::unique_ptr<QOpenGLShaderProgram>> m_programs;
    std::unique_ptr<MeshBuffers> m_shown, m_next; ///< the mesh on screen; one that is on its way
    std::unique_ptr<QOpenGLFramebufferObject> m_canvas; ///< where refine() draws
    std::optional<Picture> m_picture;                   ///< what grows there
    std::size_t m_drawn = 0;                            ///< of its triangles
    std::size_t m_sliceSize = 20'000;                   ///< as many as take some 10 ms
    int m_sinceShown = 0;                               ///< portions sent since the last drawing
    bool m_isComplete = true, m_hasBuilt = false, m_wantsDrawing = false;
};

} // namespace vergence
