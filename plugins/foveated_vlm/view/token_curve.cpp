#include "plugins/foveated_vlm/view/token_curve.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/plot/plot.h"

namespace vergence::fvlm {

namespace {

Interval percentRight(const EvaluationRecord& record)
{
    const Interval share = shareInterval(record.right, record.answers);
    return {100 * share.value, 100 * share.low, 100 * share.high};
}

/// Mean nats of an answer; of the gaze those of the sequential mode.
double natsOf(const EvaluationRecord& record)
{
    double sum = 0;
    for (const ClipScore& score : record.scores)
        sum += record.isCoarseOnly ? score.coarse : score.sequential;
    return sum / static_cast<double>(record.scores.size());
}

} // namespace

Diagram tokenChart(const TokenCurve& curve)
{
    plot::Plot chart;
    chart.title = "Right answers over visual tokens";
    chart.note = "Held-out questions; 95 % intervals. Without gaze every token has a learned query "
                 "of its own.";
    chart.width = 720;
    chart.x.title = "visual tokens a frame, without gaze";
    chart.x.isLog = true;
    chart.y.title = "% right";
    chart.y.low = 0;
    chart.y.high = 100;
    plot::Plot::Curve line{{}, {}, "series 0", "without gaze"};
    plot::Plot::Marks marks{{}, {}, "series 0"};
    for (const auto& [tokens, record] : curve.controls) {
        const Interval right = percentRight(record);
        for (std::vector<double>* x : {&line.x, &marks.x})
            x->push_back(tokens);
        for (std::vector<double>* y : {&line.y, &marks.y})
            y->push_back(right.value);
        marks.low.push_back(right.low);
        marks.high.push_back(right.high);
        chart.x.ticks.emplace_back(tokens, std::to_string(tokens));
    }
    chart.curves.push_back(std::move(line));
    chart.marks.push_back(std::move(marks));
    const double gaze = percentRight(*curve.gaze).value;
    chart.curves.push_back({{1.0, static_cast<double>(curve.controls.rbegin()->first)},
                            {gaze, gaze},
                            "series 1",
                            "one token with gaze"});
    return layOut(chart);
}

nlohmann::json tokenTable(const TokenCurve& curve)
{
    nlohmann::json rows = nlohmann::json::array();
    const auto add = [&](const std::string& name, int tokens, const EvaluationRecord& record) {
        const Interval right = percentRight(record);
        const auto tenths = [](double value) { return std::round(10 * value) / 10; };
        rows.push_back({name, tokens, tenths(right.value), tenths(right.low), tenths(right.high),
                        record.answers, std::round(1e4 * natsOf(record)) / 1e4});
    };
    add("with gaze", 1, *curve.gaze);
    for (const auto& [tokens, record] : curve.controls)
        add("without gaze", tokens, record);
    return {{"id", "tokens"},
            {"title", "Right answers over visual tokens"},
            {"columns",
             {"model", "visual tokens a frame", "% right", "from", "to", "questions",
              "nats an answer"}},
            {"rows", std::move(rows)}};
}

} // namespace vergence::fvlm
