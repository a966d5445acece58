#include "app/shell/sweep_check.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/config/issue.h"

namespace vergence {

namespace {

constexpr int kTypingPauseMs = 300;

/// The first error among these; empty where there is none.
QString firstError(const nlohmann::json& answer)
{
    const auto issues = answer.find("issues");
    if (issues == answer.end() || !issues->is_array())
        return {};
    for (const auto& json : *issues)
        if (const ConfigIssue issue = issueFromJson(json); issue.severity == IssueSeverity::Error)
            return QString::fromStdString(issue.sentence);
    return {};
}

/// Why the run cannot begin; empty where it can.
QString reasonIn(const QByteArray& text)
{
    const auto answer = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
    if (!answer.is_object())
        return SweepCheck::tr("The worker does not answer.");
    if (answer.value("valid", false))
        return {};
    const QString reason = firstError(answer);
    const auto data = answer.find("data");
    return reason.isEmpty() && data != answer.end() ? firstError(*data) : reason;
}

} // namespace

SweepCheck::SweepCheck(QString executable, QStringList extraArguments, QObject* parent)
    : QObject(parent),
      m_executable(std::move(executable)),
      m_extraArguments(std::move(extraArguments))
{
    m_delay.setSingleShot(true);
    m_delay.setInterval(kTypingPauseMs);
    connect(&m_delay, &QTimer::timeout, this, &SweepCheck::next);
    connect(&m_process, &QProcess::finished, this, &SweepCheck::readAnswer);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            Q_EMIT refused(m_waiting.front().sweep->value, tr("The worker cannot be asked."));
    });
}

SweepCheck::~SweepCheck()
{
    cancel();
}

void SweepCheck::checkSoon(std::vector<RunDraft> drafts)
{
    cancel();
    m_waiting = std::move(drafts);
    m_delay.start();
}

void SweepCheck::cancel()
{
    m_delay.stop();
    if (m_process.state() == QProcess::NotRunning)
        return;
    const QSignalBlocker quiet(m_process);
    m_process.kill();
    m_process.waitForFinished(500);
}

void SweepCheck::next()
{
    std::erase_if(m_waiting, [this](const RunDraft& draft) {
        return m_right.contains(validateArguments(draft).join('\n'));
    });
    if (m_waiting.empty()) {
        Q_EMIT passed();
        return;
    }
    m_process.start(m_executable, validateArguments(m_waiting.front()) + m_extraArguments,
                    QIODevice::ReadOnly);
}

void SweepCheck::readAnswer()
{
    const RunDraft& draft = m_waiting.front();
    QString reason;
    try {
        reason = reasonIn(m_process.readAllStandardOutput());
    } catch (const ContractError& error) {
        reason = QString::fromUtf8(error.what());
    }
    if (!reason.isEmpty()) {
        Q_EMIT refused(draft.sweep->value, reason);
        return;
    }
    m_right.insert(validateArguments(draft).join('\n'));
    next();
}

} // namespace vergence
