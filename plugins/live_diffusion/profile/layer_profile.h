#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/profile/peaks.h"

namespace vergence::live {

/// What keeps an operation from being faster. Latency: it took less than 4 µs.
enum class OpLimit { Compute, Memory, Latency };
std::string_view nameOf(OpLimit limit); ///< "compute", "memory", "latency"

/// One operation as measured.
struct LayerRow {
    OpRecord op;
    double seconds = 0;           ///< median
    double intensity = 0;         ///< FLOP per byte
    double roof = 0;              ///< min(peak, bandwidth · intensity), FLOP/s; 0 without FLOP
    double achievedFlops = 0;     ///< FLOP/s of the work that was really done
    double achievedBandwidth = 0; ///< bytes/s of compulsory traffic
    double shareOfRoof = 0;       ///< least time by the roofline ÷ measured
    double shareOfEvaluation = 0;
    OpLimit limit = OpLimit::Compute;
};

struct LayerProfile {
    std::vector<LayerRow> rows;
    double total = 0;       ///< median of whole evaluations that nobody observed, seconds
    double unaccounted = 0; ///< total − Σ rows; negative where observing costs more than gaps

    std::string csv() const;      ///< with a last row "unaccounted"
    std::string markdown() const; ///< the most expensive rows, and the sums
    nlohmann::json toJson() const;
};

/// Where the seconds of the rows come from. InSitu: calls around each operation of real
/// evaluations, less what an empty pair costs; medians, so that a disturbed evaluation shows in no
/// row, but may in the total. Isolated: each operation alone, 50 times over.
enum class ProfileMode { InSitu, Isolated };

/// Profiles `evaluations` evaluations of one row. The observer of the network is taken away at the
/// end. Throws ContractError for a network without operations.
LayerProfile profileLayers(FrameNetwork& network, const DevicePeaks& peaks, ProfileMode mode,
                           int evaluations = 20);

/// Roofs that were measured cannot be lower than what an operation reached below them; those of
/// data sheets stay.
DevicePeaks reached(const DevicePeaks& peaks, const LayerProfile& profile, Precision precision);
/// The same times against other roofs.
LayerProfile judged(LayerProfile profile, const DevicePeaks& peaks, Precision precision);

/// The same from times that were measured elsewhere: one per operation.
LayerProfile layerProfile(std::span<const OpRecord> ops, std::span<const double> seconds,
                          double total, const DevicePeaks& peaks, Precision precision);

} // namespace vergence::live
