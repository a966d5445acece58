#include "plugins/foveated_vlm/session/step_metrics.h"

#include <cmath>

#include "core/base/clock.h"
#include "core/base/file.h"

namespace vergence::fvlm {

namespace {

/// Coarse against fine: above 1, looking helps. Not a number where one is missing.
double ratioOf(double coarse, double fine)
{
    return fine > 0 ? coarse / fine : std::nan("");
}

/// The matched control, of one token, has the plain name.
std::string ofControl(const std::string& name, int tokens)
{
    return tokens == 1 ? name : name + "_" + std::to_string(tokens);
}

} // namespace

void StepMetrics::put(RunContext& context, const std::string& name, double value, std::int64_t at)
{
    if (std::isnan(value))
        return;
    context.recordAt(name, value, at);
    m_store.append({{at, 0, name, value}});
}

void StepMetrics::recall(RunContext& context, std::int64_t last)
{
    const auto path = context.artifacts().folder().metrics();
    if (!std::filesystem::exists(path))
        return;
    const MetricStore all = MetricStore::fromCsv(readFile(path), path.string());
    for (const std::string& name : all.names()) {
        const Series& series = *all.find(name);
        std::vector<MetricPoint> points;
        for (std::size_t i = 0; i < series.size() && series.steps()[i] <= last; ++i)
            points.push_back({series.steps()[i], series.walls()[i], name, series.values()[i]});
        m_store.append(points);
    }
}

void StepMetrics::record(RunContext& context, const Session& session,
                         const std::vector<UpdateRecord>& records, double besideFlop)
{
    const auto put = [&](const std::string& name, double value, Index at) {
        this->put(context, name, value, at);
    };
    const Trainer& trainer = session.trainer();
    for (const UpdateRecord& r : records) {
        const Index at = r.microStep;
        put("loss", r.loss, at);
        put("loss_fine", r.fine, at);
        put("loss_coarse", r.coarse, at);
        put("ratio", ratioOf(r.coarse, r.fine), at);
        put("ratio_t2", ratioOf(r.laterCoarseLatents, r.laterLatents), at);
        put("loss_text", r.text, at);
        put("loss_recon", r.latents, at);
        for (std::size_t t = 0; t < r.latentsByFrame.size(); ++t)
            put("loss_frame_" + std::to_string(t + 1), r.latentsByFrame[t], at);
        if (trainer.settings().objective == Objective::Preferences) {
            put("dpo_accuracy", r.accuracy, at);
            put("dpo_margin", r.margin, at);
            put("dpo_reward_chosen", r.chosenReward, at);
            put("dpo_reward_rejected", r.rejectedReward, at);
        }
        put("grad_norm", r.gradientNorm, at);
        for (std::size_t part = 0; part < kPartNames.size(); ++part) {
            put(std::string("grad_norm_") + kPartNames[part], r.partNorms[part], at);
            put(std::string("lr_") + kPartNames[part],
                trainer.settings().rateAt(static_cast<Part>(part), r.update), at);
        }
    }
    if (records.empty())
        return;
    const Index at = records.back().microStep;
    const TrainCounts& counts = trainer.counts();
    put("samples_seen", static_cast<double>(counts.samples), at);
    put("epoch", trainer.epochs(), at);
    put("skipped_updates", static_cast<double>(counts.skipped), at);
    const double now = steadySeconds(), waited = session.waitedSeconds();
    const double flop = session.flop() + besideFlop;
    const double passed = now - m_since;
    const auto steps = static_cast<double>(counts.microSteps - m_microSteps);
    if (m_since > 0 && passed > 0 && steps > 0) {
        put("it_per_s", steps / passed, at);
        put("clips_per_s", static_cast<double>(counts.samples - m_samples) / passed, at);
        put("data_wait_ms", 1e3 * (waited - m_waited) / steps, at);
        put("gflop_per_s", 1e-9 * (flop - m_flop) / passed, at);
    }
    m_since = now;
    m_microSteps = counts.microSteps;
    m_samples = counts.samples;
    m_waited = waited;
    m_flop = flop;
}

void StepMetrics::recordControl(RunContext& context, int tokens,
                                const std::vector<UpdateRecord>& records)
{
    for (const UpdateRecord& r : records)
        put(context, ofControl("loss_control", tokens), r.loss, r.microStep);
}

void StepMetrics::recordControl(RunContext& context, int tokens, const EvaluationRecord& record)
{
    double loss = 0, counted = 0;
    for (const ClipScore& score : record.scores) {
        loss += score.coarse;
        counted += score.counted;
    }
    if (counted > 0)
        put(context, ofControl("val_control", tokens), loss / counted, context.step());
    if (record.answers > 0)
        put(context, ofControl("exact_control", tokens),
            100 * static_cast<double>(record.right) / static_cast<double>(record.answers),
            context.step());
}

void StepMetrics::record(RunContext& context, const EvaluationReport& report)
{
    const std::int64_t now = context.step();
    const auto way = [&](const char* name, const std::optional<WayResult>& result) {
        if (result)
            put(context, std::string("val_") + name, result->loss, now);
    };
    way("coarse", report.coarse);
    way("fine", report.fine);
    way("seq", report.sequential);
    const std::optional<WayResult>& best = report.sequential ? report.sequential
                                           : report.fine     ? report.fine
                                                             : report.coarse;
    if (best)
        put(context, "exact_match", 100 * best->exactMatch, now);
    if (best && report.blindNats > 0)
        put(context, "nats_below_blind", report.natsBelowBlind(best), now);
    if (best && report.copyError && *report.copyError > 0) {
        put(context, "val_copy", *report.copyError, now);
        put(context, "below_copy", 100 * (1 - best->later / *report.copyError), now);
    }
    if (report.ratio)
        put(context, "val_ratio", report.ratio->value, now);
    put(context, "entropy_c", report.coarseAttention.entropy, now);
    put(context, "uniformity_c", report.coarseAttention.share(), now);
    put(context, "peak_c", report.coarseAttention.peak, now);
    put(context, "cls_mass_c", report.coarseAttention.classMass, now);
    if (!report.fine)
        return;
    put(context, "entropy_f", report.fineAttention.entropy, now);
    put(context, "uniformity_f", report.fineAttention.share(), now);
    put(context, "peak_f", report.fineAttention.peak, now);
    put(context, "cls_mass_f", report.fineAttention.classMass, now);
    put(context, "feature_sim", report.likeness.featureSimilarity, now);
    put(context, "query_sim", report.likeness.querySimilarity, now);
    put(context, "query_std", report.likeness.queryDeviation, now);
}

} // namespace vergence::fvlm
