#include "plugins/sugar/pipeline/html_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/plot/diagram_svg.h"

namespace vergence::sugar {

namespace {

using Json = nlohmann::json;

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>SuGaR run</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --line: #8884; --bar: #3b7dd8; }
body { font: 15px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .8rem .25rem 0; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { background: var(--bar); height: .7rem; min-width: 1px; }
figure { display: inline-block; margin: 0 1rem 1rem 0; vertical-align: top; }
figure img { max-width: 18rem; max-height: 22rem; display: block; }
figcaption { font-size: .85rem; }
code { overflow-wrap: anywhere; }
</style></head><body>
)";

std::string textOf(const Json& value)
{
    if (value.is_string())
        return value.get<std::string>();
    return value.is_number_float() ? fmt::format("{:.4g}", value.get<double>()) : value.dump();
}

/// Rows of two columns.
class Figures {
public:
    void add(const std::string& name, const Json& from, const char* key)
    {
        if (from.is_object() && from.contains(key))
            add(name, textOf(from.at(key)));
    }
    void add(const std::string& name, const std::string& value)
    {
        m_rows += fmt::format("<tr><td>{}</td><td class=\"number\">{}</td></tr>\n",
                              plot::escaped(name), plot::escaped(value));
    }
    std::string table() const { return "<table>\n" + m_rows + "</table>\n"; }

private:
    std::string m_rows;
};

std::string figuresOf(const Json& report)
{
    const Json none = Json::object();
    const auto part = [&](const char* key) -> const Json& {
        return report.contains(key) ? report.at(key) : none;
    };
    Figures figures;
    figures.add("scene", part("scene"), "kind");
    figures.add("pictures", part("scene"), "pictures");
    figures.add("Gaussians", report, "gaussians");
    figures.add("held-out PSNR, dB", part("test"), "psnr");
    figures.add("held-out SSIM", part("test"), "ssim");
    const Json& mesh = part("mesh");
    figures.add("triangles", report, "triangles");
    figures.add("parts of the mesh", mesh, "components");
    figures.add("open borders", mesh, "boundary_loops");
    figures.add("non-manifold edges", mesh, "non_manifold_edges");
    if (mesh.contains("score") && mesh.contains("label"))
        figures.add("quality of the mesh",
                    fmt::format("{:.0f} of 100, {}", mesh.at("score").get<double>(),
                                mesh.at("label").get<std::string>()));
    return figures.table();
}

std::string stagesOf(const Json& stages)
{
    double total = 0;
    for (const Json& stage : stages)
        total += stage.at("seconds").get<double>();
    std::string rows;
    for (const Json& stage : stages) {
        const auto seconds = stage.at("seconds").get<double>();
        const std::string note = stage.at("note").get<std::string>();
        rows += fmt::format(
            "<tr><td>{} {}</td><td>{}</td><td class=\"number\">{:.1f} s</td>"
            "<td style=\"width:12rem\"><div class=\"bar\" style=\"width:{:.1f}%\">"
            "</div></td></tr>\n",
            plot::escaped(stage.at("id").get<std::string>()),
            plot::escaped(stage.at("title").get<std::string>()),
            plot::escaped(stage.at("state").get<std::string>() + (note.empty() ? "" : ", " + note)),
            seconds, total > 0 ? 100 * seconds / total : 0);
    }
    return fmt::format("<table>\n{}<tr><th>together</th><td></td><td class=\"number\">{:.1f} s</td>"
                       "<td></td></tr>\n</table>\n",
                       rows, total);
}

std::string settingsOf(const Json& settings)
{
    std::string items;
    for (const Json& setting : settings)
        items += "<li><code>" + plot::escaped(textOf(setting)) + "</code></li>\n";
    return items.empty() ? "<p>None.</p>\n" : "<ul>\n" + items + "</ul>\n";
}

} // namespace

std::string htmlReport(const Json& report, const std::vector<ReportPicture>& pictures)
{
    std::string page = kHead;
    page += "<h1>From photographs to a surface</h1>\n" + figuresOf(report);
    if (report.contains("stages"))
        page += "<h2>Stages</h2>\n" + stagesOf(report.at("stages"));
    if (!pictures.empty())
        page += "<h2>Pictures</h2>\n";
    for (const ReportPicture& picture : pictures)
        page += fmt::format(
            "<figure><img src=\"{0}\" alt=\"{1}\"><figcaption>{1}</figcaption></figure>\n",
            plot::escaped(picture.path), plot::escaped(picture.caption));
    if (report.contains("changed_settings"))
        page += "<h2>Settings that differ from the defaults</h2>\n" +
                settingsOf(report.at("changed_settings"));
    return page + "</body></html>\n";
}

} // namespace vergence::sugar
