#pragma once

#include <optional>

#include "plugins/live_diffusion/bench/stream_target.h"
#include "plugins/live_diffusion/session/part.h"

namespace vergence::live {

/// Each technique of inference alone, cumulated and left out, against the strict baseline: one row
/// a step. `ab_frames` frames are timed per row. With `ab_seconds` rows share that time, cumulative
/// ones come first, and those that it does not reach are listed as left out.
///
/// Streams ab, ab_table, and claims where one device measured both precisions; files ab/ab.md,
/// .csv, .json, ab/waterfall and ab/table as PNG and SVG, ab/claims likewise; series ab_speedup
/// (best cumulative row) and ab_rows (measured rows).
class AbRunPart final : public Part {
public:
    explicit AbRunPart(Networks& networks) : m_networks(networks) {}

    void begin(RunContext& context) override;
    std::int64_t stepsLeft() const override;
    void finish(RunContext& context) override;

    /// Measured rows, then those that were left out.
    std::vector<AbEntry> entries() const;

private:
    bool advance(RunContext& context) override;
    std::vector<AbStep> planned() const;
    bool isOutOfTime() const;
    void show(RunContext& context) const;

    Networks& m_networks;
    bool m_hasBegun = false;
    BenchSubject m_subject;
    std::vector<AbStep> m_plan;
    std::optional<StreamTarget> m_target;
    std::optional<AbRun> m_run;
    double m_seconds = 0; ///< spent on rows
};

} // namespace vergence::live
