#include "app/viewport/gl_viewport.h"

#include <algorithm>
#include <optional>

#include <QGuiApplication>
#include <QOffscreenSurface>
#include <QOpenGLContext>
#include <QOpenGLFunctions>
#include <QOpenGLVersionFunctionsFactory>
#include <QResizeEvent>
#include <QSurfaceFormat>

#include "app/viewport/host_uploader.h"
#include "core/base/error.h"
#include "core/base/log.h"

namespace vergence {
namespace {

constexpr int kShortestRetry = 2, kLongestRetry = 256; ///< ms between looks for an unfinished frame

QSurfaceFormat wantedFormat()
{
    QSurfaceFormat format;
    format.setRenderableType(QSurfaceFormat::OpenGL);
    format.setVersion(3, 3);
    format.setProfile(QSurfaceFormat::CoreProfile);
    format.setDepthBufferSize(24);
    format.setStencilBufferSize(8);
    return format;
}

/// The OpenGL of this display.
struct Driver {
    std::optional<std::pair<int, int>> version; ///< of the contexts it makes; nothing without any
    QByteArray renderer;
};

Driver findDriver()
{
    QOpenGLContext probe;
    probe.setFormat(wantedFormat());
    if (!probe.create())
        return {};
    Driver driver{probe.format().version(), {}};
    QOffscreenSurface surface;
    surface.setFormat(probe.format());
    surface.create();
    if (probe.makeCurrent(&surface)) {
        driver.renderer =
            reinterpret_cast<const char*>(probe.functions()->glGetString(GL_RENDERER));
        probe.doneCurrent();
    }
    return driver;
}

/// Asked once: making a context takes some 20 ms, and the answer stays.
const Driver& driver()
{
    static const Driver found = findDriver();
    return found;
}

} // namespace

GlViewport::GlViewport(ViewScene& scene, QWidget* parent)
    : QOpenGLWidget(parent),
      m_scene(scene),
      m_host(std::make_unique<HostUploader>())
{
    m_retry.setSingleShot(true);
    connect(&m_retry, &QTimer::timeout, this, &GlViewport::wantPaint);
    m_refine.setSingleShot(true);
    connect(&m_refine, &QTimer::timeout, this, &GlViewport::refineMesh);
    setObjectName(QStringLiteral("viewport"));
    setFormat(wantedFormat());
    connect(&scene, &ViewScene::changed, this, &GlViewport::wantPaint);
}

GlViewport::~GlViewport()
{
    if (context() != nullptr)
        disconnect(context(), nullptr, this, nullptr);
    releaseGl();
}

bool GlViewport::isAvailable(QString* reason)
{
    if (qEnvironmentVariableIsSet("VERGENCE_SOFTWARE_VIEW")) {
        *reason = tr("The variable VERGENCE_SOFTWARE_VIEW asks for pictures without OpenGL.");
        return false;
    }
    const QString platform = QGuiApplication::platformName();
    if (platform == QLatin1String("offscreen") || platform == QLatin1String("minimal")) {
        *reason = tr("The display platform '%1' has no OpenGL widgets.").arg(platform);
        return false;
    }
    const auto& found = driver().version;
    const auto version = found.value_or(std::pair<int, int>(0, 0));
    if (version >= std::pair<int, int>(3, 3))
        return true;
    *reason = found.has_value() ? tr("OpenGL 3.3 is not available (found %1.%2).")
                                      .arg(version.first)
                                      .arg(version.second)
                                : tr("OpenGL is not available on this display.");
    return false;
}

bool GlViewport::isWithoutGpu()
{
    if (qEnvironmentVariableIsSet("VERGENCE_GL_WIDGET"))
        return false;
    const QByteArray name = driver().renderer.toLower();
    return name.contains("llvmpipe") || name.contains("softpipe") || name.contains("swrast") ||
           name.contains("software rasterizer");
}

void GlViewport::wantPaint()
{
    update();
    Q_EMIT paintWanted();
}

void GlViewport::setMeshes(MeshScene* meshes)
{
    m_meshes = meshes;
    if (meshes != nullptr)
        connect(meshes, &MeshScene::changed, this, &GlViewport::wantPaint);
}

void GlViewport::setUploader(std::unique_ptr<FrameUploader> uploader)
{
    expects(!uploader || !uploader->sharedDevice().empty(), "the uploader opens device memory");
    if (m_shared && m_renderer) {
        makeCurrent();
        releaseUploader(*m_shared);
        doneCurrent();
    }
    m_shared = std::move(uploader);
    m_transport.clear();
    wantPaint();
    Q_EMIT sharedDeviceChanged();
}

std::string GlViewport::sharedDevice() const
{
    return m_shared ? m_shared->sharedDevice() : std::string();
}

QString GlViewport::transportName() const
{
    if (!m_transport.empty())
        return QString::fromStdString(m_transport);
    return QString::fromStdString(m_shared ? m_shared->name() : m_host->name());
}

void GlViewport::initializeGL()
{
    ++m_contextCount;
    m_isFirstFrame = true;
    connect(
        context(), &QOpenGLContext::aboutToBeDestroyed, this,
        [this] {
            releaseGl();
            --m_contextCount;
        },
        Qt::DirectConnection);
    try {
        m_renderer = std::make_unique<GlRenderer>();
    } catch (const DeviceError& error) {
        giveUp(QString::fromStdString(error.what()));
    }
}

/// For the painter without OpenGL to take over.
void GlViewport::giveUp(const QString& reason)
{
    m_hasFailed = true;
    log("viewport").warn("{}", reason.toStdString());
    QMetaObject::invokeMethod(
        this, [this, reason] { Q_EMIT failed(reason); }, Qt::QueuedConnection);
}

void GlViewport::releaseGl()
{
    if (!m_renderer)
        return;
    makeCurrent();
    if (m_shared) { // the run may be gone when another context asks for these pictures
        for (const std::string& stream : m_scene.streamsWithFrames())
            keepPixels(stream);
        releaseUploader(*m_shared);
    }
    releaseUploader(*m_host);
    m_meshRenderer.reset();
    m_renderer.reset();
    doneCurrent();
}

/// Qt sends none of its events to a hidden widget, but draws it when asked for its picture.
QImage GlViewport::drawHidden(const QSize& wanted)
{
    if (wanted.isEmpty())
        return {};
    if (wanted != size()) {
        const QSize before = size();
        resize(wanted);
        QResizeEvent resized(wanted, before);
        QCoreApplication::sendEvent(this, &resized);
    }
    m_isForScreen = true;
    QImage picture = grabFramebuffer();
    m_isForScreen = false;
    return picture;
}

void GlViewport::paintEvent(QPaintEvent* event)
{
    if (!isVisible())
        return; // resized while hidden
    m_isForScreen = true;
    QOpenGLWidget::paintEvent(event);
    m_isForScreen = false;
}

void GlViewport::paintGL()
{
    if (!m_renderer || m_hasFailed)
        return;
    uploadFrames();
    GlRenderer::Target target{size(), devicePixelRatioF(), palette()};
    if (m_isForScreen) // the first frame stays empty: Qt compiles something for itself
        target.mostNewKinds = m_isFirstFrame ? 0 : 1;
    m_isFirstFrame = false;
    const bool isNew =
        m_overlay.paint(m_scene, m_meshes, size(), target.pixelRatio, target.palette);
    try {
        m_renderer->draw(m_scene, target);
        if (m_meshes != nullptr && m_scene.settings().mode == ViewMode::Mesh)
            drawMesh();
        if (!m_overlay.isEmpty())
            m_renderer->drawOverlay(m_overlay.image(), isNew);
    } catch (const DeviceError& error) {
        return giveUp(QString::fromStdString(error.what()));
    }
    if (!m_renderer->isComplete())
        QTimer::singleShot(0, this, &GlViewport::wantPaint);
    ++m_paintCount;
}

void GlViewport::drawMesh()
{
    if (!m_meshRenderer)
        m_meshRenderer = std::make_unique<MeshRenderer>(
            *QOpenGLVersionFunctionsFactory::get<QOpenGLFunctions_3_3_Core>(context()));
    m_meshRenderer->draw(*m_meshes, meshTarget());
    m_meshes->setSentFraction(m_meshRenderer->sentFraction());
    if (!m_meshRenderer->isComplete())
        m_refine.start(0);
}

MeshRenderer::Target GlViewport::meshTarget() const
{
    return {size(), devicePixelRatioF(), palette(), m_isForScreen};
}

void GlViewport::refineMesh()
{
    if (!m_meshRenderer || m_hasFailed || m_scene.settings().mode != ViewMode::Mesh)
        return;
    makeCurrent();
    bool showsMore = false;
    try {
        showsMore = m_meshRenderer->refine(*m_meshes, meshTarget());
    } catch (const DeviceError& error) {
        giveUp(QString::fromStdString(error.what()));
    }
    doneCurrent();
    if (showsMore)
        wantPaint();
    else if (!m_hasFailed)
        m_refine.start(0);
}

void GlViewport::uploadFrames()
{
    bool hasUploaded = false;
    try {
        hasUploaded = m_renderer->textures().upload(m_scene, *m_host).hasUploaded;
        if (hasUploaded)
            m_transport = m_host->name();
    } catch (const DeviceError& error) {
        log("viewport").error("A frame could not be uploaded: {}", error.what());
    }
    if (m_shared && uploadShared()) {
        hasUploaded = true;
        m_transport = m_shared->name();
    }
    m_renderer->textures().removeUnused(m_scene);
    if (hasUploaded)
        announce();
}

/// True where a picture came from device memory.
bool GlViewport::uploadShared()
{
    try {
        const auto progress = m_renderer->textures().upload(m_scene, *m_shared);
        if (progress.isWaiting && !m_retry.isActive())
            m_retry.start(m_retryMilliseconds = std::min(2 * m_retryMilliseconds, kLongestRetry));
        else if (progress.hasUploaded)
            m_retryMilliseconds = kShortestRetry;
        if (progress.hasUploaded) {
            for (const std::string& stream : m_scene.visibleStreams()) {
                const auto shown = m_scene.frame(stream);
                if (shown && shown->isScalar()) // their colours depend on all of them
                    keepPixels(stream);
            }
        }
        return progress.hasUploaded;
    } catch (const DeviceError& error) {
        giveUpSharing(error.what());
        return false;
    }
}

/// The context is current.
void GlViewport::keepPixels(const std::string& stream)
{
    const auto shown = m_scene.frame(stream);
    if (!shown || shown->hasPixels() || !shown->isPicture())
        return;
    if (auto pixels = m_renderer->textures().read(*shown); !pixels.empty())
        m_scene.setPixels(stream, shown->revision, std::move(pixels));
}

bool GlViewport::fetchPixels(const std::string& stream)
{
    const auto shown = m_scene.frame(stream);
    if (!shown || shown->hasPixels())
        return shown != nullptr;
    if (!m_renderer && isWindow()) // the first picture of a hidden one makes its context
        grabFramebuffer();
    if (m_renderer && shown->isPicture()) {
        makeCurrent();
        uploadFrames();
        keepPixels(stream);
        doneCurrent();
    }
    return m_scene.frame(stream)->hasPixels();
}

void GlViewport::closeSources()
{
    if (!m_shared || !m_renderer)
        return;
    makeCurrent();
    try {
        m_renderer->textures().upload(m_scene, *m_shared);
    } catch (const DeviceError& error) { // the end of a run says nothing of the next one
        log("viewport").info("The last picture of the run is not shown: {}", error.what());
    }
    m_scene.closeSources();
    m_shared->closeSources();
    doneCurrent();
}

/// The context is current. Textures keep their pictures.
void GlViewport::releaseUploader(FrameUploader& uploader)
{
    m_renderer->textures().detach(uploader);
    try {
        uploader.release();
    } catch (const Error& error) {
        log("viewport").warn("Releasing the frame transport failed: {}", error.what());
    }
}

/// Asks, through whoever follows sharedDevice(), for host pixels of what could not be opened.
void GlViewport::giveUpSharing(const std::string& reason)
{
    log("viewport")
        .warn("Frames go through shared memory for the rest of this session: {}", reason);
    releaseUploader(*m_shared);
    m_shared.reset();
    m_transport = m_host->name();
    QMetaObject::invokeMethod(
        this,
        [this] {
            Q_EMIT sharedDeviceChanged();
            Q_EMIT transportChanged();
        },
        Qt::QueuedConnection);
}

void GlViewport::announce()
{
    if (m_transport == m_announced)
        return;
    m_announced = m_transport;
    QMetaObject::invokeMethod(this, &GlViewport::transportChanged, Qt::QueuedConnection);
}

} // namespace vergence
