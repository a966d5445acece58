#include "plugins/foveated_vlm/session/results.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/run/publish.h"
#include "plugins/foveated_vlm/model/model_weights.h"
#include "plugins/foveated_vlm/session/viewer.h"
#include "plugins/foveated_vlm/view/exports.h"
#include "plugins/foveated_vlm/view/picture_sheet.h"

namespace vergence::fvlm {

namespace {

constexpr const char* kModelFile = "weights/model.safetensors";

std::vector<Index> shownClips(const Session& session, int most)
{
    const auto& members = session.sets().heldOutMembers;
    const auto count = std::min(members.size(), static_cast<std::size_t>(most));
    return {members.begin(), members.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// As JSON, which knows no number that is none.
nlohmann::json number(double value)
{
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

/// Tokens of the answer, or frames whose latent is predicted.
int countedIn(const Session& session, Index clip)
{
    const ClipInfo info = session.sets().heldOut().info(clip);
    return session.text() != nullptr
               ? static_cast<int>(
                     session.text()->sample(info.text, answerOf(info.text)).after.size())
               : info.frames;
}

CaptionRow rowOf(const ClipLook& look)
{
    const auto caption = [](const WrittenAnswer& answer) {
        return Caption{answer.text, answer.nats};
    };
    return {look.info.id,
            look.info.text.prompt,
            answerOf(look.info.text),
            caption(look.coarseAnswer),
            caption(look.fineAnswer),
            caption(look.sequentialAnswer)};
}

/// What a file of weights says of itself.
std::map<std::string, std::string> factsOf(const Session& session)
{
    const FoveatedVlmConfig& config = session.config();
    return {{"update", std::to_string(session.trainer().counts().updates)},
            {"position_mode", config.positionMode},
            {"latents", config.hasLatents() ? config.latents : "none"},
            {"variant", config.variant}};
}

} // namespace

EvaluationRecord recordOf(const Session& session, const EvaluationReport& report)
{
    const FoveatedVlmConfig& config = session.config();
    EvaluationRecord record;
    record.update = session.trainer().counts().updates;
    record.variant = config.variant;
    record.isCoarseOnly = config.control == "coarse_only";
    record.trainsCoarse = record.isCoarseOnly || config.lambdaCoarse > 0;
    record.epochs = session.trainer().epochs();
    record.clips = session.sets().heldOut().digest();
    if (report.fine && report.fine->loss > 0) {
        record.randomRatio = report.randomQueries.value_or(NAN) / report.fine->loss;
        record.shuffledRatio = report.shuffledQueries.value_or(NAN) / report.fine->loss;
    }
    const auto& inUse = report.sequential ? report.sequential : report.coarse;
    if (config.isGrid() && inUse) {
        record.blindNats = report.blindNats;
        record.right = inUse->exact;
        record.answers = inUse->generated;
    }
    const auto& members = session.sets().heldOutMembers;
    const auto lossOf = [](const std::optional<WayResult>& way, std::size_t i) {
        return way && i < way->clipLosses.size() ? way->clipLosses[i] : std::nan("");
    };
    for (std::size_t i = 0; i < members.size(); ++i) {
        ClipScore score;
        score.id = session.sets().heldOut().info(members[i]).id;
        score.counted = countedIn(session, members[i]);
        score.coarse = lossOf(report.coarse, i);
        score.fine = lossOf(report.fine, i);
        score.sequential = lossOf(report.sequential, i);
        record.scores.push_back(score);
    }
    return record;
}

HealthFigures healthOf(const Session& session, const EvaluationReport& report)
{
    HealthFigures figures;
    figures.updates = session.trainer().counts().updates;
    if (!report.fine)
        return figures;
    figures.uniformity = report.fineAttention.share();
    if (session.config().frames > 1) // else there are no neighbours
        figures.querySimilarity = report.likeness.querySimilarity;
    figures.featureSimilarity = report.likeness.featureSimilarity;
    figures.queryDeviation = report.likeness.queryDeviation;
    if (report.ratio)
        figures.ratio = report.ratio->value;
    return figures;
}

Results::Results(const std::filesystem::path& control)
{
    if (!control.empty())
        m_control = readControl(control);
}

std::optional<CaptionPage> Results::answers(RunContext& context, Session& session,
                                            ClipLooker& looker, PhaseTeller& teller)
{
    CaptionPage page;
    page.update = session.trainer().counts().updates;
    if (session.text() == nullptr)
        return page;
    const ClipLooker::Wish wish{.refinements = session.config().refinements, .writes = true};
    const std::vector<Index> clips = shownClips(session, session.config().captionClips);
    for (std::size_t i = 0; i < clips.size(); ++i) {
        teller.tell("writing answers", static_cast<Index>(i), static_cast<Index>(clips.size()));
        page.rows.push_back(rowOf(looker.look(context.stream(), clips[i], wish,
                                              [&] { return context.stopRequested(); })));
        if (context.stopRequested()) // texts may be cut short
            return std::nullopt;
    }
    return page;
}

void Results::add(RunContext& context, Session& session, const EvaluationReport& report,
                  bool isBest, CaptionPage answers)
{
    m_record = recordOf(session, report);
    m_health = healthOf(session, report);
    log("foveated_vlm").info("{}", verdict().sentence);
    if (session.text() != nullptr) {
        context.table(captionTable(answers));
        m_captions.add(std::move(answers));
    }
    publish(context, session);
    if (!isBest)
        return;
    const auto file = context.artifacts().pathFor("weights/best.safetensors");
    saveCheckpointWeights(context.stream(), session.model(), file, {}, factsOf(session));
    context.artifacts().add("weights/best.safetensors", "model", "Weights of the best test");
}

void Results::publish(RunContext& context, const Session& session) const
{
    if (session.text() != nullptr)
        publishDrawing(
            context, "captions",
            captionDiagram(m_captions.isEmpty() ? CaptionPage{} : m_captions.pages().back()));
    if (m_record)
        publishDrawing(context, "verdict", verdictCard(verdict()));
    publishCurve(context);
}

void Results::compareWith(std::map<int, EvaluationRecord> controls)
{
    m_beside = std::move(controls);
    if (const auto matched = m_beside.find(1); matched != m_beside.end())
        m_control = matched->second;
}

void Results::publishCurve(RunContext& context) const
{
    const TokenCurve curve = tokenCurve();
    if (curve.isEmpty())
        return;
    context.declareStreams(
        {{"tokens", "Tokens", StreamKind::Diagram,
          "Right answers over the visual tokens of models without gaze, and with gaze.", ""}});
    context.table(tokenTable(curve));
    publishDrawing(context, "tokens", tokenChart(curve));
}

Verdict Results::verdict() const
{
    return judge(*m_record, m_health, m_control ? &*m_control : nullptr);
}

void Results::write(RunContext& context, Session& session, ClipLooker& looker,
                    const MetricStore& metrics)
{
    ArtifactStore& artifacts = context.artifacts();
    const Trainer::AverageScope average(session.trainer(), context.stream());
    writeWeights(context, session);
    exportCharts(artifacts, metrics);
    exportMetrics(
        artifacts, metrics,
        {{"lab", "foveated_vlm"},
         {"device", session.model().parameters().device()->info().name},
         {"seed", session.config().seed},
         {"micro_steps", session.trainer().counts().microSteps},
         {"updates", session.trainer().counts().updates},
         {"samples", session.trainer().counts().samples},
         {"epochs", session.trainer().epochs()},
         {"flop_per_micro_step", number(session.flop() / session.trainer().work().microSteps)},
         {"parameters", session.model().counts().all()}});
    if (!m_captions.isEmpty())
        exportCaptions(artifacts, m_captions);
    if (m_record)
        exportVerdict(artifacts, verdict(), *m_record);
    if (const TokenCurve curve = tokenCurve(); !curve.isEmpty())
        exportTokens(artifacts, curve);
    if (session.hasHeldOut())
        writeGazes(context, session, looker);
    writeAsked(context, session, looker);
}

/// Pictures of grids with what was asked and answered.
void Results::writeAsked(RunContext& context, Session& session, ClipLooker& looker) const
{
    const auto* grids = dynamic_cast<const GridClips*>(&session.sets().heldOut());
    if (grids == nullptr)
        return;
    GridAsking asking(*grids);
    for (const Index clip : shownClips(session, session.config().gazeClips)) {
        if (context.stopRequested())
            return;
        asking.show(clip);
        const ClipLook look = looker.look(
            context.stream(), clip, {.refinements = session.config().refinements, .writes = true});
        const AskScene scene =
            asking.scene(look, gazeScene(session, look, {}, "last four blocks, all heads"), {});
        context.artifacts().writePng(fmt::format("asked_{}.png", look.info.id),
                                     withoutAlpha(askPicture(scene)), "gaze",
                                     "Asked: " + scene.question);
    }
}

void Results::writeWeights(RunContext& context, const Session& session) const
{
    const auto facts = factsOf(session);
    ExportSettings settings;
    settings.repeatsHead = session.config().duplicateHead;
    ArtifactStore& artifacts = context.artifacts();
    saveCheckpointWeights(context.stream(), session.model(), artifacts.pathFor(kModelFile),
                          settings, facts);
    artifacts.add(kModelFile, "model", "All weights");
    const std::filesystem::path tokenizer = artifacts.folder().root / "tokenizer.json";
    if (std::filesystem::exists(tokenizer))
        artifacts.writeText("weights/tokenizer.json", readFile(tokenizer), "model");
    saveForOthers(context.stream(), session.model(), artifacts.pathFor("weights/hf"), settings,
                  facts);
    for (const char* file : {"vit/config.json", "vit/model.safetensors", "llm/config.json",
                             "llm/model.safetensors", "connector.safetensors"})
        artifacts.add(std::string("weights/hf/") + file, "model");
}

void Results::writeGazes(RunContext& context, Session& session, ClipLooker& looker) const
{
    std::vector<GazeExport> clips;
    GazeLook style;
    style.cell = session.config().gazeSize;
    for (const Index clip : shownClips(session, session.config().gazeClips)) {
        if (context.stopRequested())
            return;
        const ClipLook look =
            looker.look(context.stream(), clip, {.refinements = session.config().refinements});
        clips.push_back({gazeScene(session, look, {}, "last four blocks, all heads"), look.info.id,
                         look.coarse, look.fine});
    }
    if (!clips.empty())
        exportGaze(context.artifacts(), clips, style);
}

nlohmann::json Results::state() const
{
    nlohmann::json state{{"captions", m_captions.toJson()}};
    if (m_record) {
        state["record"] = evaluationJson(*m_record);
        state["health"] = {m_health.updates,
                           number(m_health.uniformity),
                           number(m_health.querySimilarity),
                           number(m_health.featureSimilarity),
                           number(m_health.queryDeviation),
                           number(m_health.ratio)};
    }
    for (const auto& [tokens, record] : m_beside)
        state["beside"][std::to_string(tokens)] = evaluationJson(record);
    return state;
}

void Results::restore(const nlohmann::json& state)
{
    m_captions = CaptionHistory::fromJson(state.at("captions"), "the checkpoint");
    if (state.contains("record"))
        m_record = evaluationFromJson(state.at("record"), "the checkpoint");
    const nlohmann::json saved = state.value("beside", nlohmann::json::object());
    std::map<int, EvaluationRecord> beside;
    for (const auto& [tokens, record] : saved.items())
        beside[std::stoi(tokens)] = evaluationFromJson(record, "the checkpoint");
    compareWith(std::move(beside));
    if (!state.contains("health"))
        return;
    const nlohmann::json& health = state.at("health");
    const auto figure = [&](std::size_t i) {
        return health.at(i).is_number() ? health.at(i).get<double>() : NAN;
    };
    m_health = {
        health.at(0).get<std::int64_t>(), figure(1), figure(2), figure(3), figure(4), figure(5)};
}

} // namespace vergence::fvlm
