#include "plugins/live_diffusion/bench/compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/bench/environment.h"
#include "plugins/live_diffusion/profile/text_table.h"

namespace vergence::live {

namespace {

constexpr double kTimeGrowth = 0.03, kMadFactor = 3, kSignificance = 0.01;
constexpr double kMemoryGrowth = 0.01, kMemoryBytes = 8.0 * (1 << 20);
constexpr double kPsnrLoss = 3; // dB

/// "550" of "550.54.15" for one part, "9.1" of "9.1.0" for two.
std::string leadingParts(const std::string& version, int parts)
{
    std::size_t end = 0;
    for (int i = 0; i < parts && end != std::string::npos; ++i)
        end = version.find('.', i == 0 ? 0 : end + 1);
    return version.substr(0, end);
}

CompareRow timeRow(const std::string& id, const char* quantity, const std::vector<double>& old,
                   const std::vector<double>& now)
{
    const Summary was = summarise(old), is = summarise(now);
    CompareRow row{id, quantity, "ms", was.median / 1000, is.median / 1000};
    const double scatter = was.median > 0 ? was.mad / was.median : 0;
    row.limit = std::max(kTimeGrowth, kMadFactor * scatter);
    row.p = rankSumTest(old, now).p;
    if (row.p < kSignificance && std::abs(row.growth()) > row.limit)
        row.change = row.growth() > 0 ? Change::Regressed : Change::Improved;
    return row;
}

CompareRow memoryRow(const BenchResult& before, const BenchResult& after)
{
    CompareRow row{before.id, "steady memory", "MiB",
                   static_cast<double>(before.memory.steady()) / (1 << 20),
                   static_cast<double>(after.memory.steady()) / (1 << 20)};
    row.limit = kMemoryGrowth;
    const double bytes = (row.after - row.before) * (1 << 20);
    if (std::abs(bytes) > kMemoryBytes && std::abs(bytes) > kMemoryGrowth * row.before * (1 << 20))
        row.change = bytes > 0 ? Change::Regressed : Change::Improved;
    return row;
}

CompareRow numericRow(const BenchResult& before, const BenchResult& after,
                      const std::string& precision)
{
    CompareRow row{before.id, "PSNR to strict fp32", "dB", before.numeric->psnr,
                   after.numeric->psnr};
    const double gain = row.after - row.before;
    if (gain <= -kPsnrLoss || numericBoundBroken(precision, *after.numeric) || !std::isfinite(gain))
        row.change = Change::Regressed;
    else if (gain >= kPsnrLoss)
        row.change = Change::Improved;
    return row;
}

} // namespace

std::string_view nameOf(CompareStatus status)
{
    switch (status) {
    case CompareStatus::Ok:
        return "ok";
    case CompareStatus::Regression:
        return "regression";
    case CompareStatus::NotComparable:
        return "not comparable";
    case CompareStatus::Failed:
        return "failed";
    }
    return "?";
}

std::string_view nameOf(Change change)
{
    switch (change) {
    case Change::Same:
        return "same";
    case Change::Improved:
        return "improved";
    case Change::Regressed:
        return "regressed";
    }
    return "?";
}

bool numericBoundBroken(const std::string& precision, const NumericError& error)
{
    if (!error.isFinite || !std::isfinite(error.cosine))
        return true;
    return error.cosine < (precision == "bf16" ? 0.999 : 0.9999);
}

std::vector<std::string> obstacles(const BenchReport& before, const BenchReport& after)
{
    std::vector<std::string> found;
    const auto demand = [&](const char* what, const std::string& was, const std::string& is) {
        if (was != is)
            found.push_back(fmt::format("The {} differs: {} before, {} now.", what,
                                        was.empty() ? "none" : was, is.empty() ? "none" : is));
    };
    demand("device", textAt(before.environment, "/device/name"),
           textAt(after.environment, "/device/name"));
    demand("driver's major version", leadingParts(textAt(before.environment, "/device/driver"), 1),
           leadingParts(textAt(after.environment, "/device/driver"), 1));
    demand("minor version of cuDNN",
           leadingParts(textAt(before.environment, "/libraries/cudnn"), 2),
           leadingParts(textAt(after.environment, "/libraries/cudnn"), 2));
    demand("weights' hash", textAt(before.config, "/weights_sha256"),
           textAt(after.config, "/weights_sha256"));
    if (found.empty()) // other weights are another configuration; one sentence is enough
        demand("configuration's hash", before.configHash(), after.configHash());
    for (const BenchResult& result : before.results) {
        if (!after.find(result.id))
            found.push_back(fmt::format("`{}` was not measured now.", result.id));
    }
    return found;
}

Comparison compare(const BenchReport& before, const BenchReport& after, bool isForced)
{
    Comparison comparison;
    if (after.results.empty()) {
        comparison.status = CompareStatus::Failed;
        comparison.obstacles = {"Nothing was measured."};
        return comparison;
    }
    comparison.obstacles = obstacles(before, after);
    comparison.isForced = isForced && !comparison.obstacles.empty();
    if (!comparison.obstacles.empty() && !isForced) {
        comparison.status = CompareStatus::NotComparable;
        return comparison;
    }
    const std::string precision = textAt(after.config, "/switches/precision");
    for (const BenchResult& was : before.results) {
        const BenchResult* is = after.find(was.id);
        if (!is)
            continue;
        comparison.rows.push_back(timeRow(was.id, "device time", was.deviceUs, is->deviceUs));
        if (!was.pipelineUs.empty() && !is->pipelineUs.empty())
            comparison.rows.push_back(
                timeRow(was.id, "pipeline latency", was.pipelineUs, is->pipelineUs));
        comparison.rows.push_back(memoryRow(was, *is));
        if (was.numeric && is->numeric)
            comparison.rows.push_back(numericRow(was, *is, precision));
    }
    const bool regressed =
        std::any_of(comparison.rows.begin(), comparison.rows.end(),
                    [](const CompareRow& row) { return row.change == Change::Regressed; });
    comparison.status = regressed ? CompareStatus::Regression : CompareStatus::Ok;
    return comparison;
}

std::string Comparison::markdown() const
{
    std::string text = fmt::format("Comparison: {}\n", nameOf(status));
    for (const std::string& obstacle : obstacles)
        text += "- " + obstacle + '\n';
    if (rows.empty())
        return text;
    if (isForced)
        text += "\n**NOT COMPARABLE – forced.** These figures say nothing about a change.\n";
    TextTable table{{"what", "unit", "before", "now", "change", "limit", "p", "verdict"}, {}};
    for (const CompareRow& row : rows) {
        const bool isDecibel = row.unit == "dB";
        table.rows.push_back({row.id + ", " + row.quantity, row.unit, shortNumber(row.before),
                              shortNumber(row.after),
                              isDecibel ? fmt::format("{:+.1f} dB", row.after - row.before)
                                        : fmt::format("{:+.1f} %", 100 * row.growth()),
                              isDecibel ? "3 dB" : fmt::format("{:.1f} %", 100 * row.limit),
                              shortNumber(row.p),
                              std::string(nameOf(row.change)) + (isForced ? " (forced)" : "")});
    }
    return text + '\n' + table.markdown();
}

nlohmann::json Comparison::toJson() const
{
    auto list = nlohmann::json::array();
    for (const CompareRow& row : rows) {
        list.push_back({{"id", row.id},
                        {"quantity", row.quantity},
                        {"unit", row.unit},
                        {"before", row.before},
                        {"after", row.after},
                        {"growth_percent", 100 * row.growth()},
                        {"limit_percent", 100 * row.limit},
                        {"p", row.p},
                        {"change", nameOf(row.change)}});
    }
    return {{"status", nameOf(status)},
            {"exit_code", static_cast<int>(status)},
            {"forced", isForced},
            {"obstacles", obstacles},
            {"rows", list}};
}

} // namespace vergence::live
