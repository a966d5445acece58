#include "plugins/foveated_vlm/view/query_panel.h"

#include <cmath>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "core/base/error.h"

namespace vergence::fvlm {

std::optional<QueryFigures> queryFigures(std::span<const float> queries, Index width)
{
    expects(width > 0 && queries.size() % static_cast<std::size_t>(width) == 0,
            "queries: whole rows");
    const std::size_t step = static_cast<std::size_t>(width), rows = queries.size() / step;
    if (rows < 2)
        return std::nullopt;
    QueryFigures figures;
    figures.similarity =
        meanCosine(queries.first(queries.size() - step), queries.subspan(step), width);
    for (std::size_t i = 0; i < step; ++i) {
        double sum = 0, squares = 0;
        for (std::size_t r = 0; r < rows; ++r) {
            const double value = queries[r * step + i];
            sum += value;
            squares += value * value;
        }
        const double mean = sum / static_cast<double>(rows);
        figures.deviation +=
            std::sqrt(std::max(0.0, squares / static_cast<double>(rows) - mean * mean));
    }
    figures.deviation /= static_cast<double>(step);
    return figures;
}

Diagram queryPanel(const QueryScene& scene)
{
    const auto step = static_cast<std::size_t>(scene.width);
    expects(scene.width > 0 && !scene.queries.empty() && scene.queries.size() % step == 0 &&
                scene.fixed.size() == step && scene.initial.size() == step,
            "queries: rows of one width, and the two learned ones");
    const std::size_t frames = scene.queries.size() / step;
    const auto query = [&](std::size_t t) {
        return std::span(scene.queries).subspan(t * step, step);
    };
    const std::optional<QueryFigures> figures = queryFigures(scene.queries, scene.width);
    plot::Plot matrix;
    matrix.title = "Queries" + (scene.title.empty() ? "" : ", " + scene.title);
    matrix.note = !figures ? "One frame, one query."
                           : fmt::format("Cosines of the queries that look at the frames, and to "
                                         "the learned queries. Neighbours {:.3f}, deviation over "
                                         "the frames {:.3f}.",
                                         figures->similarity, figures->deviation);
    matrix.x.title = "query of frame";
    if (frames > 3) // the title is as long as four rows
        matrix.y.title = "query of frame";
    plot::PlotCells cells;
    cells.rows = frames;
    cells.columns = frames + 3; // a gap before the learned ones
    cells.low = -1;
    for (std::size_t row = 0; row < frames; ++row) {
        for (std::size_t column = 0; column < frames; ++column)
            cells.values.push_back(cosine(query(row), query(column)));
        cells.values.push_back(NAN);
        cells.values.push_back(cosine(query(row), scene.fixed));
        cells.values.push_back(cosine(query(row), scene.initial));
        cells.rowNames.push_back(std::to_string(row + 1));
    }
    const std::size_t every = frames <= 16 ? 1 : 4; // names that would touch are left out
    for (std::size_t column = 0; column < frames; ++column)
        cells.columnNames.push_back(column % every == 0 ? cells.rowNames[column] : "");
    for (std::size_t row = 0; row < frames; ++row)
        if (row % every != 0)
            cells.rowNames[row].clear();
    if (every == 1)
        cells.columnNames.insert(cells.columnNames.end(), {"", "static", "init"});
    else
        matrix.note += " The last two columns: static, init.";
    const double side = frames <= 8 ? 52 : frames <= 16 ? 36 : 640.0 / static_cast<double>(frames);
    matrix.width = side * static_cast<double>(cells.columns) + 150;
    matrix.height = side * static_cast<double>(frames) + 130;
    matrix.cells = std::move(cells);
    return layOut(matrix);
}

} // namespace vergence::fvlm
