#include "core/compute/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/error.h"

namespace vergence {

double Schedule::rate(Index s, double base) const
{
    expects(s >= 0 && warmup >= 0, "Schedule: updates and warm-up count from 0");
    expects(kind == ScheduleKind::Constant || total > warmup,
            "Schedule: it must end after its warm-up");
    if (s < warmup)
        return base * static_cast<double>(s) / static_cast<double>(warmup);
    if (kind == ScheduleKind::Constant)
        return base;
    const double t =
        std::min(1.0, static_cast<double>(s - warmup) / static_cast<double>(total - warmup));
    const double left = 0.5 * (1 + std::cos(std::numbers::pi * t));
    const double end = kind == ScheduleKind::Cosine ? base * floor : target;
    return end + (base - end) * left;
}

} // namespace vergence
