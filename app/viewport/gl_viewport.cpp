#include "app/viewport/gl_viewport.h"

#include <QGuiApplication>
#include <QOpenGLContext>
#include <QOpenGLPaintDevice>
#include <QPainter>
#include <QSurfaceFormat>

#include "app/viewport/host_uploader.h"
#include "app/viewport/overlay.h"
#include "core/base/error.h"
#include "core/base/log.h"

namespace vergence {
namespace {

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

} // namespace

GlViewport::GlViewport(const ViewScene& scene, QWidget* parent)
    : QOpenGLWidget(parent),
      m_scene(scene),
      m_uploader(std::make_unique<HostUploader>())
{
    setObjectName(QStringLiteral("viewport"));
    setFormat(wantedFormat());
    connect(&scene, &ViewScene::changed, this, qOverload<>(&QWidget::update));
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
    QOpenGLContext probe;
    probe.setFormat(wantedFormat());
    const bool isCreated = probe.create();
    const auto version = isCreated ? probe.format().version() : std::pair<int, int>(0, 0);
    if (isCreated && version >= std::pair<int, int>(3, 3))
        return true;
    *reason = isCreated ? tr("OpenGL 3.3 is not available (found %1.%2).")
                              .arg(version.first)
                              .arg(version.second)
                        : tr("OpenGL is not available on this display.");
    return false;
}

void GlViewport::setUploader(std::unique_ptr<FrameUploader> uploader)
{
    expects(uploader != nullptr, "the uploader is there");
    if (m_renderer) {
        makeCurrent();
        m_uploader->release();
        m_renderer->forgetTextures();
        doneCurrent();
    }
    m_uploader = std::move(uploader);
    m_usesHostMemory = false;
    m_isNew = true;
    update();
}

QString GlViewport::transportName() const
{
    return QString::fromStdString(m_uploader->name());
}

void GlViewport::initializeGL()
{
    ++m_contextCount;
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
        log("viewport").warn("{}", error.what());
        const QString reason = QString::fromStdString(error.what());
        QMetaObject::invokeMethod(
            this, [this, reason] { Q_EMIT failed(reason); }, Qt::QueuedConnection);
    }
}

void GlViewport::releaseGl()
{
    if (!m_renderer)
        return;
    makeCurrent();
    try {
        m_uploader->release();
    } catch (const Error& error) {
        log("viewport").warn("Releasing the frame transport failed: {}", error.what());
    }
    m_renderer.reset();
    doneCurrent();
}

void GlViewport::paintGL()
{
    if (!m_renderer)
        return;
    uploadFrames();
    m_renderer->draw(m_scene, size(), devicePixelRatioF(), palette());
    // A painter on the widget itself would be redirected while an ancestor is grabbed, and the
    // overlay lost.
    QOpenGLPaintDevice device(size() * devicePixelRatioF());
    device.setDevicePixelRatio(devicePixelRatioF());
    QPainter painter(&device);
    paintOverlay(painter, m_scene, size(), palette());
    painter.end();
    ++m_paintCount;
}

void GlViewport::uploadFrames()
{
    try {
        m_renderer->upload(m_scene, *m_uploader);
    } catch (const DeviceError& error) {
        fallBack(error.what());
    }
    if (m_isNew && m_scene.hasPicture()) {
        m_isNew = false;
        QMetaObject::invokeMethod(this, &GlViewport::transportChanged, Qt::QueuedConnection);
    }
}

void GlViewport::fallBack(const std::string& reason)
{
    if (m_usesHostMemory) {
        log("viewport").error("A frame could not be uploaded: {}", reason);
        return;
    }
    log("viewport")
        .warn("Frames go through shared memory for the rest of this session: {}", reason);
    try {
        m_uploader->release();
    } catch (const Error&) {
        // The transport is being given up because it fails; its reason is logged above.
    }
    m_uploader = std::make_unique<HostUploader>();
    m_usesHostMemory = true;
    m_isNew = true;
    m_renderer->forgetTextures();
    uploadFrames();
}

} // namespace vergence
