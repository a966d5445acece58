#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "core/config/closed_choice.h"
#include "core/run/run.h"
#include "core/run/run_controller.h"

namespace vergence::test {

/// A moment within a step at which a run is stopped, however fast or slow the computer is: when it
/// asks for the `poll`-th time in step `step` (counted from 0) whether it is to stop.
struct StopMoment {
    std::int64_t step = 0;
    int poll = 1;
    int polls = 0;                   ///< questions asked in that step so far
    std::atomic<bool> isDue = false; ///< the run waits for the stop

    /// To be called from the polling thread.
    void serve(RunController& controller)
    {
        if (isDue)
            controller.requestStop(ExitCode::Interrupted);
    }
};

/// Passes everything on; where the moment has come, stopRequested() waits until it is true.
class StoppingContext final : public RunContext {
public:
    StoppingContext(RunContext& inner, StopMoment& moment) : m_inner(inner), m_moment(moment) {}

    bool stopRequested() const override
    {
        if (m_inner.step() == m_moment.step && ++m_moment.polls == m_moment.poll)
            wait();
        return m_inner.stopRequested();
    }

    std::shared_ptr<Device> device() override { return m_inner.device(); }
    Stream& stream() override { return m_inner.stream(); }
    const Config& config() const override { return m_inner.config(); }
    Rng rng(std::uint64_t stream) const override { return m_inner.rng(stream); }
    ArtifactStore& artifacts() override { return m_inner.artifacts(); }
    FramePublisher& frames() override { return m_inner.frames(); }
    std::int64_t step() const override { return m_inner.step(); }
    bool metricsDue() const override { return m_inner.metricsDue(); }
    bool framesDue() const override { return m_inner.framesDue(); }
    void record(const std::string& name, double value) override { m_inner.record(name, value); }
    void recordAt(const std::string& name, double value, std::int64_t x) override
    {
        m_inner.recordAt(name, value, x);
    }
    void phase(int number, int count, const std::string& name) override
    {
        m_inner.phase(number, count, name);
    }
    void table(const nlohmann::json& table) override { m_inner.table(table); }
    void declareControls(const std::vector<ViewControl>& controls) override
    {
        m_inner.declareControls(controls);
    }
    void closeChoices(const std::vector<ClosedChoice>& choices) override
    {
        m_inner.closeChoices(choices);
    }
    void declareStreams(const std::vector<StreamDecl>& streams) override
    {
        m_inner.declareStreams(streams);
    }
    void warn(const std::string& id, const std::string& sentence) override
    {
        m_inner.warn(id, sentence);
    }
    void note(const std::string& key, const nlohmann::json& value) override
    {
        m_inner.note(key, value);
    }

private:
    void wait() const
    {
        m_moment.isDue = true;
        while (!m_inner.stopRequested())
            std::this_thread::yield();
    }

    RunContext& m_inner;
    StopMoment& m_moment;
};

/// A run that is stopped at a moment.
class StoppingRun final : public Run {
public:
    StoppingRun(std::unique_ptr<Run> run, std::shared_ptr<StopMoment> moment)
        : m_run(std::move(run)),
          m_moment(std::move(moment))
    {
    }

    void prepare(RunContext& context) override { m_run->prepare(context); }
    StepOutcome step(RunContext& context) override
    {
        StoppingContext stopping(context, *m_moment);
        return m_run->step(stopping);
    }
    std::int64_t totalSteps() const override { return m_run->totalSteps(); }
    void save(RunContext& context, Checkpoint& checkpoint) override
    {
        m_run->save(context, checkpoint);
    }
    void load(RunContext& context, const Checkpoint& checkpoint) override
    {
        m_run->load(context, checkpoint);
    }
    void finish(RunContext& context) override { m_run->finish(context); }
    void view(RunContext& context, const ViewInput& input) override { m_run->view(context, input); }

private:
    std::unique_ptr<Run> m_run;
    std::shared_ptr<StopMoment> m_moment;
};

} // namespace vergence::test
