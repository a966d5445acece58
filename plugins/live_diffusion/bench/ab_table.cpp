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

std::string nameOfRow(const AbEntry& entry)
{
    switch (entry.step.part) {
    case AbPart::Baseline:
        return "baseline";
    case AbPart::Alone:
        return entry.step.technique;
    case AbPart::Cumulative:
        return "+ " + entry.step.technique;
    case AbPart::Without:
        return "all − " + entry.step.technique;
    }
    return "?";
}

std::string orDash(const std::optional<double>& value)
{
    return value ? shortNumber(*value) : "–";
}

std::vector<std::string> cellsOf(const AbEntry& entry)
{
    std::vector<std::string> cells{nameOfRow(entry)};
    if (!entry.measurement) {
        cells.resize(columns().size(), "–");
        cells.back() = entry.failure.empty() ? entry.step.unavailable : entry.failure;
        return cells;
    }
    const BenchResult& result = entry.measurement->result;
    const auto mebibytes = [](std::uint64_t bytes) {
        return shortNumber(static_cast<double>(bytes) / (1 << 20));
    };
    for (const double value :
         {entry.milliseconds.value, entry.milliseconds.low, entry.milliseconds.high, entry.speedUp,
          result.framesPerSecond, result.evaluationsPerSecond})
        cells.push_back(shortNumber(value));
    cells.push_back(
        result.launchUs.empty() ? "–" : shortNumber(summarise(result.launchUs).median / 1000));
    cells.push_back(std::to_string(result.kernelsPerEvaluation));
    const BenchMemory& memory = result.memory;
    for (const std::uint64_t bytes : {memory.weights, memory.arena, memory.workspace, memory.caches,
                                      memory.steady(), memory.tuningPeak})
        cells.push_back(mebibytes(bytes));
    cells.push_back(std::isfinite(entry.memoryReduction)
                        ? fmt::format("{:.1f} %", 100 * entry.memoryReduction)
                        : "–");
    const auto& numeric = result.numeric;
    cells.push_back(numeric ? shortNumber(numeric->maxAbs) : "–");
    cells.push_back(numeric ? shortNumber(numeric->psnr) : "–");
    cells.push_back(numeric ? fmt::format("{:.6f}", numeric->cosine) : "–");
    const auto& frame = entry.measurement->frameError;
    cells.push_back(frame ? shortNumber(frame->psnr) : "–");
    for (const auto& psnr : entry.measurement->streamPsnr)
        cells.push_back(orDash(psnr));
    cells.emplace_back(nameOf(entry.verdict));
    return cells;
}

TextTable tableOf(const std::vector<AbEntry>& entries)
{
    TextTable table{columns(), {}};
    for (const AbEntry& entry : entries)
        table.rows.push_back(cellsOf(entry));
    return table;
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
    return object;
}

} // namespace

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
