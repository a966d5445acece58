#include "app/shell/preview_path.h"

#include <cstdio>
#include <optional>
#include <utility>

#include <unistd.h>

#include <QCoreApplication>
#include <QFileInfo>
#include <QLibrary>
#include <QOffscreenSurface>
#include <QOpenGLContext>
#include <QTimer>

#include "app/viewport/gl_warmup.h"
#include "core/base/log.h"
#include "core/compute/backend.h"
#include "core/plugin/plugin_registry.h"

namespace vergence {

namespace {

constexpr int kWarmupNice = 10; ///< a run that starts meanwhile goes first
constexpr int kLongestWarmupMs = 10'000;

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

/// This program where its options can be given to a child; a window inside another program (a
/// test's) would start that program again.
std::optional<QString> studioProgram()
{
    QString program = QCoreApplication::applicationFilePath();
    if (QFileInfo(program).completeBaseName() != QLatin1String("vergence-studio"))
        return std::nullopt;
    return program;
}

} // namespace

PreviewPath::PreviewPath(QObject* parent) : QObject(parent)
{
    connect(&m_probe, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
        m_device = m_probe.readAllStandardOutput().trimmed();
        m_isUsable = status == QProcess::NormalExit && code == 0 && !m_device.isEmpty();
        log("shell").info("GPU interop for previews: {}",
                          m_isUsable ? "works"
                                     : m_probe.readAllStandardError().trimmed().toStdString());
        use(m_isWanted && m_isUsable);
    });
    connect(&m_warmup, &QProcess::stateChanged, this, [this](QProcess::ProcessState state) {
        if (state == QProcess::NotRunning)
            endWarming();
    });
}

PreviewPath::~PreviewPath()
{
    m_probe.disconnect(this);
    m_probe.kill();
    m_probe.waitForFinished(1000);
    m_warmup.disconnect(this);
    m_warmup.kill();
    m_warmup.waitForFinished(1000);
}

void PreviewPath::warmShaders()
{
    const std::optional<QString> program = studioProgram();
    if (!program)
        return;
    m_warmup.setStandardOutputFile(QProcess::nullDevice());
    m_warmup.setStandardErrorFile(QProcess::nullDevice());
    m_warmup.setChildProcessModifier([] { nice(kWarmupNice); });
    m_isWarming = true;
    QTimer::singleShot(kLongestWarmupMs, this, &PreviewPath::endWarming);
    m_warmup.start(*program, {"--warm-shaders"});
}

void PreviewPath::endWarming()
{
    if (std::exchange(m_isWarming, false))
        Q_EMIT shadersWarm();
}

void PreviewPath::choose(const QString& choice)
{
    m_isWanted = choice != QLatin1String("shm");
    use(m_isWanted && m_isUsable);
    const std::optional<QString> program = studioProgram();
    if (!m_isWanted || m_wasProbed || !program || modulePath().isEmpty())
        return;
    m_wasProbed = true;
    m_probe.start(*program, {"--probe-interop"}, QIODevice::ReadOnly);
}

void PreviewPath::use(bool interop)
{
    if (m_usesInterop == interop)
        return;
    m_usesInterop = interop;
    if (interop)
        Q_EMIT interopReady();
    else
        Q_EMIT interopGone();
}

void PreviewPath::giveUp()
{
    if (!m_usesInterop)
        return; // the user chose so, and may choose otherwise
    m_isUsable = false;
    use(false);
}

std::unique_ptr<FrameUploader> PreviewPath::makeUploader() const
{
    if (!m_usesInterop)
        return nullptr;
    using Make = FrameUploader* (*)(const char*);
    const auto make =
        reinterpret_cast<Make>(QLibrary::resolve(modulePath(), "vergenceFrameUploader"));
    return std::unique_ptr<FrameUploader>(make == nullptr ? nullptr : make(m_device.constData()));
}

int warmShaders()
{
    return warmShaderCache(cacheHome() / "shaders-are-warm");
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
    char answer[512] = "the interop module cannot be loaded";
    const bool works = probe != nullptr && probe("", answer, sizeof(answer));
    std::fprintf(works ? stdout : stderr, "%s\n", answer);
    return works ? 0 : 1;
}

} // namespace vergence
