#include "plugins/foveated_vlm/view/captions_view.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/plot/plot.h"
#include "core/artifact/plot/plot_sheet.h"
#include "core/base/error.h"
#include "plugins/foveated_vlm/view/picture_sheet.h"

namespace vergence::fvlm {

namespace {

constexpr const char* kFormat = "vergence-captions/1";

nlohmann::json jsonOf(const Caption& caption)
{
    return {{"text", caption.text},
            {"nll", std::isfinite(caption.nll) ? nlohmann::json(caption.nll) : nlohmann::json()}};
}

Caption captionFrom(const nlohmann::json& json)
{
    const nlohmann::json& nll = json.at("nll");
    return {json.at("text").get<std::string>(), nll.is_null() ? NAN : nll.get<double>()};
}

/// What a reader thinks equal: without spaces at the ends.
std::string trimmed(const std::string& text)
{
    const std::size_t first = text.find_first_not_of(" \n\t"),
                      last = text.find_last_not_of(" \n\t");
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::string nats(double nll)
{
    return std::isfinite(nll) ? fmt::format("{:.3f} nats", nll) : "not measured";
}

std::string oneLine(std::string text)
{
    std::ranges::replace(text, '\n', ' ');
    return text;
}

/// Lines of a column; what does not fit ends in "…".
std::vector<std::string> linesOf(const std::string& text, double width)
{
    return fittedLines(oneLine(text), plot::kFace, width, 5);
}

/// A column of a row: lines of text and a muted one below.
struct Cell {
    std::vector<std::string> lines;
    std::string note;
    bool isExact = false;
};

Cell cellOf(const Caption& caption, const std::string& truth, double width)
{
    const bool isExact = !trimmed(truth).empty() && trimmed(caption.text) == trimmed(truth);
    return {linesOf(caption.text, width), nats(caption.nll) + (isExact ? ", exact" : ""), isExact};
}

} // namespace

void CaptionHistory::add(CaptionPage page)
{
    const auto at = std::ranges::lower_bound(m_pages, page.update, {}, &CaptionPage::update);
    if (at != m_pages.end() && at->update == page.update)
        *at = std::move(page);
    else
        m_pages.insert(at, std::move(page));
}

nlohmann::json CaptionHistory::toJson() const
{
    nlohmann::json pages = nlohmann::json::array();
    for (const CaptionPage& page : m_pages) {
        nlohmann::json rows = nlohmann::json::array();
        for (const CaptionRow& row : page.rows)
            rows.push_back({{"id", row.id},
                            {"prompt", row.prompt},
                            {"truth", row.truth},
                            {"coarse", jsonOf(row.coarse)},
                            {"fine", jsonOf(row.fine)},
                            {"sequential", jsonOf(row.sequential)}});
        pages.push_back({{"update", page.update}, {"rows", std::move(rows)}});
    }
    return {{"format", kFormat}, {"pages", std::move(pages)}};
}

CaptionHistory CaptionHistory::fromJson(const nlohmann::json& json, const std::string& source)
{
    CaptionHistory history;
    try {
        if (json.at("format") != kFormat)
            throw InputError(source + " holds no captions of this format");
        for (const nlohmann::json& page : json.at("pages")) {
            CaptionPage read{page.at("update").get<std::int64_t>(), {}};
            for (const nlohmann::json& row : page.at("rows"))
                read.rows.push_back(
                    {row.at("id").get<std::uint64_t>(), row.at("prompt").get<std::string>(),
                     row.at("truth").get<std::string>(), captionFrom(row.at("coarse")),
                     captionFrom(row.at("fine")), captionFrom(row.at("sequential"))});
            history.add(std::move(read));
        }
    } catch (const nlohmann::json::exception& e) {
        throw InputError("captions of " + source + " cannot be read: " + e.what());
    }
    return history;
}

Diagram captionDiagram(const CaptionPage& page)
{
    using plot::kEdge, plot::kFace, plot::kSmall;
    constexpr double kId = 56, kColumn = 208, kLine = 17, kAir = 12, kHead = 64;
    static const char* const kTitles[] = {"clip", "prompt and truth", "coarse", "fine",
                                          "sequential"};
    struct Row {
        std::string id;
        std::vector<Cell> cells;
        double height = 0;
    };
    std::vector<Row> rows;
    double height = kHead + (page.rows.empty() ? 30 : 0) + kEdge;
    for (const CaptionRow& row : page.rows) {
        Row drawn{clipName(row.id), {}, 0};
        Cell first{linesOf(row.prompt, kColumn - 12), {}, false};
        for (const std::string& line : linesOf("→ " + row.truth, kColumn - 12))
            first.lines.push_back(line);
        drawn.cells.push_back(std::move(first));
        for (const Caption* caption : {&row.coarse, &row.fine, &row.sequential})
            drawn.cells.push_back(cellOf(*caption, row.truth, kColumn - 12));
        std::size_t most = 1;
        for (const Cell& cell : drawn.cells)
            most = std::max(most, cell.lines.size() + (cell.note.empty() ? 0 : 1));
        drawn.height = kLine * static_cast<double>(most) + kAir;
        height += drawn.height;
        rows.push_back(std::move(drawn));
    }
    Diagram sheet = plot::sheet(2 * kEdge + kId + 4 * kColumn, height);
    const auto write = [&](double x, double y, const std::string& text, double size,
                           const char* colour, bool isBold = false) {
        sheet.texts.push_back(plot::label(x, y, text, size, colour, "left"));
        sheet.texts.back().isBold = isBold;
    };
    const auto columnAt = [](std::size_t column) {
        return column == 0 ? kEdge : kEdge + kId + kColumn * static_cast<double>(column - 1);
    };
    write(kEdge, height - 20,
          fmt::format("Texts after {} update{}", page.update, page.update == 1 ? "" : "s"),
          plot::kTitle, "text", true);
    double y = height - kHead;
    for (std::size_t column = 0; column < 5; ++column)
        write(columnAt(column), y + 11, kTitles[column], kSmall, "muted", true);
    sheet.lines.push_back(plot::straight(kEdge, y, sheet.right - kEdge, y));
    if (rows.empty())
        write(kEdge, y - 18,
              "Nothing is written yet. Answers come with each test on held-out clips.", kFace,
              "muted");
    for (const Row& row : rows) {
        write(kEdge, y - kAir / 2 - kLine / 2, row.id, kFace, "muted");
        for (std::size_t column = 0; column < row.cells.size(); ++column) {
            const Cell& cell = row.cells[column];
            double line = y - kAir / 2 - kLine / 2;
            for (const std::string& text : cell.lines) {
                write(columnAt(column + 1), line, text, kFace, cell.isExact ? "accent" : "text");
                line -= kLine;
            }
            if (!cell.note.empty())
                write(columnAt(column + 1), line, cell.note, kSmall, "muted");
        }
        y -= row.height;
        sheet.lines.push_back(plot::straight(kEdge, y, sheet.right - kEdge, y, "faint"));
    }
    return sheet;
}

nlohmann::json captionTable(const CaptionPage& page)
{
    nlohmann::json rows = nlohmann::json::array();
    const auto number = [](double value) {
        return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json("");
    };
    for (const CaptionRow& row : page.rows)
        rows.push_back({row.id, oneLine(row.prompt), oneLine(row.truth), oneLine(row.coarse.text),
                        number(row.coarse.nll), oneLine(row.fine.text), number(row.fine.nll),
                        oneLine(row.sequential.text), number(row.sequential.nll)});
    return {{"id", "captions"},
            {"title", "Texts"},
            {"columns",
             {"clip", "prompt", "truth", "coarse", "coarse nats", "fine", "fine nats", "sequential",
              "sequential nats"}},
            {"rows", std::move(rows)}};
}

} // namespace vergence::fvlm
