#pragma once

#include <string>
#include <vector>

#include "core/metrics/metric_store.h"
#include "core/view/diagram.h"
#include "plugins/foveated_vlm/view/metric_decls.h"

namespace vergence::fvlm {

/// A level known from elsewhere, for instance of a published run.
struct ChartReference {
    std::string group; ///< id of a ChartGroup
    double value = 0;
    std::string label;
};

struct ChartLook {
    double width = 560, height = 320;
    std::vector<ChartReference> references{};
};

/// One group: a line per series, smoothed where it is long, over the band of its values; empty
/// drawing with a sentence where the store has none of its series.
Diagram trainingChart(const ChartGroup& group, const MetricStore& store,
                      const ChartLook& look = {});
/// Whether the store has a finite point of the group.
bool hasPoints(const ChartGroup& group, const MetricStore& store);

/// Losses above, their ratio below, on one axis of steps: what a run is about.
Diagram lossChart(const MetricStore& store, const ChartLook& look = {});
/// All groups with points, two a row.
Diagram chartPage(const MetricStore& store, const ChartLook& look = {});
/// Losses per frame index at the end: means of the last tenth of each series; nothing without them.
Diagram frameLossChart(const MetricStore& store, const ChartLook& look = {});

} // namespace vergence::fvlm
