#include "app/shell/command_call.h"

#include "core/base/error.h"

namespace vergence {

namespace {

/// What it said before it gave up: from its last "vergence: " on, then the issues of a
/// configuration, which stand before that.
QString refusalIn(const QByteArray& errors, int exitCode)
{
    const QString text = QString::fromUtf8(errors).trimmed(), mark = QStringLiteral("vergence: ");
    const auto at = text.startsWith(mark) ? 0 : text.lastIndexOf('\n' + mark) + 1;
    if (at == 0 && !text.startsWith(mark))
        return text.section('\n', -1);
    const QString sentence = text.mid(at + mark.size()), before = text.left(at).trimmed();
    const bool hasIssues = exitCode == static_cast<int>(ExitCode::ConfigInvalid);
    return hasIssues && !before.isEmpty() ? sentence + ' ' + before : sentence;
}

} // namespace

CommandCall::CommandCall(QString executable, QObject* parent)
    : QObject(parent),
      m_executable(std::move(executable))
{
    connect(&m_process, &QProcess::finished, this, &CommandCall::takeEnd);
    connect(&m_process, &QProcess::readyReadStandardError, this, &CommandCall::takeTalk);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            Q_EMIT answered(
                {-1,
                 {},
                 tr("%1 cannot be started: %2.").arg(m_executable, m_process.errorString())});
    });
}

CommandCall::~CommandCall()
{
    m_process.disconnect(this);
    if (m_process.state() == QProcess::NotRunning)
        return;
    m_process.kill();
    m_process.waitForFinished(500);
}

void CommandCall::start(const QStringList& arguments)
{
    m_command = arguments.value(0);
    m_process.setStandardInputFile(QProcess::nullDevice());
    m_process.start(m_executable, arguments);
}

void CommandCall::finish(int milliseconds)
{
    m_process.disconnect(this);
    m_process.waitForFinished(milliseconds);
}

void CommandCall::takeTalk()
{
    m_talk += m_process.readAllStandardError();
    for (auto end = m_talk.indexOf('\n', m_told); end >= 0; end = m_talk.indexOf('\n', m_told)) {
        const QByteArray line = m_talk.sliced(m_told, end - m_told);
        m_told = end + 1;
        Q_EMIT talked(QString::fromUtf8(line));
    }
}

void CommandCall::takeEnd()
{
    m_talk += m_process.readAllStandardError();
    CommandAnswer answer{m_process.exitCode(), m_process.readAllStandardOutput(), {}};
    const bool isGood = m_process.exitStatus() == QProcess::NormalExit && answer.exitCode == 0;
    if (!isGood)
        answer.refusal = refusalIn(m_talk, answer.exitCode);
    if (!isGood && answer.refusal.isEmpty())
        answer.refusal =
            tr("`vergence %1` ended with code %2.").arg(m_command).arg(answer.exitCode);
    Q_EMIT answered(answer);
}

} // namespace vergence
