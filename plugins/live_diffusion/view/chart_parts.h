#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/view/diagram.h"

namespace vergence::live {

// What several drawings of this folder are put together from.

/// A title and one sentence in the middle: a drawing that has nothing to show yet.
Diagram emptyChart(const std::string& title, const std::string& sentence, double width,
                   double height);

/// Whole numbers at round distances from `first` to `last`, at most `count`, as ticks of an axis.
std::vector<std::pair<double, std::string>> wholeTicks(double first, double last, int count = 8);

/// A line of a budget: where, how it is called, its colour.
struct BudgetLine {
    double ms = 0;
    std::string name, colour;
};
/// 16 and 40 ms, and the user's own where there is one (a positive number), upwards.
std::vector<BudgetLine> budgetLines(double ownMs);

} // namespace vergence::live
