#include "plugins/live_diffusion/profile/layer_profile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/compute/rng.h"
#include "core/metrics/statistics.h"
#include "plugins/live_diffusion/profile/text_table.h"

namespace vergence::live {

namespace {

constexpr double kLatencySeconds = 4e-6;
constexpr int kReplays = 50;
constexpr int kEmptyPairs = 1001;
constexpr std::size_t kShown = 20;

/// Median of each operation over several evaluations.
class StopWatch : public OpObserver {
public:
    explicit StopWatch(std::size_t ops) : m_seconds(ops) {}

    void began(std::size_t) override { m_start = steadySeconds(); }
    void ended(std::size_t op) override { m_seconds[op].push_back(steadySeconds() - m_start); }

    std::vector<double> medians(double emptyPair) const
    {
        std::vector<double> medians;
        for (const std::vector<double>& times : m_seconds)
            medians.push_back(
                times.empty() ? 0 : std::max(0.0, vergence::quantile(times, 0.5) - emptyPair));
        return medians;
    }

private:
    std::vector<std::vector<double>> m_seconds;
    double m_start = 0;
};

/// What the watch itself takes between two calls with nothing between them.
double emptyPairSeconds()
{
    StopWatch watch(1);
    OpObserver& observer = watch;
    for (int i = 0; i < kEmptyPairs; ++i) {
        observer.began(0);
        observer.ended(0);
    }
    return watch.medians(0).front();
}

/// Takes the observer away whatever happens.
class Observation {
public:
    Observation(FrameNetwork& network, OpObserver& observer) : m_network(network)
    {
        network.setObserver(&observer);
    }
    ~Observation() { m_network.setObserver(nullptr); }
    Observation(const Observation&) = delete;
    Observation& operator=(const Observation&) = delete;

private:
    FrameNetwork& m_network;
};

/// One row of random pictures, again and again.
class Evaluation {
public:
    explicit Evaluation(FrameNetwork& network)
        : m_network(network),
          m_picture(static_cast<std::size_t>(network.shape().values())),
          m_prediction(m_picture.size()),
          m_logits(static_cast<std::size_t>(network.shape().cells()))
    {
        const Rng rng(1);
        for (std::size_t i = 0; i < m_picture.size(); ++i)
            m_picture[i] = 2 * rng.uniform(i) - 1;
        m_row = {m_picture, m_picture, m_picture};
    }

    void run() { m_network.evaluate({{&m_row, 1}}, {m_prediction, m_logits}); }

    double timed()
    {
        const double start = steadySeconds();
        run();
        return steadySeconds() - start;
    }

private:
    FrameNetwork& m_network;
    std::vector<float> m_picture, m_prediction, m_logits;
    EvalRow m_row;
};

/// Seconds of a whole evaluation that nobody watches, and of each operation.
struct Times {
    double total = 0;
    std::vector<double> operations;
};

/// Watched and unwatched evaluations take turns, so that both see the same load of the computer.
Times inSitu(FrameNetwork& network, Evaluation& evaluation, int evaluations)
{
    StopWatch watch(network.operations().size());
    std::vector<double> whole;
    for (int i = 0; i < evaluations; ++i) {
        whole.push_back(evaluation.timed());
        const Observation observation(network, watch);
        evaluation.run();
    }
    return {vergence::quantile(whole, 0.5), watch.medians(emptyPairSeconds())};
}

Times isolated(FrameNetwork& network, Evaluation& evaluation, int evaluations)
{
    Times times;
    std::vector<double> whole;
    for (int i = 0; i < evaluations; ++i)
        whole.push_back(evaluation.timed());
    times.total = vergence::quantile(whole, 0.5);
    for (std::size_t op = 0; op < network.operations().size(); ++op)
        times.operations.push_back(network.replay(op, kReplays));
    return times;
}

LayerRow rowOf(const OpRecord& op, double seconds, double total, const DevicePeaks& peaks,
               Precision precision)
{
    LayerRow row{op, seconds};
    const auto flop = static_cast<double>(op.work), bytes = static_cast<double>(op.bytes);
    const double peak = peaks.flops(precision);
    row.intensity = bytes > 0 ? flop / bytes : 0;
    row.roof = std::min(peak, peaks.bandwidth * row.intensity);
    const double compute = peak > 0 ? flop / peak : 0;
    const double memory = peaks.bandwidth > 0 ? bytes / peaks.bandwidth : 0;
    if (seconds > 0) {
        row.achievedFlops = flop / seconds;
        row.achievedBandwidth = bytes / seconds;
        row.shareOfRoof = std::max(compute, memory) / seconds;
    }
    row.shareOfEvaluation = total > 0 ? seconds / total : 0;
    row.limit = compute >= memory ? OpLimit::Compute : OpLimit::Memory;
    if (seconds < kLatencySeconds)
        row.limit = OpLimit::Latency;
    return row;
}

std::string percent(double share)
{
    return fmt::format("{:.1f}", 100 * share);
}

std::vector<std::string> cellsOf(const LayerRow& row)
{
    return {row.op.name,
            row.op.kind,
            row.op.shape,
            row.op.plan,
            row.op.usesTensorCores ? "yes" : "no",
            fmt::format("{:.2f}", row.seconds * 1e6),
            std::to_string(row.op.flop),
            std::to_string(row.op.bytes),
            shortNumber(row.intensity),
            shortNumber(row.roof * 1e-9),
            shortNumber(row.achievedFlops * 1e-9),
            shortNumber(row.achievedBandwidth * 1e-9),
            percent(row.shareOfRoof),
            std::string(nameOf(row.limit)),
            percent(row.shareOfEvaluation)};
}

TextTable tableOf(const LayerProfile& profile, const std::vector<const LayerRow*>& rows)
{
    TextTable table{{"operation", "kind", "shape", "plan", "tensor cores", "us", "flop", "bytes",
                     "flop/byte", "roof GFLOP/s", "GFLOP/s", "GB/s", "% of roof", "bound",
                     "% of evaluation"},
                    {}};
    for (const LayerRow* row : rows)
        table.rows.push_back(cellsOf(*row));
    std::vector<std::string> rest(table.columns.size());
    rest[0] = "unaccounted";
    rest[5] = fmt::format("{:.2f}", profile.unaccounted * 1e6);
    rest.back() = percent(profile.total > 0 ? profile.unaccounted / profile.total : 0);
    table.rows.push_back(std::move(rest));
    return table;
}

} // namespace

std::string_view nameOf(OpLimit limit)
{
    switch (limit) {
    case OpLimit::Compute:
        return "compute";
    case OpLimit::Memory:
        return "memory";
    case OpLimit::Latency:
        return "latency";
    }
    return "?";
}

LayerProfile layerProfile(std::span<const OpRecord> ops, std::span<const double> seconds,
                          double total, const DevicePeaks& peaks, Precision precision)
{
    expects(ops.size() == seconds.size() && !ops.empty(),
            "layerProfile: a time for each of the operations, at least one");
    LayerProfile profile;
    profile.total = total;
    profile.unaccounted = total - std::accumulate(seconds.begin(), seconds.end(), 0.0);
    for (std::size_t i = 0; i < ops.size(); ++i)
        profile.rows.push_back(rowOf(ops[i], seconds[i], total, peaks, precision));
    return profile;
}

DevicePeaks reached(const DevicePeaks& peaks, const LayerProfile& profile, Precision precision)
{
    if (!peaks.isMeasured)
        return peaks;
    DevicePeaks raised = peaks;
    for (const LayerRow& row : profile.rows) {
        raised.setFlops(precision, std::max(raised.flops(precision), row.achievedFlops));
        raised.bandwidth = std::max(raised.bandwidth, row.achievedBandwidth);
    }
    return raised;
}

LayerProfile judged(LayerProfile profile, const DevicePeaks& peaks, Precision precision)
{
    for (LayerRow& row : profile.rows)
        row = rowOf(row.op, row.seconds, profile.total, peaks, precision);
    return profile;
}

LayerProfile profileLayers(FrameNetwork& network, const DevicePeaks& peaks, ProfileMode mode,
                           int evaluations)
{
    expects(!network.operations().empty(), "profileLayers: a network that has operations");
    expects(evaluations >= 1, "profileLayers: at least one evaluation");
    Evaluation evaluation(network);
    evaluation.run(); // what is made at first use is no part of any row
    const Times times = mode == ProfileMode::InSitu ? inSitu(network, evaluation, evaluations)
                                                    : isolated(network, evaluation, evaluations);
    return layerProfile(network.operations(), times.operations, times.total, peaks,
                        network.switches().precision);
}

std::string LayerProfile::csv() const
{
    std::vector<const LayerRow*> all;
    for (const LayerRow& row : rows)
        all.push_back(&row);
    return tableOf(*this, all).csv();
}

std::string LayerProfile::markdown() const
{
    std::vector<const LayerRow*> longest;
    for (const LayerRow& row : rows)
        longest.push_back(&row);
    std::stable_sort(longest.begin(), longest.end(),
                     [](const LayerRow* a, const LayerRow* b) { return a->seconds > b->seconds; });
    longest.resize(std::min(longest.size(), kShown));
    return fmt::format("Whole evaluation {:.3f} ms, operations {:.3f} ms, unaccounted {:.3f} ms; "
                       "the {} longest of {}\n\n{}",
                       total * 1e3, (total - unaccounted) * 1e3, unaccounted * 1e3, longest.size(),
                       rows.size(), tableOf(*this, longest).markdown());
}

nlohmann::json LayerProfile::toJson() const
{
    auto list = nlohmann::json::array();
    for (const LayerRow& row : rows)
        list.push_back({{"name", row.op.name},
                        {"block", row.op.block},
                        {"kind", row.op.kind},
                        {"shape", row.op.shape},
                        {"plan", row.op.plan},
                        {"tensor_cores", row.op.usesTensorCores},
                        {"time_us", row.seconds * 1e6},
                        {"flop", row.op.flop},
                        {"compulsory_bytes", row.op.bytes},
                        {"flop_per_byte", row.intensity},
                        {"roof_gflops", row.roof * 1e-9},
                        {"achieved_gflops", row.achievedFlops * 1e-9},
                        {"achieved_gb_per_s", row.achievedBandwidth * 1e-9},
                        {"roof_percent", 100 * row.shareOfRoof},
                        {"bound", nameOf(row.limit)},
                        {"eval_percent", 100 * row.shareOfEvaluation}});
    list.push_back({{"name", "unaccounted"}, {"time_us", unaccounted * 1e6}});
    return list;
}

} // namespace vergence::live
