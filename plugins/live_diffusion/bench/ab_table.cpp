#include <cmath>

#include <fmt/format.h>

#include "plugins/live_diffusion/bench/ab_run.h"
#include "plugins/live_diffusion/profile/text_table.h"

namespace vergence::live {

namespace {

using nlohmann::json;

const std::vector<std::string>& columns()
{
    static const std::vector<std::string> names = {
        "configuration",  "ms/frame",         "low",
        "high",           "speed-up",         "frames/s",
        "evals/s",        "launch ms",        "kernels/eval",
        "weights MiB",    "arena MiB",        "workspace MiB",
        "caches MiB",     "steady MiB",       "tuning peak MiB",
        "saved",          "max error",        "PSNR dB",
        "cosine",         "PSNR after steps", "PSNR 1 frame",
        "PSNR 10 frames", "PSNR 100 frames",  "verdict"};
    return names;
}

std::string nameOfRow(const AbRow& row)
{
    switch (row.part) {
    case AbPart::Cumulative:
        return "+ " + row.technique;
    case AbPart::Without:
        return "all − " + row.technique;
    default:
        return row.technique;
    }
}

std::vector<std::string> cellsOf(const AbRow& row)
{
    std::vector<std::string> cells{nameOfRow(row)};
    for (const double value : {row.ms, row.low, row.high, row.speedUp, row.fps, row.evalsPerSecond,
                               row.launchMs, row.kernels})
        cells.push_back(shortNumber(value));
    for (const double bytes :
         {row.weights, row.arena, row.workspace, row.caches, row.steady, row.tuningPeak})
        cells.push_back(shortNumber(bytes / (1 << 20)));
    cells.push_back(std::isfinite(row.reduction) ? fmt::format("{:.1f} %", 100 * row.reduction)
                                                 : "–");
    cells.push_back(shortNumber(row.maxAbs));
    cells.push_back(shortNumber(row.psnr));
    cells.push_back(std::isfinite(row.cosine) ? fmt::format("{:.6f}", row.cosine) : "–");
    cells.push_back(shortNumber(row.psnrAfterSteps));
    for (const double psnr : row.streamPsnr)
        cells.push_back(shortNumber(psnr));
    cells.push_back(row.whyNot.empty() ? std::string(nameOf(row.verdict)) : row.whyNot);
    return cells;
}

TextTable tableOf(const std::vector<AbEntry>& entries)
{
    TextTable table{columns(), {}};
    for (const AbRow& row : rowsOf(entries))
        table.rows.push_back(cellsOf(row));
    return table;
}

void fillMeasured(const AbMeasurement& measured, AbRow& row)
{
    const BenchResult& result = measured.result;
    row.fps = result.framesPerSecond;
    row.evalsPerSecond = result.evaluationsPerSecond;
    if (!result.launchUs.empty())
        row.launchMs = summarise(result.launchUs).median / 1000;
    row.kernels = result.kernelsPerEvaluation;
    row.weights = static_cast<double>(result.memory.weights);
    row.arena = static_cast<double>(result.memory.arena);
    row.workspace = static_cast<double>(result.memory.workspace);
    row.caches = static_cast<double>(result.memory.caches);
    row.steady = static_cast<double>(result.memory.steady());
    row.tuningPeak = static_cast<double>(result.memory.tuningPeak);
    if (result.numeric) {
        row.maxAbs = result.numeric->maxAbs;
        row.psnr = result.numeric->psnr;
        row.cosine = result.numeric->cosine;
    }
    if (measured.frameError)
        row.psnrAfterSteps = measured.frameError->psnr;
    for (std::size_t i = 0; i < row.streamPsnr.size(); ++i)
        row.streamPsnr[i] = measured.streamPsnr[i].value_or(AbRow::kNone);
}

json numberOrNull(double value)
{
    return std::isfinite(value) ? json(value) : json(nullptr);
}

json switchesToJson(const AbSetting& setting)
{
    json object = toJson(setting.switches);
    object["stream_batch"] = setting.isStreamBatch;
    object["steps"] = setting.steps;
    object["tensorrt"] = setting.usesTensorRt;
    return object;
}

} // namespace

std::vector<AbRow> rowsOf(const std::vector<AbEntry>& entries)
{
    std::vector<AbRow> rows;
    for (const AbEntry& entry : entries) {
        AbRow& row = rows.emplace_back();
        row.part = entry.step.part;
        row.technique = row.part == AbPart::Baseline ? "baseline" : entry.step.technique;
        row.ms = entry.milliseconds.value;
        row.low = entry.milliseconds.low;
        row.high = entry.milliseconds.high;
        row.speedUp = entry.speedUp;
        row.reduction = entry.memoryReduction;
        row.verdict = entry.verdict;
        if (entry.measurement)
            fillMeasured(*entry.measurement, row);
        else
            row.whyNot = entry.failure.empty() ? entry.step.unavailable : entry.failure;
    }
    return rows;
}

std::string abMarkdown(const std::vector<AbEntry>& entries)
{
    return tableOf(entries).markdown();
}

std::string abCsv(const std::vector<AbEntry>& entries)
{
    return tableOf(entries).csv();
}

json toJson(const std::vector<AbEntry>& entries)
{
    json list = json::array();
    for (const AbEntry& entry : entries) {
        json row = {{"part", nameOf(entry.step.part)},
                    {"technique", entry.step.technique},
                    {"setting", switchesToJson(entry.step.setting)},
                    {"verdict", nameOf(entry.verdict)},
                    {"median_ms", numberOrNull(entry.milliseconds.value)},
                    {"median_low_ms", numberOrNull(entry.milliseconds.low)},
                    {"median_high_ms", numberOrNull(entry.milliseconds.high)},
                    {"speed_up", numberOrNull(entry.speedUp)},
                    {"memory_reduction", numberOrNull(entry.memoryReduction)}};
        if (!entry.step.unavailable.empty())
            row["unavailable"] = entry.step.unavailable;
        if (!entry.failure.empty())
            row["failure"] = entry.failure;
        if (entry.measurement) {
            row["steady_bytes"] = entry.measurement->result.memory.steady();
            row["fps"] = entry.measurement->result.framesPerSecond;
        }
        list.push_back(std::move(row));
    }
    return list;
}

} // namespace vergence::live
