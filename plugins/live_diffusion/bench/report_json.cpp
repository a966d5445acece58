#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/bench/report.h"

namespace vergence::live {

namespace {

using nlohmann::json;

/// JSON has no NaN and no infinity; they are written as null.
json numberOrNull(double value)
{
    return std::isfinite(value) ? json(value) : json(nullptr);
}

/// Statistics of times that are kept in microseconds, in milliseconds.
json timesToJson(const std::vector<double>& microseconds)
{
    if (microseconds.empty())
        return nullptr;
    std::vector<double> ms(microseconds);
    for (double& value : ms)
        value /= 1000;
    const Summary summary = summarise(ms);
    const Interval interval = medianInterval(ms);
    const auto share = [&](double budget) {
        return 100 * static_cast<double>(misses(ms, budget)) / static_cast<double>(ms.size());
    };
    return {{"count", summary.count},
            {"median", summary.median},
            {"median_low", interval.low},
            {"median_high", interval.high},
            {"mean", summary.mean},
            {"min", summary.min},
            {"max", summary.max},
            {"std", summary.deviation},
            {"p50", summary.p50()},
            {"p90", summary.p90},
            {"p95", summary.p95},
            {"p99", summary.p99},
            {"mad", summary.mad},
            {"p99_less_p50", summary.p99 - summary.p50()},
            {"over_40ms_percent", share(kRelaxedBudgetMs)},
            {"over_16ms_percent", share(kTightBudgetMs)}};
}

json memoryToJson(const BenchMemory& memory)
{
    return {{"weights_bytes", memory.weights},
            {"arena_bytes", memory.arena},
            {"workspace_bytes", memory.workspace},
            {"caches_bytes", memory.caches},
            {"graph_bytes", memory.graph},
            {"context_bytes", memory.context},
            {"tuning_peak_bytes", memory.tuningPeak},
            {"steady_bytes", memory.steady()}};
}

json numericToJson(const NumericError& error)
{
    return {{"max_abs", numberOrNull(error.maxAbs)},
            {"rmse", numberOrNull(error.rmse)},
            {"psnr_db", numberOrNull(error.psnr)},
            {"cosine", numberOrNull(error.cosine)},
            {"finite", error.isFinite}};
}

json resultToJson(const BenchResult& result)
{
    json object = {{"id", result.id},
                   {"gpu_ms", timesToJson(result.deviceUs)},
                   {"pipeline_ms", timesToJson(result.pipelineUs)},
                   {"cpu_launch_ms", timesToJson(result.launchUs)},
                   {"fps", result.framesPerSecond},
                   {"evals_per_s", result.evaluationsPerSecond},
                   {"evals_per_frame", result.evaluationsPerFrame},
                   {"jitter_ms", result.jitterMs},
                   {"dropped_frames", result.dropped},
                   {"skipped_frames", result.skipped},
                   {"settled", result.isSettled},
                   {"flop_per_eval", result.flopPerEvaluation},
                   {"work_per_eval", result.workPerEvaluation},
                   {"kernels_per_eval", result.kernelsPerEvaluation},
                   {"vram", memoryToJson(result.memory)},
                   {"drift", result.drift},
                   {"repeat_median_us", result.repeatMedianUs},
                   {"samples_gpu_us", result.deviceUs},
                   {"samples_pipeline_us", result.pipelineUs},
                   {"samples_launch_us", result.launchUs}};
    if (result.peakFlops)
        object["peak_flops"] = *result.peakFlops;
    if (const auto mfu = result.modelFlopUtilisation())
        object["mfu"] = *mfu;
    if (result.powerWatts) {
        object["power_w"] = *result.powerWatts;
        if (result.framesPerSecond > 0)
            object["energy_j_per_frame"] = *result.powerWatts / result.framesPerSecond;
    }
    if (result.numeric)
        object["numeric"] = numericToJson(*result.numeric);
    return object;
}

/// Reads members and says where one is missing or of the wrong kind.
class Reader {
public:
    Reader(const json& object, std::string place) : m_object(object), m_place(std::move(place))
    {
        if (!object.is_object())
            throw InputError(fmt::format("{} is no JSON object.", m_place));
    }

    const json& member(const char* key) const
    {
        const auto found = m_object.find(key);
        if (found == m_object.end())
            throw InputError(fmt::format("{} has no \"{}\".", m_place, key));
        return *found;
    }
    bool has(const char* key) const { return m_object.contains(key) && !m_object[key].is_null(); }
    Reader at(const char* key) const { return {member(key), m_place + ", " + key}; }

    template <class T>
    T value(const char* key) const
    {
        try {
            return member(key).get<T>();
        } catch (const json::exception&) {
            throw InputError(fmt::format("{}: \"{}\" is of the wrong kind.", m_place, key));
        }
    }
    /// A number, or NaN where null stands for one.
    double number(const char* key) const
    {
        return member(key).is_null() ? std::numeric_limits<double>::quiet_NaN()
                                     : value<double>(key);
    }

private:
    const json& m_object;
    std::string m_place;
};

BenchMemory memoryFromJson(const Reader& reader)
{
    BenchMemory memory;
    memory.weights = reader.value<std::uint64_t>("weights_bytes");
    memory.arena = reader.value<std::uint64_t>("arena_bytes");
    memory.workspace = reader.value<std::uint64_t>("workspace_bytes");
    memory.caches = reader.value<std::uint64_t>("caches_bytes");
    memory.graph = reader.value<std::uint64_t>("graph_bytes");
    memory.context = reader.value<std::uint64_t>("context_bytes");
    memory.tuningPeak = reader.value<std::uint64_t>("tuning_peak_bytes");
    return memory;
}

NumericError numericFromJson(const Reader& reader)
{
    return {reader.number("max_abs"), reader.number("rmse"), reader.number("psnr_db"),
            reader.number("cosine"), reader.value<bool>("finite")};
}

BenchResult resultFromJson(const json& object, const std::string& place)
{
    const Reader reader(object, place);
    BenchResult result;
    result.id = reader.value<std::string>("id");
    result.deviceUs = reader.value<std::vector<double>>("samples_gpu_us");
    result.pipelineUs = reader.value<std::vector<double>>("samples_pipeline_us");
    result.launchUs = reader.value<std::vector<double>>("samples_launch_us");
    result.repeatMedianUs = reader.value<std::vector<double>>("repeat_median_us");
    if (result.deviceUs.empty())
        throw InputError(fmt::format("{} has no samples.", place));
    result.framesPerSecond = reader.value<double>("fps");
    result.evaluationsPerSecond = reader.value<double>("evals_per_s");
    result.evaluationsPerFrame = reader.value<double>("evals_per_frame");
    result.jitterMs = reader.value<double>("jitter_ms");
    result.dropped = reader.value<std::int64_t>("dropped_frames");
    result.skipped = reader.value<std::int64_t>("skipped_frames");
    result.isSettled = reader.value<bool>("settled");
    result.flopPerEvaluation = reader.value<std::int64_t>("flop_per_eval");
    result.workPerEvaluation = reader.has("work_per_eval") // kept ones may be older
                                   ? reader.value<std::int64_t>("work_per_eval")
                                   : result.flopPerEvaluation;
    result.kernelsPerEvaluation = reader.value<int>("kernels_per_eval");
    result.memory = memoryFromJson(reader.at("vram"));
    result.drift = reader.member("drift");
    if (reader.has("peak_flops"))
        result.peakFlops = reader.value<double>("peak_flops");
    if (reader.has("power_w"))
        result.powerWatts = reader.value<double>("power_w");
    if (reader.has("numeric"))
        result.numeric = numericFromJson(reader.at("numeric"));
    return result;
}

} // namespace

json toJson(const Switches& switches)
{
    return {{"precision", nameOf(switches.precision)},
            {"layout", nameOf(switches.layout)},
            {"attention", nameOf(switches.attention)},
            {"fusion", switches.fusion},
            {"tuned", switches.tuned},
            {"channel_rounding", switches.channelRounding},
            {"graph", switches.graph},
            {"collapsed_upsampling", switches.collapsedUpsampling},
            {"threads", switches.threads}};
}

json toJson(const Protocol& protocol)
{
    return {{"warm_frames", protocol.warmFrames},
            {"warm_s", protocol.warmSeconds},
            {"warm_window_frames", protocol.warmWindow},
            {"warm_tolerance_percent", 100 * protocol.warmTolerance},
            {"warm_cap_s", protocol.warmCapSeconds},
            {"frames", protocol.frames},
            {"measure_s", protocol.seconds},
            {"measure_cap_s", numberOrNull(protocol.capSeconds)},
            {"repeats", protocol.repeats},
            {"paced_fps", protocol.pacedRate}};
}

json toJson(const BenchReport& report)
{
    json results = json::array();
    for (const BenchResult& result : report.results)
        results.push_back(resultToJson(result));
    return {{"schema", kBenchSchema},      {"env", report.environment},
            {"config", report.config},     {"config_sha256", report.configHash()},
            {"protocol", report.protocol}, {"results", results},
            {"layers", report.layers},     {"memory_timeline", report.memoryTimeline},
            {"claims", report.claims}};
}

BenchReport reportFromJson(const json& object, const std::string& source)
{
    const Reader reader(object, source);
    if (const auto schema = reader.value<std::string>("schema"); schema != kBenchSchema)
        throw InputError(
            fmt::format("{} has the schema \"{}\", not \"{}\".", source, schema, kBenchSchema));
    BenchReport report;
    report.environment = reader.member("env");
    report.config = reader.member("config");
    report.protocol = reader.member("protocol");
    report.layers = reader.member("layers");
    report.memoryTimeline = reader.member("memory_timeline");
    report.claims = reader.member("claims");
    const json& results = reader.member("results");
    if (!results.is_array())
        throw InputError(fmt::format("{}: \"results\" is no list.", source));
    for (std::size_t i = 0; i < results.size(); ++i)
        report.results.push_back(
            resultFromJson(results[i], fmt::format("{}, result {}", source, i + 1)));
    return report;
}

} // namespace vergence::live
