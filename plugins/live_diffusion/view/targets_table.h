#pragma once

#include <string>
#include <vector>

#include "core/view/diagram.h"

namespace vergence::live {

/// A time that one frame may take.
struct FrameBudget {
    double milliseconds = 0;
    std::string name;
};
/// The two product budgets and the four weekly targets, from the easiest to the hardest.
std::vector<FrameBudget> publishedBudgets();

/// What the budgets ask of a device.
struct Targets {
    std::string device, model;
    double boundMs = 0;      ///< least time of one evaluation by the roofline
    double overheadMs = 0.3; ///< of a frame beside its evaluations
    std::vector<FrameBudget> budgets = publishedBudgets();
    std::vector<int> steps{1, 2, 4}; ///< evaluations a frame
    std::vector<double> measuredMs;  ///< per frame, beside `steps`; NaN or missing: not measured
};

/// Share of the roofline that a frame of so many evaluations must reach to hold the budget:
/// steps · bound / (budget − overhead); infinite where the overhead alone is too long.
double neededShare(const Targets& targets, double budgetMs, int steps);

/// Rows of budgets, columns of steps: the share needed, impossible from 99.5 % on, and whether the
/// measured frame holds it.
Diagram targetsTable(const Targets& targets);

} // namespace vergence::live
