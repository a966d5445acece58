#include "plugins/mc_embedding/mc_embedding_run.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/compute/dense.h"
#include "core/compute/dense/product_policy.h"
#include "core/plugin/plugin_registry.h"
#include "plugins/mc_embedding/io/unfinished_files.h"
#include "plugins/mc_embedding/report/report_content.h"
#include "plugins/mc_embedding/report/study_report.h"
#include "plugins/mc_embedding/study/experiments/association.h"
#include "plugins/mc_embedding/study/forecast.h"
#include "plugins/mc_embedding/study/labels.h"
#include "plugins/mc_embedding/study/live_report.h"
#include "plugins/mc_embedding/study/memory_plan.h"
#include "plugins/mc_embedding/study/study_files.h"
#include "plugins/mc_embedding/study/summaries.h"

namespace vergence::mc_embedding {

namespace {

std::filesystem::path cacheFolderOf(const McEmbeddingConfig& config)
{
    return config.cacheFolder.empty() ? cacheHome() / "mc_embedding" : config.cacheFolder;
}

DType computeType(const McEmbeddingConfig& config, bool isCpu)
{
    if (config.precision == Precision::Bf16)
        return DType::BF16;
    const bool isHalf =
        config.precision.value_or(isCpu ? Precision::Fp32 : Precision::Fp16) == Precision::Fp16;
    return isHalf ? DType::F16 : DType::F32;
}

} // namespace

McEmbeddingRun::McEmbeddingRun(McEmbeddingConfig config)
    : m_config(std::move(config)),
      m_views([this](std::size_t image) { return m_source->thumbnail(image); })
{
}

McEmbeddingRun::~McEmbeddingRun() = default;

void McEmbeddingRun::prepare(RunContext& context)
{
    context.phase(1, 3, "listing images");
    removeLeftovers(context.artifacts().folder());
    m_isCpu = context.device()->isCpu();
    chooseProducts(context);
    checkFolders();
    m_plan = makePlan(m_config);
    tellForecast(context);
    m_state.seed = m_config.seed;
    m_state.device = context.device()->info().name;
    m_state.experiments = m_config.experiment;
    for (const Field& field : context.config().schema().fields())
        m_state.settings[field.key] = toToml(context.config().value(field.key));
    m_source = std::make_unique<ImageSource>(m_config, cacheFolderOf(m_config),
                                             context.artifacts().folder().root / "checkpoints" /
                                                 "painted");
    m_painted = std::make_unique<ImageSource>(m_config, cacheFolderOf(m_config),
                                              context.artifacts().folder().root / "checkpoints" /
                                                  "painted_exp2");
    m_source->list(context, m_plan.images);
    if (context.stopRequested())
        return;
    checkClasses(context);
    if (m_config.runs("exp9") && !m_config.exp9Frames.empty())
        m_state.association =
            toJson(associationStudy(readTrackingFrames(m_config.exp9Frames))).dump();
    const bool isOpen = openSession(context);
    if (!isOpen && !context.stopRequested()) {
        std::string reasons;
        for (const auto& [key, reason] : m_state.skippedModels)
            reasons += fmt::format("\n{}: {}", key, reason);
        throw InputError("No model can be measured." + reasons);
    }
    if (isOpen)
        m_session->open(context);
}

/// Refuses configurations that contradict their weights before anything is measured with others.
void McEmbeddingRun::checkFolders() const
{
    for (const std::string& model : m_config.models) {
        const std::filesystem::path folder = m_config.folderOf(model);
        if (folder.empty())
            continue;
        if (const FolderReport report = inspectFolder(model, folder); !report.contradiction.empty())
            throw InputError(report.contradiction);
    }
}

/// What a killed run left half written. The cache may be in use by others.
void McEmbeddingRun::removeLeftovers(const RunFolder& folder) const
{
    const std::size_t removed =
        removeUnfinished(folder.artifacts(), std::chrono::seconds(0)) +
        removeUnfinished(folder.checkpoints() / "chunks", std::chrono::seconds(0)) +
        removeUnfinished(cacheFolderOf(m_config), std::chrono::hours(1));
    if (removed > 0)
        log("mc_embedding").info("{} files that were never finished are removed.", removed);
}

/// Where the device leaves a choice: rounded operands, and the same algorithm in every process.
void McEmbeddingRun::chooseProducts(RunContext& context)
{
    auto* choice = dynamic_cast<ProductChoice*>(&context.device()->dense());
    m_usesTf32 = choice != nullptr && m_config.precision == Precision::Tf32;
    if (choice != nullptr)
        choice->setPolicy({.usesTf32 = m_usesTf32, .isTimed = !m_config.deterministic});
    else if (m_config.precision == Precision::Tf32)
        context.warn("W-TF32", "This device has no tf32; products are computed in fp32.");
}

/// Time, memory and disk that the study will take, before it takes them.
void McEmbeddingRun::tellForecast(RunContext& context) const
{
    log("mc_embedding").info("{}", forecastSentence(workloadsOf(m_plan)));
    log("mc_embedding").info("{}", memoryForecast(m_plan, m_config));
    const std::size_t stored = featureStoreBytes(m_plan);
    if (stored == 0)
        return;
    const std::filesystem::path& folder = context.artifacts().folder().root;
    const double needed = static_cast<double>(stored) * 1e-9,
                 free = static_cast<double>(freeBytes(folder)) * 1e-9;
    log("mc_embedding").info("Features of all passes will take {:.3g} GB of disk.", needed);
    if (needed > free)
        context.warn("W-DISK", fmt::format("Features of all passes want {:.3g} GB, {} has {:.3g} "
                                           "GB. Free some, or set store_features = \"none\".",
                                           needed, folder.string(), free));
}

/// Want of class names is told before anything is measured, not when the first model is done.
void McEmbeddingRun::checkClasses(RunContext& context) const
{
    if (std::none_of(m_plan.models.begin(), m_plan.models.end(),
                     [](const ModelPlan& plan) { return plan.judges; }))
        return;
    try {
        studyClasses(m_source->drawn(),
                     m_config.classMap.empty() ? ClassMap{} : readClassMap(m_config.classMap));
    } catch (const InputError& failure) {
        const auto needsClasses = [](const std::string& name) {
            return name == "exp5" || name == "conformal" || name == "exp6";
        };
        if (std::all_of(m_config.experiment.begin(), m_config.experiment.end(), needsClasses))
            throw;
        context.warn("W-CLASSES", fmt::format("Images cannot be judged against text, everything "
                                              "else is measured: {}",
                                              failure.what()));
    }
}

bool McEmbeddingRun::hasWeights(const std::string& model) const
{
    return isDemoModel(model) || m_config.allowRandom || !m_config.folderOf(model).empty();
}

void McEmbeddingRun::leaveOut(RunContext& context, const ModelPlan& plan, const std::string& reason)
{
    if (m_state.skippedModels.emplace(plan.model, reason).second)
        context.warn("W-MODEL/" + plan.model,
                     fmt::format("{} is left out: {}", plan.model, reason));
    ++m_model;
}

/// The session of the model whose turn it is; models without weights are left out. False where no
/// model is left, or a stop was requested.
bool McEmbeddingRun::openSession(RunContext& context)
{
    while (!m_session && !isDone() && !context.stopRequested()) {
        const ModelPlan& plan = m_plan.models[m_model];
        if (!hasWeights(plan.model)) {
            leaveOut(context, plan,
                     fmt::format("there are no weights; name their folder as folder_{} in "
                                 "[models].",
                                 plan.model));
            continue;
        }
        const DType compute =
            m_wide.contains(plan.label) ? DType::BF16 : computeType(m_config, m_isCpu);
        try {
            m_session = std::make_unique<ModelSession>(
                context,
                ModelSession::Parts{m_config, plan, *m_source, *m_painted, m_state, m_meter,
                                    m_shelf, context.artifacts().folder().checkpoints() / "chunks",
                                    compute, m_usesTf32});
        } catch (const InputError& failure) {
            leaveOut(context, plan, failure.what());
            continue;
        }
        if (context.stopRequested()) { // its weights may be half read
            m_session.reset();
            break;
        }
        checkModel(*m_session);
        for (const auto& [name, value] : m_session->facts())
            m_modelFacts[name] = value;
        m_meter.setTotal(totalFlop());
    }
    return m_session != nullptr;
}

double McEmbeddingRun::totalFlop() const
{
    double flop = 0;
    for (const ModelPlan& plan : m_plan.models) {
        const auto tower = towerShape(plan.model);
        if (m_state.skippedModels.contains(plan.model) || !tower)
            continue;
        for (const MeasurementPlan& measurement : plan.measurements)
            flop += measurement.passImages() * tower->flop();
    }
    return flop;
}

StepOutcome McEmbeddingRun::step(RunContext& context)
{
    if (!openSession(context))
        return isDone() ? StepOutcome::Done : StepOutcome::Interrupted;
    ModelSession::Outcome outcome = ModelSession::Outcome::Continue;
    try {
        outcome = m_session->step(context);
    } catch (const FeatureOverflow& failure) {
        restartInBf16(context, failure.what());
        return StepOutcome::Interrupted;
    }
    if (outcome == ModelSession::Outcome::Interrupted)
        return StepOutcome::Interrupted;
    if (outcome == ModelSession::Outcome::Done)
        closeSession();
    ++m_steps;
    if (steadySeconds() - m_reportedAt >= 1 || isDone()) {
        reportSpeed(context, m_meter);
        m_reportedAt = steadySeconds();
    }
    publish(context, false);
    return isDone() ? StepOutcome::Done : StepOutcome::Continue;
}

void McEmbeddingRun::closeSession()
{
    m_session.reset();
    ++m_model;
}

/// Numbers beyond fp16: the whole model anew, so that all its scores are of one precision.
void McEmbeddingRun::restartInBf16(RunContext& context, const std::string& reason)
{
    const std::string label = m_session->plan().label;
    if (m_wide.contains(label) || computeType(m_config, m_isCpu) != DType::F16)
        throw NumericsError(reason);
    m_wide.insert(label);
    m_earlierFacts.erase("precision of " + label);
    m_session.reset();
    context.warn("W-BF16/" + label,
                 fmt::format("{} starts anew in bf16, its values are too large for fp16. {}", label,
                             reason));
}

std::int64_t McEmbeddingRun::totalSteps() const
{
    if (isDone())
        return m_steps;
    std::int64_t left = m_session ? m_session->blocksLeft() : 0;
    for (std::size_t i = m_model + (m_session ? 1 : 0); i < m_plan.models.size(); ++i) {
        const ModelPlan& plan = m_plan.models[i];
        const auto tower = towerShape(plan.model);
        if (!tower || !hasWeights(plan.model) || m_state.skippedModels.contains(plan.model))
            continue;
        const BatchSize batch = chosenBatch(m_config, *tower, m_isCpu, mostPasses(plan));
        for (const MeasurementPlan& measurement : plan.measurements) {
            const auto count = static_cast<std::size_t>(measurement.images);
            left += measurement.kind == MeasurementPlan::Kind::Texts
                        ? textBlocks(measurement, count)
                        : blocksOf(measurement, batch, count);
        }
    }
    return m_steps + std::max<std::int64_t>(left, 1);
}

std::map<std::string, std::string> McEmbeddingRun::facts() const
{
    std::map<std::string, std::string> facts = m_modelFacts;
    facts["device kind"] = m_isCpu ? "CPU" : m_state.device;
    return facts;
}

void McEmbeddingRun::save(RunContext& context, Checkpoint& checkpoint)
{
    nlohmann::json& state = checkpoint.state;
    state["steps"] = m_steps;
    state["model"] = m_model;
    state["facts"] = facts();
    state["images"] = m_source->keys();
    state["wide"] = m_wide;
    nlohmann::json& finished = state["finished"] = nlohmann::json::object();
    for (const ModelStudy& study : m_state.models)
        finished[study.label] = {{"seconds", study.seconds}, {"flop", study.flop}};
    if (m_session) {
        state["label"] = m_session->plan().label;
        m_session->save(context.stream(), checkpoint.tensors, state["session"]);
    }
}

void McEmbeddingRun::checkSame(const nlohmann::json& state) const
{
    const auto then = state.at("facts").get<std::map<std::string, std::string>>();
    const auto now = facts();
    std::vector<std::string> differences;
    for (const auto& [name, value] : then) {
        const auto found = now.find(name);
        if (found != now.end() && found->second != value)
            differences.push_back(fmt::format("{} was {} and is {}", name, value, found->second));
    }
    const auto keys = state.at("images").get<std::vector<std::string>>();
    const std::vector<std::string> own = m_source->keys();
    // Before the first decoding there is nothing to compare; more or fewer images may be asked for.
    for (std::size_t i = 0; i < std::min(keys.size(), own.size()); ++i) {
        if (keys[i] != own[i]) {
            differences.push_back(fmt::format("image {} was another one; now it is {}", i,
                                              m_source->images().images[i].path));
            break;
        }
    }
    if (!differences.empty())
        throw InputError(fmt::format("The run cannot go on, its numbers would not belong together: "
                                     "{}. Set these back, or start a new run.",
                                     fmt::join(differences, "; ")));
}

/// A model opened later than the checkpoint was read.
void McEmbeddingRun::checkModel(const ModelSession& session) const
{
    for (const auto& [name, value] : session.facts()) {
        const auto found = m_earlierFacts.find(name);
        if (found != m_earlierFacts.end() && found->second != value)
            throw InputError(fmt::format("The run cannot go on: {} was {} and is {}. Set it back, "
                                         "or start a new run.",
                                         name, found->second, value));
    }
}

void McEmbeddingRun::load(RunContext& context, const Checkpoint& checkpoint)
{
    try {
        const nlohmann::json& state = checkpoint.state;
        m_steps = state.at("steps").get<std::int64_t>();
        m_wide = state.at("wide").get<std::set<std::string>>();
        m_earlierFacts = state.at("facts").get<std::map<std::string, std::string>>();
        const std::string label = state.value("label", std::string());
        const auto model = state.at("model").get<std::size_t>();
        if (m_session && m_wide.contains(m_session->plan().label)) {
            m_session.reset();
            m_modelFacts.clear();
        }
        bool isChecked = false;
        while (openSession(context)) {
            const bool isSaved = m_session->plan().label == label;
            const nlohmann::json* saved = isSaved ? &state.at("session") : nullptr;
            if (saved != nullptr)
                m_session->skipTo(context, saved->at("measurement").get<std::size_t>(),
                                  saved->at("first").get<std::size_t>());
            else if (m_model < model)
                m_session->skipTo(context, m_session->plan().measurements.size(), 0);
            else
                m_session->skipTo(context, 0, 0);
            if (!isChecked)
                checkSame(state);
            isChecked = true;
            if (saved != nullptr)
                m_session->load(context, checkpoint.tensors, *saved);
            if (!m_session->isDone())
                break;
            closeSession();
        }
        for (ModelStudy& study : m_state.models) {
            if (state.at("finished").contains(study.label)) {
                study.seconds = state["finished"][study.label].at("seconds").get<double>();
                study.flop = state["finished"][study.label].at("flop").get<double>();
            }
        }
    } catch (const nlohmann::json::exception& failure) {
        throw InputError(std::string("The checkpoint is damaged: ") + failure.what());
    }
    log("mc_embedding")
        .info("Continues after {} steps; {} of {} models are done.", m_steps, m_model,
              m_plan.models.size());
}

void McEmbeddingRun::publish(RunContext& context, bool isForced)
{
    const double now = steadySeconds();
    const bool isDue = context.framesDue() &&
                       now - m_publishedAt >= context.config().get<double>("preview_seconds");
    if (!isForced && !isDue)
        return;
    if (m_shownModels != m_state.models.size()) {
        context.declareControls(m_views.controls(m_state));
        m_shownModels = m_state.models.size();
    }
    m_views.publish(context, m_state);
    m_publishedAt = now;
}

/// What a stopped run can report: models whose images are all in, the others as left out.
StudyState McEmbeddingRun::completePart() const
{
    StudyState part = m_state;
    part.models.clear();
    for (const ModelPlan& plan : m_plan.models) {
        const auto found =
            std::find_if(m_state.models.begin(), m_state.models.end(),
                         [&](const ModelStudy& study) { return study.label == plan.label; });
        if (found != m_state.models.end() && isComplete(*found))
            part.models.push_back(*found);
        else
            part.skippedModels.emplace(plan.label, "the run was stopped before it was measured.");
    }
    return part;
}

/// Tables alone: charts and resamples take a while, and a run that is stopped ends at once.
void McEmbeddingRun::writePartialResults(ArtifactStore& artifacts) const
{
    writeMeasured(artifacts, m_state);
    const StudyState part = completePart();
    if (part.models.empty())
        return;
    Report report = reportOf(part);
    report.verdict = "Partial, the run was stopped. " + report.verdict;
    artifacts.writeText("report/report.html", toHtml(report), "report", "Report, partial");
    artifacts.writeText("report/report.md", toMarkdown(report), "report",
                        "Report as Markdown, partial");
}

/// Of a run whose measurements are all done. Where a stop is requested meanwhile, the rest is left
/// to be written when the run goes on.
bool McEmbeddingRun::writeResults(RunContext& context)
{
    const auto isStopped = [&context] { return context.stopRequested(); };
    context.phase(1, 2, "writing results");
    if (!writeStudy(context.artifacts(), m_state, isStopped))
        return false;
    context.phase(2, 2, "drawing the report");
    return writeReport(
        context.artifacts(), m_state,
        [this](std::size_t image) { return m_source->thumbnail(image); }, isStopped);
}

void McEmbeddingRun::finish(RunContext& context)
{
    m_state.skippedImages.clear(); // finish() is repeated after a full disk
    for (const SkippedImage& skipped : m_source->skipped())
        m_state.skippedImages.push_back(skipped.path + ": " + skipped.reason);
    if (!isDone())
        writePartialResults(context.artifacts());
    else if (!writeResults(context))
        return;
    reportTables(context, m_state);
    publish(context, true);
}

void McEmbeddingRun::view(RunContext& context, const ViewInput& input)
{
    m_views.apply(input, m_state);
    publish(context, true);
}

} // namespace vergence::mc_embedding
