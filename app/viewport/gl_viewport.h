#pragma once

#include <memory>
#include <string>

#include <QOpenGLWidget>
#include <QTimer>

#include "app/viewport/gl_renderer.h"
#include "app/viewport/mesh/mesh_renderer.h"
#include "app/viewport/overlay_image.h"
#include "app/viewport/view_scene.h"
#include "core/view/frame_uploader.h"

namespace vergence {

/// The OpenGL widget (`viewport`) of a ViewPanel. Its resources are rebuilt whenever Qt gives it
/// another context, for instance when the panel moves to another window. Frames come through host
/// memory, and from device memory where there is an uploader that opens it. What is drawn for the
/// first time comes one kind of picture at a time, with events in between: the driver compiles.
class GlViewport : public QOpenGLWidget {
    Q_OBJECT
public:
    explicit GlViewport(ViewScene& scene, QWidget* parent = nullptr);
    ~GlViewport() override;

    /// Whether this computer gives a context of OpenGL 3.3 core to widgets; the reason otherwise.
    static bool isAvailable(QString* reason);
    /// Whether its driver draws with the processor: a PaintedViewport then serves better. The
    /// variable VERGENCE_GL_WIDGET says no.
    static bool isWithoutGpu();

    /// What the mode Mesh shows; it outlives the widget. Null for nothing.
    void setMeshes(MeshScene* meshes);
    /// For frames in device memory; null for none. An uploader that fails is given up.
    void setUploader(std::unique_ptr<FrameUploader> uploader);
    /// UUID of the GPU whose memory can be opened; empty where none.
    std::string sharedDevice() const;
    /// Brings the pixels of a stream's frame from its texture to the scene. False where that frame
    /// was not uploaded yet.
    bool fetchPixels(const std::string& stream);
    void closeSources(); ///< the run has ended, see FrameUploader
    QString transportName() const;
    /// What the screen gets, of a viewport that is never shown: paintWanted() says when that is
    /// another picture. It may still lack parts, which are asked for again.
    QImage drawHidden(const QSize& size);
    int paintCount() const { return m_paintCount; }
    int contextCount() const { return m_contextCount; } ///< contexts alive now; 0 or 1

Q_SIGNALS:
    void paintWanted();                 ///< with every update()
    void failed(const QString& reason); ///< OpenGL cannot draw; use the painter instead
    void transportChanged();
    void sharedDeviceChanged();

protected:
    void initializeGL() override;
    void paintGL() override;
    void paintEvent(QPaintEvent* event) override;

private:
    void wantPaint();
    void giveUp(const QString& reason);
    void releaseGl();
    void uploadFrames();
    MeshRenderer::Target meshTarget() const;
    void drawMesh();
    void refineMesh();
    bool uploadShared();
    void keepPixels(const std::string& stream);
    void releaseUploader(FrameUploader& uploader);
    void giveUpSharing(const std::string& reason);
    void announce();

    ViewScene& m_scene;
    MeshScene* m_meshes = nullptr;
    std::unique_ptr<FrameUploader> m_host, m_shared; ///< m_shared: null for none
    std::unique_ptr<GlRenderer> m_renderer;
    std::unique_ptr<MeshRenderer> m_meshRenderer; ///< once a mesh was looked at
    std::string m_transport; ///< name of the uploader that brought the newest picture
    std::string m_announced; ///< the one that transportChanged was said for
    QTimer m_retry;          ///< looks again for a frame that was still being written
    int m_retryMilliseconds = 2;
    QTimer m_refine; ///< goes on with a large mesh
    OverlayImage m_overlay;
    bool m_isForScreen = false; ///< the screen can wait for parts, a picture for a file cannot
    bool m_isFirstFrame = true; ///< of this context
    bool m_hasFailed = false;
    int m_paintCount = 0;
    int m_contextCount = 0;
};

} // namespace vergence
