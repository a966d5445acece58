#include "app/shell/draft_validator.h"

#include <nlohmann/json.hpp>

#include "app/shell/worker_commands.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace vergence {

namespace {

constexpr int kDelayMs = 300;

std::vector<ConfigIssue> issuesIn(const nlohmann::json& answer)
{
    std::vector<ConfigIssue> issues;
    if (!answer.is_object() || !answer.contains("issues") || !answer["issues"].is_array())
        return issues;
    for (const auto& issue : answer["issues"])
        issues.push_back(issueFromJson(issue));
    return issues;
}

DataReport dataIn(const nlohmann::json& answer)
{
    return answer.is_object() && answer.contains("data") ? dataReportFromJson(answer["data"])
                                                         : DataReport{};
}

} // namespace

DraftValidator::DraftValidator(QString executable, QStringList extraArguments, QObject* parent)
    : QObject(parent),
      m_executable(std::move(executable)),
      m_extraArguments(std::move(extraArguments))
{
    m_delay.setSingleShot(true);
    m_delay.setInterval(kDelayMs);
    connect(&m_delay, &QTimer::timeout, this, &DraftValidator::start);
    connect(&m_process, &QProcess::finished, this, &DraftValidator::readAnswer);
}

DraftValidator::~DraftValidator()
{
    cancel();
}

void DraftValidator::validateSoon(const std::string& toml)
{
    cancel();
    m_toml = toml;
    m_delay.start();
}

void DraftValidator::cancel()
{
    m_delay.stop();
    if (m_process.state() == QProcess::NotRunning)
        return;
    const QSignalBlocker quiet(m_process);
    m_process.kill();
    m_process.waitForFinished(500);
}

void DraftValidator::start()
{
    try {
        const QString file = m_folder.filePath("draft.toml");
        writeFileAtomic(file.toStdString(), m_toml);
        m_process.start(m_executable, validateArguments(file) + m_extraArguments,
                        QIODevice::ReadOnly);
    } catch (const Error& error) {
        log("shell").warn("The draft cannot be checked by the plugin's rules. {}", error.what());
    }
}

void DraftValidator::readAnswer()
{
    if (m_process.exitStatus() != QProcess::NormalExit)
        return;
    try {
        const QByteArray text = m_process.readAllStandardOutput();
        const auto answer = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
        Q_EMIT validated(issuesIn(answer), dataIn(answer));
    } catch (const std::exception& error) {
        log("shell").warn("The answer of `vergence validate` is not understood. {}", error.what());
    }
}

} // namespace vergence
