#include "plugins/mc_embedding/study/live_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plugins/mc_embedding/statistics/reliability.h"
#include "plugins/mc_embedding/study/later_results.h"
#include "plugins/mc_embedding/study/study_numbers.h"

namespace vergence::mc_embedding {

namespace {

constexpr std::size_t kReports = 32; // per model at most, about

nlohmann::json cell(const Figure& figure)
{
    return figure.exists() ? nlohmann::json(figure.value) : nlohmann::json(figure.reason);
}

void recordFigure(RunContext& context, const std::string& name, const Figure& figure,
                  std::size_t images)
{
    if (figure.exists())
        context.recordAt(name, figure.value, static_cast<std::int64_t>(images));
}

} // namespace

void reportProgress(RunContext& context, const ModelStudy& study, std::size_t added, bool isLast)
{
    const std::size_t done = study.imagesDone,
                      stride = std::max<std::size_t>(1, study.means.rows / kReports);
    const bool isDue = done / stride > (done - added) / stride;
    if (done < 3 || (!isDue && !isLast))
        return;
    const auto& traces = study.scores.at("trace_pre");
    for (std::size_t t = 0; t < study.passes.size(); ++t) {
        const Reliability r =
            reliability(firstColumns(traces[t], done), study.passes[t], study.alpha);
        const std::string ending = fmt::format("/{}/T{}", study.label, study.passes[t]);
        recordFigure(context, "icc" + ending, r.icc, done);
        recordFigure(context, "spearman" + ending, r.spearmanMedian, done);
        recordFigure(context, "snr" + ending, r.snr, done);
        recordFigure(context, "trace" + ending, r.mean, done);
    }
}

void reportSpeed(RunContext& context, const WorkMeter& meter)
{
    context.record("speed/pass_images", meter.imagesPerSecond());
    context.record("speed/tflops", meter.flopPerSecond() * 1e-12);
    context.record("progress/flop_share", meter.share());
    if (std::isfinite(meter.secondsLeft()))
        context.record("progress/eta_s", meter.secondsLeft());
}

void reportTables(RunContext& context, const StudyState& state)
{
    nlohmann::json rows = nlohmann::json::array(), paired = nlohmann::json::array();
    double best = -1;
    for (const ModelStudy& study : state.models) {
        if (study.imagesDone < 3)
            continue;
        for (std::size_t t = 0; t < study.passes.size(); ++t) {
            for (const char* space : {"pre", "post"}) {
                const Matrix& scores = study.scores.at(std::string("trace_") + space)[t];
                const Reliability r = reliability(firstColumns(scores, study.imagesDone),
                                                  study.passes[t], study.alpha);
                rows.push_back({study.label, study.passes[t], space, cell(r.mean),
                                cell(r.spearmanMedian), cell(r.snr), cell(r.icc), cell(r.iccLow),
                                cell(r.iccHigh), cell(passesForIcc(r, kIccGate)), r.status});
                if (r.icc.exists() && t + 1 == study.passes.size())
                    best = std::max(best, r.icc.value);
            }
        }
        for (const DegradedScores& degraded : study.degraded) {
            const DegradationOutcome outcome =
                degradationOutcome(study, degraded, study.passes.size() - 1);
            if (outcome.images > 0)
                paired.push_back({study.label, degraded.degradation, study.passes.back(),
                                  outcome.images, outcome.fractionHigher, cell(outcome.wilcoxonP),
                                  outcome.fractionHigher >= kDegradationGate ? "pass" : "fail"});
        }
    }
    if (rows.empty())
        return;
    if (best > -1)
        context.record("icc/best", best);
    context.table({{"id", "reliability"},
                   {"title", "Repeatability of the trace"},
                   {"columns",
                    {"model", "T", "space", "mean", "Spearman", "SNR", "ICC", "ICC low", "ICC high",
                     "T for ICC 0.75", "status"}},
                   {"rows", rows}});
    for (const StudyTable& table : laterTables(state))
        context.table({{"id", table.id},
                       {"title", table.title},
                       {"columns", table.columns},
                       {"rows", table.rows}});
    if (!paired.empty())
        context.table({{"id", "degradation"},
                       {"title", "Degraded copies under the same masks"},
                       {"columns",
                        {"model", "degradation", "T", "images", "share with higher trace",
                         "Wilcoxon p", "gate"}},
                       {"rows", paired}});
}

} // namespace vergence::mc_embedding
