#pragma once

#include <map>
#include <memory>

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
class MeshRenderer {
public:
    struct Target {
        QSizeF viewport; ///< logical pixels
        double pixelRatio = 1;
        QPalette palette;
        /// For the screen: a new mesh and new shaders come in parts, over several drawings.
        bool isPatient = false;
    };

    explicit MeshRenderer(QOpenGLFunctions_3_3_Core& gl);

    /// Throws DeviceError where a shader does not build.
    void draw(const MeshScene& scene, const Target& target);
    /// False where the last drawing left something out.
    bool isComplete() const { return m_isComplete; }
    /// Share of the newest mesh that the card has; 1 once it is all there.
    double sentFraction() const { return m_next ? m_next->fraction() : 1; }

private:
    enum class Kind { Surface, Lines, UvTriangles, UvPicture };
    using Key = std::pair<Kind, MeshShading>;

    void fetch(const MeshScene& scene, bool isPatient);
    /// Null where it has to wait for another drawing.
    QOpenGLShaderProgram* program(Kind kind, MeshShading shading, const Target& target);
    void drawSurface(const MeshScene& scene, const Target& target);
    void drawLines(const MeshScene& scene, const Target& target);
    void drawLayout(const MeshScene& scene, const Target& target);
    void bindTexture(QOpenGLShaderProgram& program, int texture);
    void bindSection(QOpenGLShaderProgram& program, const MeshScene& scene);

    QOpenGLFunctions_3_3_Core& m_gl;
    QOpenGLVertexArrayObject m_emptyArray;
    std::map<Key, std::unique_ptr<QOpenGLShaderProgram>> m_programs;
    std::unique_ptr<MeshBuffers> m_shown, m_next; ///< the mesh on screen; one that is on its way
    bool m_isComplete = true, m_hasBuilt = false;
};

} // namespace vergence
