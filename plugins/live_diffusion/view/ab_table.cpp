#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "core/artifact/plot/plot_sheet.h"
#include "plugins/live_diffusion/view/ab_charts.h"
#include "plugins/live_diffusion/view/memory_charts.h"

namespace vergence::live {

namespace {

using Cell = plot::PlotTable::Cell;

std::string number(double value, const char* unit = "")
{
    return std::isfinite(value) ? plot::shortNumber(value) + unit : "–";
}

/// "−1.2 %", with a minus instead of a hyphen.
std::string percent(double share)
{
    if (!std::isfinite(share))
        return "–";
    const double tenths = std::round(1000 * share); // no minus before 0.0
    return fmt::format("{}{:.1f} %", tenths < 0 ? "−" : "", std::abs(tenths) / 10);
}

Cell timeCell(const AbRow& row)
{
    const bool hasInterval = std::isfinite(row.low) && std::isfinite(row.high);
    return {number(row.ms),
            hasInterval             ? fmt::format("{} to {}", number(row.low), number(row.high))
            : std::isfinite(row.ms) ? ""
                                    : "not measured",
            "text"};
}

Cell memoryCell(const AbRow& row)
{
    if (std::isnan(row.steady))
        return {"–", "", "text"};
    return {byteText(row.steady),
            fmt::format("{} / {} / {} / {}", byteText(row.weights), byteText(row.arena),
                        byteText(row.workspace), byteText(row.caches)),
            "text"};
}

Cell verdictCell(const AbRow& row)
{
    switch (row.verdict) {
    case AbVerdict::Faster:
        return {"faster", "", "accent"};
    case AbVerdict::Same:
        return {"same", "", "muted"};
    case AbVerdict::Slower:
        return {"slower", "", "warning"};
    case AbVerdict::NotJudged:
        break;
    }
    return {"", "", "muted"};
}

std::vector<Cell> heading()
{
    return {{"technique"},
            {"ms / frame", "95 % interval"},
            {"speed-up"},
            {"frames / s", "evals / s"},
            {"launch ms", "kernels"},
            {"steady memory", "weights / arena / workspace / caches"},
            {"tuning peak"},
            {"saved"},
            {"error per eval", "max, cosine"},
            {"PSNR", "eval, all steps"},
            {"after 1, 10, 100 frames", "dB between streams"},
            {"verdict"}};
}

std::vector<Cell> cellsOf(const AbRow& row)
{
    return {
        {row.technique},
        timeCell(row),
        {number(row.speedUp, "×")},
        {number(row.fps), number(row.evalsPerSecond)},
        {number(row.launchMs), number(row.kernels)},
        memoryCell(row),
        {byteText(row.tuningPeak)},
        {percent(row.reduction)},
        {number(row.maxAbs), std::isfinite(row.cosine) ? fmt::format("{:.6f}", row.cosine) : "–"},
        {number(row.psnr, " dB"), number(row.psnrAfterSteps, " dB")},
        {fmt::format("{}, {}, {}", number(row.streamPsnr[0]), number(row.streamPsnr[1]),
                     number(row.streamPsnr[2]))},
        verdictCell(row)};
}

/// As wide as its texts need, so that no column runs into the next.
Diagram laidOut(plot::PlotTable table)
{
    std::vector<double> wants(table.rows.front().size(), 0);
    for (const auto& row : table.rows)
        for (std::size_t c = 0; c < wants.size(); ++c)
            wants[c] = std::max({wants[c], plot::textLength(row[c].text, plot::kFace) + 18,
                                 plot::textLength(row[c].grey, plot::kSmall) + 18});
    double sum = 2 * plot::kEdge;
    for (const double want : wants)
        sum += want;
    table.width =
        std::max({std::ceil(sum), plot::textLength(table.note, plot::kSmall) + 30, 480.0});
    return layOut(table);
}

} // namespace

Diagram abTable(std::span<const AbRow> rows, const std::string& title)
{
    plot::PlotTable table;
    table.title = title;
    table.note =
        "Baseline: strict fp32, NCHW, naive attention, eager, no fusion. Verdict: by overlap "
        "of the intervals with what the row is compared with. Not measured: not on this device, or "
        "the time for the part was up.";
    table.rows = {heading()};
    for (const auto& [part, name] : {std::pair{AbPart::Baseline, ""},
                                     {AbPart::Alone, "each alone on the baseline"},
                                     {AbPart::Cumulative, "one after the other"},
                                     {AbPart::Without, "everything but one"}}) {
        const auto isOfPart = [part = part](const AbRow& row) { return row.part == part; };
        if (std::ranges::none_of(rows, isOfPart))
            continue;
        if (*name) {
            table.rows.emplace_back(table.rows.front().size());
            table.rows.back().front() = {name, "", "accent"};
        }
        for (const AbRow& row : rows)
            if (isOfPart(row))
                table.rows.push_back(cellsOf(row));
    }
    return laidOut(std::move(table));
}

Diagram claimsTable(std::span<const ClaimCheck> claims)
{
    plot::PlotTable table;
    table.title = "Published claims and this computer";
    table.note = claims.empty() ? "They are about 16 bits, which were not measured here."
                                : "In the claim's way: what its method would have shown here.";
    table.rows = {{{"claim"}, {"claimed"}, {"measured"}, {"in the claim's way"}}};
    for (const ClaimCheck& claim : claims)
        table.rows.push_back({{claim.what, claim.remark, "text"},
                              {claim.claimed},
                              {claim.measured, "", "accent"},
                              {claim.theirWay.empty() ? "the same" : claim.theirWay}});
    return laidOut(std::move(table));
}

} // namespace vergence::live
