#pragma once

#include <memory>

#include <QOpenGLWidget>

#include "app/viewport/gl_renderer.h"
#include "app/viewport/view_scene.h"
#include "core/view/frame_uploader.h"

namespace vergence {

/// The OpenGL widget (`viewport`) of a ViewPanel. Its resources are rebuilt whenever Qt gives it
/// another context, for instance when the panel moves to another window.
class GlViewport : public QOpenGLWidget {
    Q_OBJECT
public:
    explicit GlViewport(const ViewScene& scene, QWidget* parent = nullptr);
    ~GlViewport() override;

    /// Whether this computer gives a context of OpenGL 3.3 core to widgets; the reason otherwise.
    static bool isAvailable(QString* reason);

    void setUploader(std::unique_ptr<FrameUploader> uploader);
    QString transportName() const;
    int paintCount() const { return m_paintCount; }
    int contextCount() const { return m_contextCount; } ///< contexts alive now; 0 or 1

Q_SIGNALS:
    void failed(const QString& reason); ///< OpenGL cannot draw; use the painter instead
    void transportChanged();

protected:
    void initializeGL() override;
    void paintGL() override;

private:
    void releaseGl();
    void uploadFrames();
    void fallBack(const std::string& reason);

    const ViewScene& m_scene;
    std::unique_ptr<FrameUploader> m_uploader;
    std::unique_ptr<GlRenderer> m_renderer;
    bool m_usesHostMemory = true;
    bool m_isNew = true; ///< transportChanged is still to be said for this uploader
    int m_paintCount = 0;
    int m_contextCount = 0;
};

} // namespace vergence
