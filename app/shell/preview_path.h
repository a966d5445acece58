#pragma once

#include <memory>

#include <QObject>
#include <QProcess>

#include "core/view/frame_uploader.h"

namespace vergence {

/// Decides how pictures reach the views: through shared memory, or from GPU to GPU where the CUDA
/// interop module is present and its probe succeeded in a child process. The answer holds for the
/// session.
class PreviewPath : public QObject {
    Q_OBJECT
public:
    explicit PreviewPath(QObject* parent = nullptr);
    ~PreviewPath() override;

    /// Starts the probe where there is a module to probe; `choice` as in the settings ("auto",
    /// "shm").
    void choose(const QString& choice);
    /// A picture could not be opened: shared memory for the rest of the session.
    void giveUp();
    /// Compiles the shaders in another process: compiling them here would stop the window. Views
    /// wait for it, ten seconds at most.
    void warmShaders();
    bool isWarming() const { return m_isWarming; }
    bool usesInterop() const { return m_usesInterop; }
    /// An uploader of the interop module; null where it is not used.
    std::unique_ptr<FrameUploader> makeUploader() const;

Q_SIGNALS:
    void interopReady();
    void interopGone();
    void shadersWarm();

private:
    void use(bool interop);
    void endWarming();

    QProcess m_probe, m_warmup;
    QByteArray m_device; ///< UUID of the GPU that draws, as the probe found it
    bool m_isWanted = false, m_wasProbed = false, m_isUsable = false, m_usesInterop = false;
    bool m_isWarming = false;
};

/// The child's part (`vergence-studio --probe-interop`): 0 where interop works, with the UUID of
/// the GPU on stdout, else 1 with the reason on stderr. Needs a QGuiApplication.
int probeInterop();

/// The child's part (`vergence-studio --warm-shaders`), see app/viewport/gl_warmup.h. Needs a
/// QApplication.
int warmShaders();

} // namespace vergence
