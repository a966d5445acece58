#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugins/live_diffusion/bench/numeric_error.h"
#include "plugins/live_diffusion/bench/protocol.h"
#include "plugins/live_diffusion/bench/summary.h"
#include "plugins/live_diffusion/engine/frame_network.h"

namespace vergence::live {

inline constexpr const char* kBenchSchema = "sdlab-bench/1";

/// Device memory by kind, bytes. The context is no part of steady(), nor is the tuning's peak.
struct BenchMemory {
    std::uint64_t weights = 0, arena = 0, workspace = 0, caches = 0, graph = 0;
    std::uint64_t context = 0, tuningPeak = 0;

    std::uint64_t steady() const { return weights + arena + workspace + caches + graph; }
    static BenchMemory of(const FrameCost& cost);
};

/// One configuration as measured. Raw times are kept in microseconds, so that every statistic can
/// be made anew; those of several repeats stand one after the other.
struct BenchResult {
    std::string id;                                     ///< "frames", "paced 25"
    std::vector<double> deviceUs, pipelineUs, launchUs; ///< of finished, not skipped frames
    std::vector<double> repeatMedianUs;                 ///< median device time of each repeat
    double framesPerSecond = 0, evaluationsPerSecond = 0;
    double jitterMs = 0; ///< deviation of the intervals between completions
    std::int64_t dropped = 0, skipped = 0;
    double evaluationsPerFrame = 1;
    std::int64_t flopPerEvaluation = 0;
    std::int64_t workPerEvaluation = 0; ///< what the algorithms in use do of it at least
    std::optional<double> peakFlops;    ///< dense, of the precision in use; FLOP/s
    int kernelsPerEvaluation = 0;
    BenchMemory memory;
    bool isSettled = true;
    std::optional<double> powerWatts;
    std::optional<NumericError> numeric; ///< against strict F32; none where not compared
    nlohmann::json drift = nullptr;

    /// Work ÷ time ÷ peak, at the median; none without a peak. Multiplications that an algorithm
    /// saves are no work, or there would be more than 100 %.
    std::optional<double> modelFlopUtilisation() const;
    double bestFlops() const; ///< of the fastest frame, FLOP/s
};
/// Of a measurement. Throws ContractError where no frame was finished.
BenchResult resultOf(std::string id, const Measurement& measurement);
/// Repeats of one configuration as one result: samples joined, rates averaged, memory of the first.
BenchResult joined(const std::vector<BenchResult>& repeats);

/// Everything about a measurement, as it is written: schema "sdlab-bench/1". Every number is a
/// plain number with its unit in the key.
struct BenchReport {
    nlohmann::json environment = nlohmann::json::object();
    nlohmann::json config = nlohmann::json::object(); ///< switches, model, seeds, weights' hash
    nlohmann::json protocol = nlohmann::json::object();
    std::vector<BenchResult> results;
    nlohmann::json layers = nlohmann::json::array();
    nlohmann::json memoryTimeline = nlohmann::json::array();
    nlohmann::json claims = nlohmann::json::array();

    std::string configHash() const; ///< SHA-256 of the configuration, keys sorted
    const BenchResult* find(const std::string& id) const; ///< null: there is none
};

nlohmann::json toJson(const Switches& switches);
nlohmann::json toJson(const Protocol& protocol);
nlohmann::json toJson(const BenchReport& report);
/// Statistics are made anew from the raw samples. Throws InputError that names `source` and what
/// is missing or of the wrong kind.
BenchReport reportFromJson(const nlohmann::json& json, const std::string& source);

/// Atomically; throws OutputError.
void writeReport(const BenchReport& report, const std::filesystem::path& path);
BenchReport readReport(const std::filesystem::path& path); ///< throws InputError

} // namespace vergence::live
