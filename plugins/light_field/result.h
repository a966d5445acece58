#pragma once

#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugins/light_field/compute/evaluation.h"
#include "plugins/light_field/compute/solver.h"
#include "plugins/light_field/sweep.h"

namespace vergence::light_field {

/// One line of loss.csv.
struct HistoryPoint {
    IterationRecord record;
    double heldOutPsnr =
        std::numeric_limits<double>::quiet_NaN(); ///< dB in the ROI; NaN where it was not measured
    double seconds = 0;                           ///< solving time up to here
};

/// What came out of one item.
struct ItemResult {
    int index = 0;
    int iterations = 0;
    double seconds = 0;
    double mseFirst = 0, mseFinal = 0;
    Quality training, heldOut;
    std::vector<double> trainingFocus, heldOutFocus; ///< accommodation of every state, dioptres
    std::string failure;                             ///< sentence; empty where it worked
    std::vector<HistoryPoint> history;
    bool isPartial = false; ///< what a stop left, which no checkpoint keeps
};

nlohmann::json toJson(const ItemResult& result);
ItemResult resultFromJson(const nlohmann::json& json); ///< throws InputError

std::string lossCsv(const ItemResult& result);
/// sweep.csv: one line per item, also for boards that equal an earlier one.
std::string sweepCsv(const std::vector<SweepItem>& items, const std::vector<ItemResult>& results);
/// The same as a table for the window: the abscissa first, then the qualities.
nlohmann::json sweepTable(const std::string& axis, const std::vector<SweepItem>& items,
                          const std::vector<ItemResult>& results);

/// ROI PSNR over accommodation, one column per solved item, the mean over eye positions; tables
/// "focus_training" and "focus_heldout". Empty where no item has more than one accommodation.
std::vector<nlohmann::json> focusTables(const std::vector<SweepItem>& items,
                                        const std::vector<ItemResult>& results);

} // namespace vergence::light_field
