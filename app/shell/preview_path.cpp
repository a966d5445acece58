#include "app/shell/preview_path.h"

#include <cstdio>

#include <QCoreApplication>
#include <QFileInfo>
#include <QLibrary>
#include <QOffscreenSurface>
#include <QOpenGLContext>

#include "core/base/log.h"
#include "core/compute/backend.h"

namespace vergence {

namespace {

constexpr int kProbeLimitMs = 20'000;

QString modulePath()
{
    for (const std::filesystem::path& folder : moduleFolders()) {
        const QString path =
            QString::fromStdString((folder / "libvergence-cuda-interop.so").string());
        if (QFileInfo::exists(path))
            return path;
    }
    return {};
}

} // namespace

PreviewPath::PreviewPath(QObject* parent) : QObject(parent)
{
    connect(&m_probe, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
        m_isUsable = status == QProcess::NormalExit && code == 0;
        log("shell").info("GPU interop for previews: {}",
                          m_isUsable ? "works"
                                     : m_probe.readAllStandardError().trimmed().toStdString());
        m_usesInterop = m_isUsable;
        if (m_usesInterop)
            Q_EMIT interopReady();
    });
}

PreviewPath::~PreviewPath()
{
    m_probe.disconnect(this);
    m_probe.kill();
    m_probe.waitForFinished(1000);
}

void PreviewPath::choose(const QString& choice)
{
    const bool isWanted = choice != QLatin1String("shm");
    m_usesInterop = isWanted && m_isUsable;
    if (!isWanted || m_wasProbed || modulePath().isEmpty())
        return;
    m_wasProbed = true;
    m_probe.start(QCoreApplication::applicationFilePath(), {"--probe-interop"},
                  QIODevice::ReadOnly);
}

std::unique_ptr<FrameUploader> PreviewPath::makeUploader() const
{
    if (!m_usesInterop)
        return nullptr;
    using Make = FrameUploader* (*)();
    const auto make =
        reinterpret_cast<Make>(QLibrary::resolve(modulePath(), "vergenceFrameUploader"));
    return std::unique_ptr<FrameUploader>(make == nullptr ? nullptr : make());
}

int probeInterop()
{
    using Probe = bool (*)(const char*, char*, int);
    QOffscreenSurface surface;
    surface.create();
    QOpenGLContext context;
    if (!context.create() || !context.makeCurrent(&surface)) {
        std::fprintf(stderr, "no OpenGL context could be made\n");
        return 1;
    }
    const auto probe =
        reinterpret_cast<Probe>(QLibrary::resolve(modulePath(), "vergenceInteropProbe"));
    char reason[512] = "the interop module cannot be loaded";
    if (probe != nullptr && probe("", reason, sizeof(reason)))
        return 0;
    std::fprintf(stderr, "%s\n", reason);
    return 1;
}

} // namespace vergence
