#include "plugins/sugar/sugar_run.h"

#include <nlohmann/json.hpp>

#include "plugins/sugar/pipeline/host_memory.h"
#include "plugins/sugar/pipeline/ingest.h"
#include "plugins/sugar/pipeline/results.h"

namespace vergence::sugar {

namespace {

constexpr int kPhases = 2;

} // namespace

SugarRun::SugarRun(SugarConfig config) : m_config(std::move(config)) {}

SugarRun::~SugarRun() = default;

void SugarRun::prepare(RunContext& context)
{
    giveBackFreedMemory();
    context.phase(1, kPhases, "reading the scene");
    std::optional<Workspace> workspace = ingested(context, m_config);
    if (!workspace)
        return;
    context.phase(2, kPhases, "preparing the first stage");
    m_pipeline = std::make_unique<Pipeline>(context, std::move(*workspace));
    m_pipeline->begin(context);
    if (context.stopRequested())
        return;
    m_viewer.declare(context, viewSource(context));
}

SplatSource SugarRun::viewSource(RunContext& context) const
{
    SplatSource source = m_pipeline->viewSource(context);
    source.isTraining = source.isTraining && !m_isFinished;
    if (m_explorer)
        source.further = m_explorer->controls();
    return source;
}

/// Other surfaces can be looked for once the run is at its end.
void SugarRun::offerExplorer(RunContext& context)
{
    if (m_explorer || m_config.goal == "gaussians" || m_config.goal == "aligned" ||
        !m_pipeline->isOver())
        return;
    m_explorer = std::make_unique<LevelExplorer>(m_pipeline->workspace().config);
    m_viewer.declare(context, viewSource(context));
}

std::int64_t SugarRun::totalSteps() const
{
    return m_pipeline->totalSteps();
}

StepOutcome SugarRun::step(RunContext& context)
{
    const StepOutcome outcome = m_pipeline->step(context);
    m_pipeline->reportLeftOut(context);
    if (outcome != StepOutcome::Interrupted && context.framesDue())
        m_viewer.publish(context, viewSource(context));
    return outcome;
}

void SugarRun::save(RunContext& context, Checkpoint& checkpoint)
{
    m_pipeline->save(context, checkpoint);
}

void SugarRun::load(RunContext& context, const Checkpoint& checkpoint)
{
    try {
        m_pipeline->load(context, checkpoint);
    } catch (const nlohmann::json::exception& failure) {
        throw InputError(std::string("The checkpoint is damaged: ") + failure.what());
    }
    if (context.stopRequested())
        return;
    m_viewer.declare(context, viewSource(context));
    offerExplorer(context);
}

void SugarRun::finish(RunContext& context)
{
    m_isFinished = true;
    m_pipeline->finish(context);
    const Workspace& workspace = m_pipeline->workspace();
    const SplatSource shown = viewSource(context);
    writeCameras(context, workspace);
    writeEvaluations(context, workspace.evaluations);
    writeTestPictures(context, workspace, shown);
    writeTurntable(context, workspace, shown);
    writeMeshTurntable(context, workspace);
    writeReport(context, workspace, m_pipeline->stagesJson());
    m_pipeline->reportLeftOut(context);
    m_pipeline->reportMemory(context);
    offerExplorer(context);
    if (context.frames().isWatched())
        m_viewer.publish(context, shown);
}

void SugarRun::view(RunContext& context, const ViewInput& input)
{
    const SplatSource source = viewSource(context);
    if (m_viewer.apply(input, source))
        m_viewer.publish(context, source);
    if (m_explorer && m_explorer->apply(input))
        m_explorer->update(context, m_pipeline->workspace(),
                           [this] { return m_pipeline->surfaceGaussians(); });
}

} // namespace vergence::sugar
