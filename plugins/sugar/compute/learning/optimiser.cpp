#include "plugins/sugar/compute/learning/optimiser.h"

#include <algorithm>
#include <cmath>

namespace vergence::sugar {

double positionRate(const LearningRates& rates, double extent, double step, double steps)
{
    const double progress = steps > 0 ? std::clamp(step / steps, 0.0, 1.0) : 0.0;
    return extent * rates.position * std::pow(rates.positionFinal / rates.position, progress);
}

} // namespace vergence::sugar
