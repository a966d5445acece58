#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/run/run.h"
#include "core/run/run_controller.h"

namespace vergence::test {

/// Stops a run of a lab exactly where it looks whether it was stopped: whichever look over the
/// whole run is wanted waits until the stop is there. So no test depends on how fast a phase is.
class StopAtPoll {
public:
    explicit StopAtPoll(int wanted) : m_wanted(wanted) {}

    /// `run` with its looks counted. This outlives it.
    std::unique_ptr<Run> around(std::unique_ptr<Run> run)
    {
        return std::make_unique<CountedRun>(*this, std::move(run));
    }
    /// Asks for the stop once the wanted look waits for it; to be called again and again.
    void serve(RunController& controller) const
    {
        if (m_waits)
            controller.requestStop(ExitCode::Interrupted);
    }
    bool wasReached() const { return m_waits; }
    int looks() const { return m_looks; }
    /// "prepare", "load", "step", "save" or "finish"; and what phase the run had told. Of the look
    /// that was stopped.
    const std::string& call() const { return m_call; }
    const std::string& phase() const { return m_phase; }

private:
    /// Hands everything on but the looks.
    class CountedContext final : public RunContext {
    public:
        CountedContext(StopAtPoll& stop, RunContext& to) : m_stop(stop), m_to(to) {}

        std::shared_ptr<Device> device() override { return m_to.device(); }
        Stream& stream() override { return m_to.stream(); }
        const Config& config() const override { return m_to.config(); }
        Rng rng(std::uint64_t stream) const override { return m_to.rng(stream); }
        ArtifactStore& artifacts() override { return m_to.artifacts(); }
        FramePublisher& frames() override { return m_to.frames(); }
        std::int64_t step() const override { return m_to.step(); }
        bool stopRequested() const override
        {
            m_stop.look(m_to);
            return m_to.stopRequested();
        }
        bool metricsDue() const override { return m_to.metricsDue(); }
        bool framesDue() const override { return m_to.framesDue(); }
        void record(const std::string& name, double value) override { m_to.record(name, value); }
        void recordAt(const std::string& name, double value, std::int64_t x) override
        {
            m_to.recordAt(name, value, x);
        }
        void phase(int number, int count, const std::string& name) override
        {
            if (!m_stop.m_waits)
                m_stop.m_phase = name;
            m_to.phase(number, count, name);
        }
        void table(const nlohmann::json& table) override { m_to.table(table); }
        void declareControls(const std::vector<ViewControl>& controls) override
        {
            m_to.declareControls(controls);
        }
        void closeChoices(const std::vector<ClosedChoice>& choices) override
        {
            m_to.closeChoices(choices);
        }
        void declareStreams(const std::vector<StreamDecl>& streams) override
        {
            m_to.declareStreams(streams);
        }
        void warn(const std::string& id, const std::string& sentence) override
        {
            m_to.warn(id, sentence);
        }
        void note(const std::string& key, const nlohmann::json& value) override
        {
            m_to.note(key, value);
        }

    private:
        StopAtPoll& m_stop;
        RunContext& m_to;
    };

    class CountedRun final : public Run {
    public:
        CountedRun(StopAtPoll& stop, std::unique_ptr<Run> run) : m_stop(stop), m_run(std::move(run))
        {
        }

        void prepare(RunContext& context) override
        {
            CountedContext counted = enter("prepare", context);
            m_run->prepare(counted);
        }
        StepOutcome step(RunContext& context) override
        {
            CountedContext counted = enter("step", context);
            return m_run->step(counted);
        }
        std::int64_t totalSteps() const override { return m_run->totalSteps(); }
        void save(RunContext& context, Checkpoint& checkpoint) override
        {
            CountedContext counted = enter("save", context);
            m_run->save(counted, checkpoint);
        }
        void load(RunContext& context, const Checkpoint& checkpoint) override
        {
            CountedContext counted = enter("load", context);
            m_run->load(counted, checkpoint);
        }
        void finish(RunContext& context) override
        {
            CountedContext counted = enter("finish", context);
            m_run->finish(counted);
        }
        void view(RunContext& context, const ViewInput& input) override
        {
            m_run->view(context, input);
        }

    private:
        CountedContext enter(const char* call, RunContext& context)
        {
            if (!m_stop.m_waits)
                m_stop.m_call = call;
            return {m_stop, context};
        }

        StopAtPoll& m_stop;
        std::unique_ptr<Run> m_run;
    };

    void look(const RunContext& context)
    {
        if (m_looks++ != m_wanted)
            return;
        m_waits = true;
        while (!context.stopRequested())
            std::this_thread::yield();
    }

    const int m_wanted;
    std::atomic<int> m_looks{0}; ///< pools of threads may look too
    std::atomic<bool> m_waits{false};
    std::string m_call, m_phase;
};

} // namespace vergence::test
