#include "plugins/sugar/pipeline/pipeline.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/artifact_store.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "plugins/sugar/pipeline/align_stage.h"
#include "plugins/sugar/pipeline/held_out_test.h"
#include "plugins/sugar/pipeline/ingest.h"
#include "plugins/sugar/pipeline/mesh_stage.h"
#include "plugins/sugar/pipeline/packing.h"
#include "plugins/sugar/pipeline/points_stage.h"
#include "plugins/sugar/pipeline/refine_stage.h"
#include "plugins/sugar/pipeline/texture_stage.h"
#include "plugins/sugar/pipeline/train_stage.h"

namespace vergence::sugar {

namespace {

constexpr std::int64_t kMemoryEvery = 500; ///< steps
constexpr double kReportEvery = 5;         ///< seconds, of what the stage at work has taken so far

/// Stages up to the goal, without those that are set to no steps. What the solver does not read is
/// not made.
std::vector<std::unique_ptr<Stage>> stagesOf(const SugarConfig& config)
{
    static const std::vector<std::string> kGoals{"gaussians", "aligned", "mesh", "refined",
                                                 "texture"};
    const auto goal = std::find(kGoals.begin(), kGoals.end(), config.goal) - kGoals.begin();
    std::vector<std::unique_ptr<Stage>> stages;
    stages.push_back(std::make_unique<TrainStage>());
    if (goal >= 1 && config.alignSteps > 0)
        stages.push_back(std::make_unique<AlignStage>());
    if (goal >= 2) {
        stages.push_back(std::make_unique<PointsStage>());
        stages.push_back(std::make_unique<MeshStage>());
    }
    if (goal >= 3 && config.refineSteps > 0)
        stages.push_back(std::make_unique<RefineStage>());
    if (goal >= 4)
        stages.push_back(std::make_unique<TextureStage>());
    return stages;
}

/// What the first stage follows from beside its keys: the content of files, not their names.
std::string inputHash(const Workspace& workspace)
{
    std::string text = workspace.pictures->source().fingerprint();
    if (workspace.config.plan == "auto") // sizes that the keys do not say
        text += fmt::format(" {} {}", workspace.config.cap, workspace.config.maxWidth);
    if (!workspace.config.gaussians.empty())
        text += sha256OfFile(workspace.config.gaussians);
    return text;
}

/// Pictures that the run had left out before its checkpoint.
void leaveOutAgain(TrainingPictures& pictures, const nlohmann::json& reasons)
{
    for (std::size_t i = 0; i < pictures.source().count(); ++i) {
        if (const auto found = reasons.find(pictures.source().name(i)); found != reasons.end())
            pictures.leaveOut(i, found->get<std::string>());
    }
}

} // namespace

Pipeline::Pipeline(RunContext& context, Workspace workspace)
    : m_workspace(std::move(workspace)),
      m_store(context.artifacts().folder(), m_workspace.config.reuseFrom)
{
    std::string earlier = inputHash(m_workspace);
    for (auto& stage : stagesOf(m_workspace.config)) {
        Entry entry;
        entry.hash = earlier = stageHash(stage->id(), context.config(), stage->keys(), earlier);
        entry.stage = std::move(stage);
        m_entries.push_back(std::move(entry));
    }
}

Pipeline::~Pipeline() = default;

void Pipeline::begin(RunContext& context)
{
    // A resumed run keeps to what it decided at its start.
    const bool isFresh = context.step() == 0;
    for (Entry& entry : m_entries) {
        if (isFresh)
            m_store.takeOver(entry.stage->id(), entry.hash);
        const auto done = m_store.find(entry.stage->id(), entry.hash);
        if (!done || done->takenFrom.empty())
            break;
        entry.stage->unpack(m_workspace, m_store.read(entry.stage->id()));
        if (isFresh)
            entry.stage->writeResults(context, m_workspace);
        if (context.stopRequested())
            return;
        entry.state = State::Reused;
        entry.seconds = done->seconds;
        entry.note = "from " + done->takenFrom;
        ++m_current;
        log("sugar").info("{} {} is taken over from {}.", entry.stage->id(), entry.stage->title(),
                          done->takenFrom);
    }
    if (!isFresh) // load() knows where it stands
        return;
    if (!isOver())
        startCurrent(context);
    reportStages(context);
}

bool Pipeline::startCurrent(RunContext& context)
{
    if (m_isStarted)
        return true;
    Entry& entry = m_entries[m_current];
    const double start = steadySeconds();
    m_isStarted = entry.stage->start(context, m_workspace);
    entry.seconds += steadySeconds() - start;
    if (!m_isStarted)
        return false;
    entry.state = State::Running;
    startMemory(context);
    reportStages(context);
    return true;
}

/// Where the first stage was taken over, nobody has made a forecast yet.
void Pipeline::startMemory(RunContext& context)
{
    if (m_memory.isStarted())
        return;
    if (m_workspace.forecasts.empty())
        m_workspace.forecasts =
            stageForecasts({m_workspace.config, m_workspace.pictures->source(),
                            m_workspace.gaussians.count(), context.device()->isCpu(),
                            m_workspace.bandRows, true, std::string_view(stage().id()) != "S4"});
    m_memory.start(m_workspace.forecasts);
}

bool Pipeline::test(RunContext& context, std::int64_t step, bool isStageEnd)
{
    const Gaussians* gaussians = stage().gaussians();
    return !gaussians || !isTestDue(m_workspace, step, isStageEnd) ||
           testHeldOut(context, m_workspace, *gaussians, stage().raster(), step);
}

StepOutcome Pipeline::step(RunContext& context)
{
    const std::int64_t done = context.step();
    if (!completeResults(context))
        return StepOutcome::Interrupted;
    // What a stop cut short is made up for before anything changes.
    if (!isOver() && m_isStarted && stage().isDone() && !conclude(context, done, true))
        return StepOutcome::Interrupted;
    while (!isOver()) {
        if (!startCurrent(context))
            return StepOutcome::Interrupted;
        if (!stage().isDone())
            break;
        if (!conclude(context, done, true)) // a stage of no steps
            return StepOutcome::Interrupted;
    }
    if (isOver())
        return StepOutcome::Done;
    if (!test(context, done, false))
        return StepOutcome::Interrupted;
    const double start = steadySeconds();
    const bool isStepped = stage().step(context, m_workspace);
    m_entries[m_current].seconds += steadySeconds() - start;
    if (!isStepped)
        return StepOutcome::Interrupted;
    if (stage().isDone())
        conclude(context, done + 1, true);
    else if (test(context, done + 1, false) && steadySeconds() > m_stagesReportedAt + kReportEvery)
        reportStages(context);
    if (done % kMemoryEvery == 0 && !isOver() && m_isStarted)
        m_memory.measure(context, stage().id());
    return isOver() ? StepOutcome::Done : StepOutcome::Continue;
}

/// False where a stop came first; nothing has changed then.
bool Pipeline::conclude(RunContext& context, std::int64_t step, bool tests)
{
    if (tests && !test(context, step, true))
        return false;
    stage().finish(context, m_workspace);
    stage().writeResults(context, m_workspace);
    m_owesResults = context.stopRequested();
    keepResult(context);
    goOn(context);
    return true;
}

/// False where a stop cuts them short again.
bool Pipeline::completeResults(RunContext& context)
{
    if (!m_owesResults)
        return true;
    m_entries[m_current - 1].stage->writeResults(context, m_workspace);
    m_owesResults = context.stopRequested();
    return !m_owesResults;
}

void Pipeline::keepResult(RunContext&)
{
    const Entry& entry = m_entries[m_current];
    m_store.write(entry.stage->id(), entry.hash, entry.seconds, entry.stage->pack(m_workspace));
}

/// Frees what the finished stage worked with.
void Pipeline::goOn(RunContext& context)
{
    Entry& entry = m_entries[m_current];
    entry.state = State::Done;
    log("sugar").info("{} {} took {:.1f} s.", entry.stage->id(), entry.stage->title(),
                      entry.seconds);
    entry.stage->release();
    m_memory.measure(context, entry.stage->id());
    ++m_current;
    m_isStarted = false;
    reportStages(context);
}

void Pipeline::reportLeftOut(RunContext& context)
{
    const TrainingPictures& pictures = *m_workspace.pictures;
    if (m_leftOutReported == pictures.leftOut().size())
        return;
    for (; m_leftOutReported < pictures.leftOut().size(); ++m_leftOutReported) {
        const LeftOutPicture& each = pictures.leftOut()[m_leftOutReported];
        context.warn("E-DATA", fmt::format("{} is left out. {}",
                                           pictures.source().name(each.picture), each.reason));
    }
    reportScene(context, m_workspace);
}

std::int64_t Pipeline::totalSteps() const
{
    std::int64_t total = 0;
    for (const Entry& entry : m_entries) {
        if (entry.state != State::Reused)
            total += entry.stage->totalSteps(m_workspace);
    }
    return total;
}

void Pipeline::save(RunContext& context, Checkpoint& checkpoint) const
{
    nlohmann::json evaluations = nlohmann::json::array(), seconds = nlohmann::json::array();
    for (const EvaluationResult& evaluation : m_workspace.evaluations)
        evaluations.push_back(toJson(evaluation));
    for (const Entry& entry : m_entries)
        seconds.push_back(entry.seconds);
    checkpoint.state["stage"] = m_current;
    checkpoint.state["started"] = m_isStarted;
    checkpoint.state["owes_results"] = m_owesResults;
    checkpoint.state["seconds"] = seconds;
    checkpoint.state["evaluations"] = evaluations;
    nlohmann::json leftOut = nlohmann::json::object();
    for (const LeftOutPicture& each : m_workspace.pictures->leftOut())
        leftOut[m_workspace.pictures->source().name(each.picture)] = each.reason;
    checkpoint.state["left_out"] = leftOut;
    checkpoint.state["fingerprint"] = m_workspace.pictures->source().fingerprint();
    if (m_isStarted)
        stage().save(context, checkpoint);
}

void Pipeline::load(RunContext& context, const Checkpoint& checkpoint)
{
    const auto& state = checkpoint.state;
    if (state.at("fingerprint").get<std::string>() != m_workspace.pictures->source().fingerprint())
        context.warn("E-CHANGED", "The photographs or their cameras have changed since the "
                                  "checkpoint; the run goes on with the new ones.");
    if (state.contains("left_out"))
        leaveOutAgain(*m_workspace.pictures, state.at("left_out"));
    reportLeftOut(context);
    m_workspace.evaluations.clear();
    for (const nlohmann::json& evaluation : state.at("evaluations"))
        m_workspace.evaluations.push_back(evaluationFromJson(evaluation));
    const auto stageNumber = state.at("stage").get<std::size_t>();
    if (stageNumber > m_entries.size())
        throw InputError("The checkpoint is damaged: it stands in a stage that this run lacks.");
    while (m_current < stageNumber) {
        Entry& entry = m_entries[m_current];
        if (!m_store.find(entry.stage->id(), entry.hash))
            throw InputError(fmt::format(
                "The result of stage {} ({}) is missing below stages, or was made with other "
                "settings; start a new run with reuse_from set to this one.",
                entry.stage->id(), entry.stage->title()));
        entry.stage->unpack(m_workspace, m_store.read(entry.stage->id()));
        entry.stage->release();
        if (entry.state != State::Reused)
            entry.state = State::Done;
        m_isStarted = false;
        ++m_current;
    }
    for (std::size_t i = 0; i < m_entries.size() && i < state.at("seconds").size(); ++i)
        m_entries[i].seconds = state.at("seconds")[i].get<double>();
    m_owesResults = state.value("owes_results", false); // checkpoints of earlier versions lack it
    if (state.at("started").get<bool>()) {
        if (!startCurrent(context))
            return;
        stage().load(context, m_workspace, checkpoint);
    }
    reportStages(context);
}

void Pipeline::finish(RunContext& context)
{
    completeResults(context);
    if (isOver())
        return;
    if (m_isStarted && stage().isDone())
        conclude(context, context.step(), false);
    else if (m_isStarted)
        stage().writeResults(context, m_workspace);
}

GaussianCloud Pipeline::surfaceGaussians() const
{
    std::string newest = "S3";
    for (const Entry& entry : m_entries) {
        if (std::string_view(entry.stage->id()) == "S4")
            newest = "S4";
    }
    return unpackCloud(m_store.read(newest));
}

SplatSource Pipeline::viewSource(RunContext& context)
{
    SplatSource source;
    source.step = context.step();
    source.extent = m_workspace.extent;
    source.pictures = m_workspace.pictures.get();
    source.isTest = &m_workspace.isTest;
    source.mesh = shownMesh();
    if (!isOver() && m_isStarted && stage().gaussians()) {
        source.gaussians = stage().gaussians();
        source.statistics = stage().statistics();
        source.raster = stage().raster();
        source.isTraining = !stage().isDone();
        return source;
    }
    const GaussianCloud& cloud = m_workspace.gaussians;
    if (cloud.count() == 0)
        return source;
    if (m_shownOf != static_cast<std::int64_t>(m_current)) {
        m_shown = upload(context.stream(), context.device(), cloud, cloud.count(), cloud.degree);
        m_shownOf = static_cast<std::int64_t>(m_current);
    }
    source.gaussians = &m_shown;
    source.raster = m_workspace.raster();
    return source;
}

/// The newest finished one; null before there is any.
const TexturedMesh* Pipeline::shownMesh()
{
    if (m_workspace.textured.mesh.faces() > 0)
        return &m_workspace.textured;
    if (m_workspace.mesh.faces() == 0)
        return nullptr;
    if (m_shownMeshOf != static_cast<std::int64_t>(m_current)) {
        m_shownMesh = {};
        m_shownMesh.mesh = m_workspace.mesh;
        m_shownMeshOf = static_cast<std::int64_t>(m_current);
    }
    return &m_shownMesh;
}

nlohmann::json Pipeline::stagesJson() const
{
    static const char* const kStates[] = {"waiting", "running", "done", "reused"};
    nlohmann::json all = nlohmann::json::array();
    for (const Entry& entry : m_entries)
        all.push_back({{"id", entry.stage->id()},
                       {"title", entry.stage->title()},
                       {"state", kStates[static_cast<int>(entry.state)]},
                       {"seconds", entry.seconds},
                       {"note", entry.note}});
    return all;
}

void Pipeline::reportStages(RunContext& context)
{
    m_stagesReportedAt = steadySeconds();
    nlohmann::json rows = nlohmann::json::array();
    rows.push_back({"S0–S2 Scene", "done", "", m_workspace.pictures->source().scene().kind});
    for (const nlohmann::json& stage : stagesJson()) {
        const auto seconds = stage.at("seconds").get<double>();
        rows.push_back(
            {stage.at("id").get<std::string>() + " " + stage.at("title").get<std::string>(),
             stage.at("state"), seconds > 0 ? fmt::format("{:.1f}", seconds) : "",
             stage.at("note")});
    }
    context.table({{"id", "stages"},
                   {"title", "Stages"},
                   {"columns", {"stage", "state", "seconds", "note"}},
                   {"rows", rows}});
}

} // namespace vergence::sugar
