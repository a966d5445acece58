#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "core/config/config.h"
#include "core/run/metric_log.h"
#include "core/run/outbox.h"
#include "core/run/preview_pacer.h"
#include "core/run/run_context.h"
#include "core/run/run_control.h"

namespace vergence {

/// The context that a RunController lends to its run. Used by the run thread; step and phase may be
/// read from others.
class ControllerContext final : public RunContext {
public:
    struct Services {
        std::shared_ptr<Device> device;
        ArtifactStore& artifacts;
        FramePublisher& frames;
        MetricLog& metrics;
        Outbox& outbox;
        const RunControl& control;
        bool keepsNothing = false;              ///< exploring: numbers and notes are dropped
        const std::vector<StreamDecl>& streams; ///< of the plugin
    };
    ControllerContext(Services services, Config config, double previewInterval);

    std::shared_ptr<Device> device() override { return m_services.device; }
    Stream& stream() override;
    const Config& config() const override { return m_config; }
    Rng rng(std::uint64_t stream) const override;
    ArtifactStore& artifacts() override { return m_services.artifacts; }
    FramePublisher& frames() override { return m_services.frames; }
    std::int64_t step() const override { return m_step; }
    bool stopRequested() const override;
    bool metricsDue() const override { return true; }
    bool framesDue() const override;
    void record(const std::string& name, double value) override { recordAt(name, value, m_step); }
    void recordAt(const std::string& name, double value, std::int64_t x) override;
    void phase(int number, int count, const std::string& name) override;
    void table(const nlohmann::json& table) override;
    void declareControls(const std::vector<ViewControl>& controls) override;
    void closeChoices(const std::vector<ClosedChoice>& choices) override;
    void declareStreams(const std::vector<StreamDecl>& streams) override;
    void warn(const std::string& id, const std::string& sentence) override;
    void note(const std::string& key, const nlohmann::json& value) override;

    void setStep(std::int64_t step) { m_step = step; }
    void setConfig(Config config) { m_config = std::move(config); }
    /// Once steps begin, what the start was doing is over.
    void endPreparation();
    PreviewPacer& pacer() { return m_pacer; }
    /// What the run is doing, as it said last; any thread.
    std::string currentPhase() const;
    const nlohmann::json& notes() const { return m_notes; }
    /// Frees the stream in the thread that used it.
    void close() { m_stream.reset(); }

private:
    Services m_services;
    Config m_config;
    mutable PreviewPacer m_pacer;
    std::unique_ptr<Stream> m_stream;
    std::atomic<std::int64_t> m_step{0};
    mutable std::mutex m_phaseMutex;
    std::string m_phase;
    nlohmann::json m_notes = nlohmann::json::object();
};

} // namespace vergence
