#include "plugins/sugar/train/aligner_schedule.h"

#include <algorithm>

#include "core/base/error.h"

namespace vergence::sugar {

AlignmentSchedule::AlignmentSchedule(AlignmentScheduleSettings settings) : m_settings(settings)
{
    expects(settings.steps >= 0 && settings.phase1 >= 0 && settings.ramp >= 0,
            "AlignmentSchedule: numbers of steps must not be negative");
    expects(settings.knnEvery >= 1 && settings.every >= 1 && settings.dnEvery >= 1,
            "AlignmentSchedule: intervals must be at least 1");
}

bool AlignmentSchedule::refreshesNeighbours(std::int64_t s) const
{
    return s >= m_settings.phase1 && (s - m_settings.phase1) % m_settings.knnEvery == 0;
}

double AlignmentSchedule::weightAt(std::int64_t s, std::int64_t every) const
{
    const std::int64_t since = s - m_settings.phase1;
    if (since <= 0 || since % every != 0)
        return 0;
    const double rise = since < m_settings.ramp
                            ? static_cast<double>(since) / static_cast<double>(m_settings.ramp)
                            : 1;
    return rise * static_cast<double>(every);
}

} // namespace vergence::sugar
