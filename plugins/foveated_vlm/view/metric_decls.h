#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/metrics/metric_decl.h"

namespace vergence::fvlm {

/// Every series of the lab. Losses per frame are called loss_frame_1, loss_frame_2, … and need no
/// declaration. Specification, section 12.
const std::vector<MetricDecl>& metricDecls();

/// Series that belong on one pair of axes.
struct ChartGroup {
    struct Line {
        std::string series, label;
        bool isDashed = false; ///< lies over another line
    };
    std::string id, title, yTitle;
    std::vector<Line> lines;
    std::optional<double> reference{}; ///< a level line, for instance a ratio of 1
    std::string referenceLabel{};
    bool isLog = false;
    std::string note{}; ///< below the title
};
/// In the order of the page. Groups whose series a run does not have are left out by who draws.
const std::vector<ChartGroup>& chartGroups();

} // namespace vergence::fvlm
