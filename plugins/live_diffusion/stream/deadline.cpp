#include "plugins/live_diffusion/stream/deadline.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::live {

namespace {

constexpr int kStandardGrid = 64, kSmallestGrid = 16, kSmallestSize = 64;
/// Share of what is allowed below which a rung up is foreseen to fit.
constexpr double kRoom = 0.75;

void check(const DeadlineSettings& settings)
{
    expects(settings.budget > 0 && settings.fill > 0 && settings.fill <= 1,
            "deadline keeper: a budget above 0, filled by 0 to 1");
    expects(settings.window >= 1 && settings.hysteresis >= 1,
            "deadline keeper: windows of at least one frame");
}

/// Work grows with steps and cells of the grid.
QualityLevel costed(QualityLevel level)
{
    const double side = static_cast<double>(level.size) / level.patch;
    level.cost = level.steps * side * side;
    return level;
}

} // namespace

std::string QualityLevel::text() const
{
    return fmt::format("{} px, p {}, {} step{}", size, patch, steps, steps == 1 ? "" : "s");
}

std::vector<QualityLevel> qualityLadder(const QualityLevel& best)
{
    expects(best.steps >= 1 && best.patch >= 1 && best.size >= best.patch,
            "quality ladder: at least one step and one cell");
    std::vector<QualityLevel> ladder = {costed(best)};
    QualityLevel level = best;
    while (level.steps > 1) {
        level.steps /= 2;
        ladder.push_back(costed(level));
    }
    if (level.size / level.patch > kStandardGrid) {
        level.patch = level.size / kStandardGrid;
        ladder.push_back(costed(level));
    }
    while (level.size / 2 >= kSmallestSize && level.size / 2 / level.patch >= kSmallestGrid) {
        level.size /= 2;
        ladder.push_back(costed(level));
    }
    return ladder;
}

DeadlineKeeper::DeadlineKeeper(std::vector<QualityLevel> ladder, const DeadlineSettings& settings)
    : m_ladder(std::move(ladder)),
      m_settings(settings)
{
    expects(!m_ladder.empty(), "deadline keeper: at least one rung");
    check(settings);
}

void DeadlineKeeper::setSettings(const DeadlineSettings& settings)
{
    check(settings);
    m_settings = settings;
    m_window.clear();
}

double DeadlineKeeper::percentile95() const
{
    if (m_window.empty())
        return 0;
    std::vector<double> sorted = m_window;
    std::ranges::sort(sorted);
    const double rank = 0.95 * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(rank);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], rank - static_cast<double>(below));
}

bool DeadlineKeeper::mayGoUp(double percentile) const
{
    if (m_at == 0 || m_frames < m_upNotBefore)
        return false;
    const double foreseen = percentile * m_ladder[m_at - 1].cost / m_ladder[m_at].cost;
    return foreseen < kRoom * m_settings.fill * m_settings.budget;
}

QualityLevel DeadlineKeeper::moveTo(std::size_t rung)
{
    m_cameUp = rung < m_at;
    m_at = rung;
    m_lastChange = m_frames;
    m_window.clear();
    return level();
}

std::optional<QualityLevel> DeadlineKeeper::add(double seconds)
{
    ++m_frames;
    if (m_window.size() >= static_cast<std::size_t>(m_settings.window))
        m_window.erase(m_window.begin());
    m_window.push_back(seconds);
    const bool isFull = m_window.size() == static_cast<std::size_t>(m_settings.window);
    const bool isCalm = m_lastChange == 0 || m_frames - m_lastChange >= m_settings.hysteresis;
    if (!m_settings.isOn || !isFull || !isCalm)
        return std::nullopt;
    const double percentile = percentile95();
    if (percentile > m_settings.fill * m_settings.budget) {
        if (m_at + 1 == m_ladder.size())
            return std::nullopt;
        if (m_cameUp) {
            m_patience = std::max<std::int64_t>(2 * m_patience, 4 * m_settings.hysteresis);
            m_upNotBefore = m_frames + m_patience;
        }
        return moveTo(m_at + 1);
    }
    if (mayGoUp(percentile))
        return moveTo(m_at - 1);
    return std::nullopt;
}

} // namespace vergence::live
