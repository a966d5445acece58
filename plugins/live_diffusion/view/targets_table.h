#pragma once

#include <string>
#include <vector>

#include "core/view/diagram.h"

namespace vergence::live {

/// What the time budgets of profile/targets.h ask of a device.
struct Targets {
    std::string device, model;
    double boundMs = 0;               ///< least time of one evaluation by the roofline
    std::vector<int> steps{1, 2, 4};  ///< evaluations a frame
    std::vector<double> measuredMs{}; ///< per frame, beside `steps`; NaN or missing: not measured
};

/// Rows of budgets, columns of steps: the share of the roofline that is needed, and whether the
/// measured frame holds the budget.
Diagram targetsTable(const Targets& targets);

} // namespace vergence::live
