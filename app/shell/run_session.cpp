#include "app/shell/run_session.h"

#include <algorithm>

#include "core/base/clock.h"

namespace vergence {

namespace {

constexpr double kRateWindow = 20; ///< seconds over which the rate is taken
constexpr int kFlushMs = 50;       ///< log lines reach the model in batches of this length

} // namespace

RunSession::RunSession(RunFolder folder, QObject* parent)
    : QObject(parent),
      m_client(std::move(folder)),
      m_log(this)
{
    m_flush.setSingleShot(true);
    m_flush.setInterval(kFlushMs);
    connect(&m_flush, &QTimer::timeout, this, [this] {
        const std::vector<LogRow> lines = std::exchange(m_pendingLines, {});
        m_log.append(lines);
    });
    connect(&m_client, &RunClient::logArrived, this,
            [this](const QString& time, const QString& level, const QString& area,
                   const QString& text) {
                m_pendingLines.push_back({time, area, text, logLevelFromName(level), 1});
                if (!m_flush.isActive())
                    m_flush.start();
            });
    connect(&m_client, &RunClient::problemRaised, this,
            [this](const QString& id, const QString& sentence) {
                m_problems.push_back({id, sentence, QDateTime::currentDateTime()});
                Q_EMIT problemAdded(m_problems.back());
            });
    connect(&m_client, &RunClient::progressChanged, this, &RunSession::noteProgress);
}

void RunSession::noteProgress()
{
    const double now = steadySeconds();
    const std::int64_t step = m_client.status().step;
    if (!m_samples.empty() &&
        (step < m_samples.back().step || now - m_samples.back().seconds < 0.2))
        return;
    m_samples.push_back({now, step});
    const auto old = std::find_if(m_samples.begin(), m_samples.end(), [now](const Sample& sample) {
        return now - sample.seconds <= kRateWindow;
    });
    m_samples.erase(m_samples.begin(), old);
}

double RunSession::stepsPerSecond() const
{
    if (m_samples.size() < 2)
        return 0;
    const double seconds = m_samples.back().seconds - m_samples.front().seconds;
    return seconds < 0.5
               ? 0
               : static_cast<double>(m_samples.back().step - m_samples.front().step) / seconds;
}

double RunSession::secondsLeft() const
{
    const RunStatus& status = m_client.status();
    const double rate = stepsPerSecond();
    if (rate <= 0 || status.total <= 0)
        return -1;
    const bool isSettled =
        m_samples.back().seconds - m_samples.front().seconds >= 10 ||
        static_cast<double>(status.step) >= 0.02 * static_cast<double>(status.total);
    return isSettled ? static_cast<double>(status.total - status.step) / rate : -1;
}

} // namespace vergence
