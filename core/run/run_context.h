#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/artifact/artifact_store.h"
#include "core/compute/backend.h"
#include "core/compute/rng.h"
#include "core/compute/stream.h"
#include "core/metrics/metric_sink.h"
#include "core/view/frame_publisher.h"

namespace vergence {

class Config;
struct ClosedChoice;

/// All that a run may touch; lent for the length of a call, never stored.
class RunContext {
public:
    virtual ~RunContext();

    virtual std::shared_ptr<Device> device() = 0;
    virtual Stream& stream() = 0;
    /// Frozen values, with live changes applied between steps.
    virtual const Config& config() const = 0;
    virtual Rng rng(std::uint64_t stream) const = 0; ///< seeded by the configuration's `seed`
    virtual ArtifactStore& artifacts() = 0;
    virtual FramePublisher& frames() = 0;

    /// Steps done so far; 0 in the first call of step().
    virtual std::int64_t step() const = 0;
    /// People, a signal or the time limit ask the run to end; once true it stays true.
    virtual bool stopRequested() const = 0;
    virtual bool metricsDue() const = 0; ///< time to report (every step by default)
    virtual bool
    framesDue() const = 0; ///< a viewer watches and at least the preview interval has passed

    /// Records a number at the current step, or at `x` for series with an abscissa of their own.
    virtual void record(const std::string& name, double value) = 0;
    virtual void recordAt(const std::string& name, double value, std::int64_t x) = 0;
    /// "loading data", 1 of 3: what the starting run is doing.
    virtual void phase(int number, int count, const std::string& name) = 0;
    /// A table that grows or is replaced: columns and rows of numbers or texts ({"id", "title",
    /// "columns", "rows"}).
    virtual void table(const nlohmann::json& table) = 0;
    /// What the viewer may move (replaces earlier declarations).
    virtual void declareControls(const std::vector<ViewControl>& controls) = 0;
    /// Values of settings that the device does not offer, so that nobody moves a live setting there
    /// (replaces earlier declarations).
    virtual void closeChoices(const std::vector<ClosedChoice>& choices) = 0;
    /// Streams decided at run time, beside those of the plugin.
    virtual void declareStreams(const std::vector<StreamDecl>& streams) = 0;
    /// A sentence for people, shown in Problems; the run goes on.
    virtual void warn(const std::string& id, const std::string& sentence) = 0;
    /// Adds to the manifest under `plugin_data`, and names input data with their hash.
    virtual void note(const std::string& key, const nlohmann::json& value) = 0;
};

} // namespace vergence
