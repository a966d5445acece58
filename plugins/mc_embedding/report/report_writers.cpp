#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "plugins/mc_embedding/report/diagram_svg.h"
#include "plugins/mc_embedding/report/report_content.h"

namespace vergence::mc_embedding {

namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light; }
html { background: #ffffff; }
body { margin: 0 auto; max-width: 1080px; padding: 28px 24px 60px; background: #ffffff;
  color: #1b1f24; font: 15px/1.5 system-ui, "DejaVu Sans", Arial, sans-serif; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 10px; }
h2 { font-size: 19px; margin: 38px 0 10px; border-bottom: 1px solid #d4d9de; padding-bottom: 4px; }
h3 { font-size: 15px; margin: 22px 0 6px; }
.verdict { padding: 12px 16px; border-left: 5px solid #5b6570; background: #f3f5f7; }
.good { border-color: #1a7f37; } .mixed { border-color: #b25e00; } .bad { border-color: #b3261e; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 10px; text-align: right; border-bottom: 1px solid #e1e5e9;
  vertical-align: top; white-space: nowrap; }
th { color: #5b6570; font-weight: 600; border-bottom-color: #5b6570; }
th:first-child, td:first-child { text-align: left; font-weight: 600; }
.pairs th, .pairs td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.grey { display: block; color: #5b6570; font-weight: 400; font-size: 12px; }
.warning { color: #b25e00; }
.note, figcaption { color: #5b6570; font-size: 13px; }
figure { margin: 20px 0 30px; break-inside: avoid; }
figure svg, figure img { max-width: 100%; height: auto; }
code { background: #f3f5f7; padding: 2px 6px; border-radius: 3px; }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } h2 { break-after: avoid; }
  .scroll { overflow: visible; } }
)";

std::string base64(const std::string& bytes)
{
    static constexpr char kDigits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned word = 0;
        for (std::size_t k = 0; k < 3; ++k)
            word =
                word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
        for (int k = 3; k >= 0; --k)
            text += i + static_cast<std::size_t>(3 - k) > bytes.size()
                        ? '='
                        : kDigits[word >> (6 * k) & 63];
    }
    return text;
}

std::string htmlTable(const ReportTable& table)
{
    std::string html;
    if (!table.title.empty())
        html += "<h3>" + escaped(table.title) + "</h3>\n";
    const bool isPairs = !table.rows.empty() && table.rows.front().size() == 2;
    html += fmt::format("<div class=\"scroll\"><table{}>\n", isPairs ? " class=\"pairs\"" : "");
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        html += "<tr>";
        for (const PlotTable::Cell& cell : table.rows[r])
            html += fmt::format(
                "<{0}{3}>{1}{2}</{0}>", r == 0 ? "th" : "td", escaped(cell.text),
                cell.grey.empty() ? "" : "<span class=\"grey\">" + escaped(cell.grey) + "</span>",
                cell.colour == "warning" ? " class=\"warning\"" : "");
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
    std::string text = table.title.empty() ? "" : "### " + table.title + "\n\n";
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

} // namespace

std::string toHtml(const Report& report,
                   const std::function<std::string(const std::string&)>& embed)
{
    std::string html =
        fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width\">\n"
                    "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
                    escaped(report.title), kStyle);
    html += "<h1>" + escaped(report.title) + "</h1>\n";
    html += fmt::format("<p class=\"verdict {}\">{}</p>\n", report.tone, escaped(report.verdict));
    for (const ReportSection& section : report.sections) {
        html += "<h2>" + escaped(section.title) + "</h2>\n";
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
        for (const ReportPicture& picture : section.pictures) {
            const std::string shown =
                picture.svg.empty()
                    ? fmt::format("<img src=\"data:{};base64,{}\" alt=\"{}\">", picture.mime,
                                  base64(embed(picture.file)), escaped(picture.title))
                    : picture.svg;
            html += fmt::format("<figure>\n{}\n<figcaption><b>{}.</b> {}</figcaption>\n</figure>\n",
                                shown, escaped(picture.title), escaped(picture.caption));
        }
    }
    return html + "</body>\n</html>\n";
}

std::string toMarkdown(const Report& report)
{
    std::string text = "# " + report.title + "\n\n> " + report.verdict + "\n\n";
    for (const ReportSection& section : report.sections) {
        text += "## " + section.title + "\n\n";
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
    }
    return text;
}

} // namespace vergence::mc_embedding
