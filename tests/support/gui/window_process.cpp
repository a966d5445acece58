#include "tests/support/gui/window_process.h"

#include <csignal>

#include <QElapsedTimer>

namespace vergence {

namespace {

constexpr int kPatienceMs = 60'000;

} // namespace

WindowProcess::WindowProcess(const QString& plugin, const QString& toml, const QString& layout)
{
    m_process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    m_process.start(VERGENCE_BINARY_DIR "/bin/tests/vergence-test-window", {plugin, toml, layout});
    QElapsedTimer timer;
    timer.start();
    while (!m_process.canReadLine() && timer.elapsed() < kPatienceMs &&
           m_process.state() != QProcess::NotRunning)
        m_process.waitForReadyRead(100);
    m_run = QString::fromUtf8(m_process.readLine()).trimmed();
}

WindowProcess::~WindowProcess()
{
    kill();
}

bool WindowProcess::kill()
{
    if (m_process.state() == QProcess::NotRunning)
        return true;
    ::kill(static_cast<pid_t>(m_process.processId()), SIGKILL);
    return m_process.waitForFinished(kPatienceMs);
}

} // namespace vergence
