#include <algorithm>

#include <fmt/format.h>

#include "plugins/mc_embedding/report/plots.h"
#include "plugins/mc_embedding/report/report_content.h"

namespace vergence::mc_embedding {

namespace {

/// Colours are variables, so that the page is dark where the reader's screen is, and never in
/// print.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --paper: #ffffff; --text: #1b1f24; --muted: #5b6570;
  --line: #d4d9de; --box: #f3f5f7; --good: #1a7f37; --mixed: #b25e00; --bad: #b3261e; }
html { background: var(--paper); }
body { margin: 0 auto; max-width: 960px; padding: 24px 20px 56px; color: var(--text);
  font: 15px/1.5 system-ui, "DejaVu Sans", Arial, sans-serif; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 8px; }
h2, summary { font-size: 19px; font-weight: 600; border-bottom: 1px solid var(--line);
  padding-bottom: 4px; }
h2 { margin: 32px 0 10px; break-after: avoid; }
details { margin: 20px 0; }
summary { cursor: pointer; font-size: 15px; margin-bottom: 10px; }
.facts, .note, figcaption { color: var(--muted); font-size: 13px; }
.verdict { padding: 10px 16px; border-left: 5px solid var(--muted); background: var(--box);
  break-inside: avoid; }
.verdict p { margin: 0; font-weight: 600; }
.verdict ul { margin: 6px 0 0; padding-left: 20px; font-size: 14px; }
.good { border-color: var(--good); } .mixed { border-color: var(--mixed); }
.bad { border-color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 10px; text-align: right; border-bottom: 1px solid var(--line);
  vertical-align: top; white-space: nowrap; }
th { color: var(--muted); font-weight: 600; border-bottom-color: var(--muted); }
th:first-child, td:first-child { text-align: left; font-weight: 600; padding-left: 0; }
tr { break-inside: avoid; }
.words th, .words td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.grey { display: block; color: var(--muted); font-weight: 400; font-size: 12px; }
.figures { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 24px;
  align-items: start; }
h3 { font-size: 14px; margin: 0 0 8px; }
figure { margin: 0; break-inside: avoid; }
figure.wide { grid-column: 1 / -1; }
svg { display: block; max-width: 100%; height: auto; text-anchor: middle;
  font-family: system-ui, "DejaVu Sans", Arial, sans-serif; }
.gallery { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 10px; }
.gallery div { font-size: 12px; line-height: 1.35; overflow-wrap: anywhere; }
.gallery img { display: block; width: 100%; aspect-ratio: 1; object-fit: contain;
  background: #000; margin-bottom: 3px; }
code { background: var(--box); padding: 2px 6px; border-radius: 3px; }
@media (max-width: 700px) { .figures { grid-template-columns: minmax(0, 1fr); } }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #1a1d21; --text: #e8eaed;
  --muted: #a0a8b1; --line: #3a4047; --box: #24282d; --good: #4cc26b; --mixed: #ffb340;
  --bad: #ff7b72; } }
@media print { body { max-width: none; padding: 0; font-size: 10.5pt; }
  .scroll { overflow: visible; } }
)";

std::string htmlTable(const ReportTable& table)
{
    std::string html;
    html +=
        fmt::format("<div class=\"scroll\"><table{}>\n", table.isText ? " class=\"words\"" : "");
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        html += "<tr>";
        for (const PlotTable::Cell& cell : table.rows[r])
            html += fmt::format(
                "<{0}{3}>{1}{2}</{0}>", r == 0 ? "th" : "td", escaped(cell.text),
                cell.grey.empty() ? "" : "<span class=\"grey\">" + escaped(cell.grey) + "</span>",
                cell.colour == "text" ? "" : " class=\"" + inkClass(cell.colour) + "\"");
        html += "</tr>\n";
    }
    html += "</table></div>\n";
    for (const std::string& note : table.notes)
        html += "<p class=\"note\">" + escaped(note) + "</p>\n";
    return html;
}

std::string inCode(const std::string& text)
{
    return text.starts_with("vergence ") ? "`" + text + "`" : text;
}

std::string markdownCell(const PlotTable::Cell& cell)
{
    std::string text = cell.text + (cell.grey.empty() ? "" : " *(" + cell.grey + ")*");
    std::string safe;
    for (const char c : text)
        safe += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
    return safe;
}

std::string markdownTable(const ReportTable& table)
{
    std::string text;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        text += "|";
        for (const PlotTable::Cell& cell : table.rows[r])
            text += " " + markdownCell(cell) + " |";
        text += "\n";
        if (r > 0)
            continue;
        text += "|";
        for (std::size_t c = 0; c < table.rows[r].size(); ++c)
            text += c == 0 ? " --- |" : " ---: |";
        text += "\n";
    }
    for (const std::string& note : table.notes)
        text += "\n" + note + "\n";
    return text + "\n";
}

std::string htmlPictures(const std::vector<ReportPicture>& pictures)
{
    std::string html = "<div class=\"figures\">\n";
    for (const ReportPicture& picture : pictures) {
        const std::string title =
            picture.hasTitle ? "" : "<h3>" + escaped(picture.title) + "</h3>\n";
        html += fmt::format("<figure{}>\n{}{}\n<figcaption>{}</figcaption>\n</figure>\n",
                            picture.isWide ? " class=\"wide\"" : "", title, picture.html,
                            escaped(picture.caption));
    }
    return html + "</div>\n";
}

std::string htmlSection(const ReportSection& section)
{
    std::string html = section.isFolded
                           ? "<details>\n<summary>" + escaped(section.title) + "</summary>\n"
                           : "<section>\n<h2>" + escaped(section.title) + "</h2>\n";
    for (const std::string& paragraph : section.paragraphs)
        html += "<p>" + escaped(paragraph) + "</p>\n";
    if (!section.list.empty()) {
        html += "<ul>\n";
        for (const std::string& item : section.list)
            html += inCode(item) == item ? "<li>" + escaped(item) + "</li>\n"
                                         : "<li><code>" + escaped(item) + "</code></li>\n";
        html += "</ul>\n";
    }
    for (const ReportTable& table : section.tables)
        html += htmlTable(table);
    if (!section.pictures.empty())
        html += htmlPictures(section.pictures);
    return html + (section.isFolded ? "</details>\n" : "</section>\n");
}

std::string markdownSection(const ReportSection& section)
{
    std::string text = section.isFolded
                           ? "<details><summary>" + escaped(section.title) + "</summary>\n\n"
                           : "## " + section.title + "\n\n";
    for (const std::string& paragraph : section.paragraphs)
        text += paragraph + "\n\n";
    for (const std::string& item : section.list)
        text += "- " + inCode(item) + "\n";
    text += section.list.empty() ? "" : "\n";
    for (const ReportTable& table : section.tables)
        text += markdownTable(table);
    for (const ReportPicture& picture : section.pictures)
        text += fmt::format("![{0}]({1})\n\n**{0}.** {2}\n\n", picture.title, picture.file,
                            picture.caption);
    return text + (section.isFolded ? "</details>\n\n" : "");
}

} // namespace

std::string toHtml(const Report& report)
{
    std::string html =
        fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width\">\n"
                    "<title>{}</title>\n<style>{}{}@media screen and (prefers-color-scheme: dark) "
                    "{{\n{}}}\n</style>\n</head>\n<body>\n",
                    escaped(report.title), kStyle, svgStyle(false), svgStyle(true));
    html += "<h1>" + escaped(report.title) + "</h1>\n<p>" + escaped(report.lead) + "</p>\n";
    html +=
        fmt::format("<div class=\"verdict {}\"><p>{}</p>\n", report.tone, escaped(report.verdict));
    if (!report.findings.empty()) {
        html += "<ul>\n";
        for (const std::string& finding : report.findings)
            html += "<li>" + escaped(finding) + "</li>\n";
        html += "</ul>\n";
    }
    html += "</div>\n<p class=\"facts\">" + escaped(report.facts) + "</p>\n";
    for (const ReportSection& section : report.sections)
        html += htmlSection(section);
    return html + "</body>\n</html>\n";
}

std::string toMarkdown(const Report& report)
{
    std::string text =
        "# " + report.title + "\n\n" + report.lead + "\n\n> **" + report.verdict + "**\n";
    for (const std::string& finding : report.findings)
        text += ">\n> " + finding + "\n";
    text += "\n" + report.facts + "\n\n";
    for (const ReportSection& section : report.sections)
        text += markdownSection(section);
    return text;
}

} // namespace vergence::mc_embedding
