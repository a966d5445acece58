#include "core/run/worker_process.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/run/worker_log.h"

namespace vergence {

namespace {

/// For the new process. A session is a scheduling group of its own, beside which the niceness of
/// its threads says nothing (sched(7), "The autogroup feature"): with equal groups, a window that
/// draws without a GPU waits for every frame until the run has had its share.
void openSessionBehindTheWindow()
{
    constexpr char kNiceness = '5';
    ::setsid();
    const int file = ::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return; // a kernel without such groups
    [[maybe_unused]] const auto written = ::write(file, &kNiceness, 1);
    ::close(file);
}

} // namespace

WorkerProcess::~WorkerProcess()
{
    if (m_process == nullptr)
        return;
    m_process->disconnect(this);
    if (m_process->state() == QProcess::NotRunning) {
        delete m_process;
        return;
    }
    // The worker outlives us. Its QProcess is kept until it ends, or until this program does.
    QObject::connect(m_process, &QProcess::finished, m_process, &QObject::deleteLater);
}

void WorkerProcess::start(const QString& executable, const QStringList& arguments,
                          const RunFolder& folder)
{
    expects(!isRunning(), "WorkerProcess: runs already");
    m_ending.reset();
    if (m_process != nullptr)
        m_process->deleteLater();
    m_process = new QProcess;
    std::error_code ignored;
    const bool folderExists = std::filesystem::exists(folder.status(), ignored);
    std::filesystem::create_directories(folder.root.parent_path(), ignored);
    const QString log = writableLog(folderExists ? workerLog(folder) : pendingWorkerLog(folder));
    m_process->setStandardInputFile(QProcess::nullDevice());
    m_process->setStandardOutputFile(log, QIODevice::Append);
    m_process->setStandardErrorFile(log, QIODevice::Append);
    m_process->setChildProcessModifier(&openSessionBehindTheWindow);
    connect(m_process, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
        // After a crash Qt's exit code is the number of the signal.
        if (status == QProcess::CrashExit)
            finish({code, 0, {}});
        else
            finish({0, code, {}});
    });
    connect(m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            finish({0, 0, m_process->errorString()});
    });
    m_process->start(executable, arguments);
}

/// Where a run cannot be written its worker says so, and must be heard.
QString WorkerProcess::writableLog(const std::filesystem::path& wanted)
{
    m_strayLog.reset();
    const QString path = QString::fromStdString(wanted.string());
    if (QFile(path).open(QIODevice::Append))
        return path;
    m_strayLog = std::make_unique<QTemporaryFile>();
    return m_strayLog->open() ? m_strayLog->fileName() : QProcess::nullDevice();
}

std::filesystem::path WorkerProcess::strayLog() const
{
    return m_strayLog == nullptr ? std::filesystem::path()
                                 : std::filesystem::path(m_strayLog->fileName().toStdString());
}

void WorkerProcess::finish(Ending ending)
{
    m_ending = std::move(ending);
    Q_EMIT ended();
}

bool WorkerProcess::isRunning() const
{
    return m_process != nullptr && m_process->state() != QProcess::NotRunning;
}

int WorkerProcess::processId() const
{
    return isRunning() ? static_cast<int>(m_process->processId()) : 0;
}

} // namespace vergence
