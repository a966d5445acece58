#include "plugins/mc_embedding/report/charts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace vergence::mc_embedding {

namespace {

std::string quoted(const std::string& text)
{
    if (text.find_first_of(",\"\n") == std::string::npos)
        return text;
    std::string result = "\"";
    for (const char c : text)
        result += c == '"' ? "\"\"" : std::string(1, c);
    return result + "\"";
}

/// Empty where there is none.
std::string cell(double value)
{
    return std::isfinite(value) ? fmt::format("{:.10g}", value) : "";
}

} // namespace

std::string modelName(const StudyState& state, std::size_t model)
{
    const ModelStudy& of = state.models[model];
    const auto same = std::ranges::count_if(
        state.models, [&](const ModelStudy& other) { return other.tower.key == of.tower.key; });
    return same > 1 ? of.label : of.tower.key;
}

std::vector<std::string> classesOf(const StudyState& state)
{
    std::vector<std::string> classes;
    std::set<std::string> known{""};
    for (const StudyImage& image : state.images.images)
        if (known.insert(image.label).second)
            classes.push_back(image.label);
    return classes;
}

std::string metricName(const std::string& metric)
{
    static const std::map<std::string, std::string> kNames{
        {"trace_pre", "trace, pre-norm"},
        {"trace_post", "trace, post-norm"},
        {"weighted_trace", "weighted trace"},
        {"topk_trace", "trace of the top dimensions"},
        {"angular_var", "variance of the angle"},
        {"angular_msq", "mean squared angle"},
        {"circular_variance", "circular variance"},
        {"offdiag_l1_ratio", "off-diagonal mass (L1)"},
        {"offdiag_fro_ratio", "off-diagonal mass (Frobenius)"},
        {"logdet_pseudo", "mean log eigenvalue"},
        {"effective_rank", "effective rank"}};
    const auto found = kNames.find(metric);
    return found == kNames.end() ? metric : found->second;
}

std::optional<Scores> scoresOf(const StudyState& state, const Look& look)
{
    if (look.model >= state.models.size())
        return std::nullopt;
    const auto& all = state.models[look.model].scores;
    const auto found = all.find(look.metric);
    if (found == all.end() || look.pass >= found->second.size())
        return std::nullopt;
    const Matrix& matrix = found->second[look.pass];
    Scores scores;
    for (std::size_t i = 0; i < matrix.columns; ++i) {
        bool isKnown = matrix.rows > 0;
        for (std::size_t k = 0; k < matrix.rows && isKnown; ++k)
            isKnown = std::isfinite(matrix(k, i));
        if (isKnown)
            scores.images.push_back(i);
    }
    scores.rows = matrix.rows;
    scores.columns = scores.images.size();
    if (scores.columns < 2) // nothing to compare yet
        return std::nullopt;
    scores.values.reserve(scores.rows * scores.columns);
    for (std::size_t k = 0; k < scores.rows; ++k)
        for (const std::size_t i : scores.images)
            scores.values.push_back(matrix(k, i));
    return scores;
}

std::string imageName(const StudyState& state, std::size_t image)
{
    const std::string& path = state.images.images.at(image).path;
    return path.substr(path.rfind('/') + 1);
}

std::vector<std::size_t> byScore(const std::vector<double>& scores)
{
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (std::isfinite(scores[i]))
            order.push_back(i);
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    return order;
}

void addImages(Plot& plot, std::vector<double> x, std::vector<double> y, std::size_t few)
{
    if (x.size() <= few)
        plot.marks.push_back({.x = std::move(x),
                              .y = std::move(y),
                              .label = "image",
                              .radius = 3.5,
                              .opacity = 0.6});
    else
        plot.hexagons = Plot::Hexagons{std::move(x), std::move(y), "images"};
}

std::string csvLines(const Plot& plot, const std::string& panel)
{
    std::string lines;
    const auto add = [&](const char* kind, const std::string& series, const std::string& x,
                         double y, double low, double high) {
        lines += fmt::format("{},{},{},{},{},{},{}\n", quoted(panel), kind, quoted(series),
                             quoted(x), cell(y), cell(low), cell(high));
    };
    for (const Plot::Curve& curve : plot.curves)
        for (std::size_t i = 0; i < curve.x.size(); ++i)
            add("curve", curve.label, cell(curve.x[i]), curve.y[i], NAN, NAN);
    for (const Plot::Marks& marks : plot.marks)
        for (std::size_t i = 0; i < marks.x.size(); ++i)
            add("point", marks.label, cell(marks.x[i]), marks.y[i],
                i < marks.low.size() ? marks.low[i] : NAN,
                i < marks.high.size() ? marks.high[i] : NAN);
    for (const Plot::Band& band : plot.bands)
        for (std::size_t i = 0; i < band.x.size(); ++i)
            add("band", band.label, cell(band.x[i]), NAN, band.low[i], band.high[i]);
    for (const Plot::Bar& bar : plot.bars)
        add("bar", bar.tip, cell((bar.left + bar.right) / 2), bar.top - bar.bottom, bar.left,
            bar.right);
    for (const Plot::Box& box : plot.boxes)
        add("box", box.tip, cell(box.at), box.median, box.q25, box.q75);
    for (const Plot::Reference& line : plot.references)
        add("reference", line.label, line.isVertical ? cell(line.at) : "",
            line.isVertical ? NAN : line.at, NAN, NAN);
    if (plot.hexagons)
        for (std::size_t i = 0; i < plot.hexagons->x.size(); ++i)
            add("point", plot.hexagons->label, cell(plot.hexagons->x[i]), plot.hexagons->y[i], NAN,
                NAN);
    if (plot.cells)
        for (std::size_t r = 0; r < plot.cells->rows; ++r)
            for (std::size_t c = 0; c < plot.cells->columns; ++c)
                add("cell", r < plot.cells->rowNames.size() ? plot.cells->rowNames[r] : "",
                    c < plot.cells->columnNames.size() ? plot.cells->columnNames[c] : "",
                    plot.cells->values[r * plot.cells->columns + c], NAN, NAN);
    return lines;
}

Chart chartOf(const std::string& id, const std::string& title, const std::string& caption,
              const std::vector<Plot>& panels, std::size_t columns)
{
    Chart chart{id, title, caption, {}, "panel,kind,series,x,y,low,high\n"};
    std::vector<Diagram> drawings;
    for (const Plot& panel : panels) {
        drawings.push_back(layOut(panel));
        chart.csv += csvLines(panel, panel.title);
    }
    chart.drawing = drawings.size() == 1 ? drawings.front() : tiled(drawings, columns, title);
    return chart;
}

} // namespace vergence::mc_embedding
