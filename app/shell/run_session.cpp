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
    connect(&m_flush, &QTimer::timeout, this, &RunSession::flushLog);
    connect(&m_client, &RunClient::logArrived, this,
            [this](const QString& time, const QString& level, const QString& area,
                   const QString& text) {
                addLine({time, area, text, logLevelFromName(level), 1});
            });
    connect(&m_client, &RunClient::problemRaised, this,
            [this](const QString& id, const QString& sentence) {
                m_problems.push_back({id, sentence, QDateTime::currentDateTime()});
                Q_EMIT problemAdded(m_problems.back());
            });
    connect(&m_client, &RunClient::progressChanged, this, &RunSession::noteProgress);
    connect(&m_client, &RunClient::stateChanged, this, &RunSession::noteState);
}

void RunSession::addLine(LogRow row)
{
    m_intake.add(std::move(row));
    if (!m_flush.isActive())
        m_flush.start();
}

void RunSession::flushLog()
{
    const std::vector<LogRow> lines = m_intake.take();
    m_log.append(lines);
    if (!m_intake.isEmpty())
        m_flush.start();
}

void RunSession::noteEvent(const QString& text, LogLevel level)
{
    addLine({QDateTime::currentDateTimeUtc().toString(Qt::ISODateWithMs), "run", text, level, 1});
}

/// Labs that log nothing still have a log that tells what happened.
void RunSession::noteState(RunState state)
{
    const bool wasLive = isLive(m_notedState);
    // A worker tells its whole story again to whoever connects.
    if (state == m_notedState || (state == RunState::Starting && wasLive))
        return;
    m_notedState = state;
    if (!isLive(state) && !wasLive)
        return; // a run that had ended before the window looked
    const QString name = QString::fromStdString(nameOf(state));
    const std::int64_t step = m_client.status().step;
    const bool isBad = state == RunState::Failed || state == RunState::Crashed;
    noteEvent(step > 0 ? tr("%1 at step %L2").arg(name).arg(step) : name,
              isBad ? LogLevel::Error : LogLevel::Info);
}

void RunSession::noteProgress()
{
    if (const QString phase = m_client.phase(); phase != m_notedPhase) {
        m_notedPhase = phase;
        if (!phase.isEmpty())
            noteEvent(tr("Phase: %1").arg(phase), LogLevel::Info);
    }
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
