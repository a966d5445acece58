#include "plugins/foveated_vlm/train/train_settings.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace vergence::fvlm {

Index TrainSettings::warmupUpdates() const
{
    expects(warmup >= 0, "TrainSettings: the warm-up is not negative");
    const double count = warmup < 1 ? warmup * static_cast<double>(updates) : warmup;
    return static_cast<Index>(std::llround(count));
}

double TrainSettings::rateAt(Part part, Index s) const
{
    Schedule rates;
    rates.kind = schedule;
    // A run too short for its warm-up still ends after it.
    rates.warmup = warmupUpdates();
    rates.total = std::max(updates, rates.warmup + 1);
    rates.floor = cosineFloor;
    rates.target = live.targetRate;
    return rates.rate(s, live.rates[static_cast<std::size_t>(part)]);
}

std::array<double, FoveatedModel::kGroups> TrainSettings::ratesAt(Index s) const
{
    std::array<double, FoveatedModel::kGroups> rates{};
    for (std::size_t group = 0; group < rates.size(); ++group)
        rates[group] = rateAt(static_cast<Part>(group / 2), s);
    return rates;
}

} // namespace vergence::fvlm
