#pragma once

#include <memory>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plugins/sugar/pipeline/memory_report.h"
#include "plugins/sugar/pipeline/stage.h"
#include "plugins/sugar/pipeline/stage_store.h"

namespace vergence::sugar {

/// The stages of a run, one after another. A stage whose result an earlier run has is taken over; a
/// finished one is kept for later runs.
class Pipeline {
public:
    Pipeline(RunContext& context, Workspace workspace);
    ~Pipeline();

    Workspace& workspace() { return m_workspace; }
    /// Takes over what it can and starts the first stage that has something to do. A run that goes
    /// on from a checkpoint starts none: load() does.
    void begin(RunContext& context);
    /// One step of the stage at work; tests on held-out pictures belong to the step before them.
    StepOutcome step(RunContext& context);
    /// Warns of pictures that were left out since the last call, and lists them with the data.
    void reportLeftOut(RunContext& context);
    /// Steps of all stages that this run makes itself.
    std::int64_t totalSteps() const;
    void save(RunContext& context, Checkpoint& checkpoint) const;
    /// After begin(), which may have started another stage. Of no use where a stop came meanwhile.
    void load(RunContext& context, const Checkpoint& checkpoint);
    /// Results of the stage at work, finished or not.
    void finish(RunContext& context);
    /// Once the results of the run are written.
    void reportMemory(RunContext& context) { m_memory.measure(context, "Results"); }

    bool isOver() const { return m_current == m_entries.size(); }
    /// What each stage did, for report.json: {"id", "title", "state", "seconds", "note"}.
    nlohmann::json stagesJson() const;
    /// Those that the surface was looked for in: before any were bound to triangles.
    GaussianCloud surfaceGaussians() const;
    /// Gaussians to look at: those at work, or of the newest finished stage; and the newest mesh.
    SplatSource viewSource(RunContext& context);

private:
    enum class State { Waiting, Running, Done, Reused };
    struct Entry {
        std::unique_ptr<Stage> stage;
        std::string hash;
        State state = State::Waiting;
        double seconds = 0;
        std::string note;
    };

    Stage& stage() const { return *m_entries[m_current].stage; }
    bool startCurrent(RunContext& context);
    bool test(RunContext& context, std::int64_t step, bool isStageEnd);
    bool conclude(RunContext& context, std::int64_t step, bool tests);
    bool completeResults(RunContext& context);
    void keepResult(RunContext& context);
    void goOn(RunContext& context);
    void reportStages(RunContext& context);
    void startMemory(RunContext& context);
    const TexturedMesh* shownMesh();

    Workspace m_workspace;
    StageStore m_store;
    std::vector<Entry> m_entries;
    std::size_t m_current = 0;
    bool m_isStarted = false;      ///< the stage at work
    bool m_owesResults = false;    ///< a stop has cut those of the newest finished stage short
    double m_stagesReportedAt = 0; ///< clock, s
    Gaussians m_shown;             ///< of the newest finished stage
    std::int64_t m_shownOf = -1;
    TexturedMesh m_shownMesh; ///< the mesh of the newest finished stage, before it is painted
    std::int64_t m_shownMeshOf = -1;
    MemoryReport m_memory;
    std::size_t m_leftOutReported = 0; ///< pictures
};

} // namespace vergence::sugar
