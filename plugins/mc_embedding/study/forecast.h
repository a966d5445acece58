#pragma once

#include <string>
#include <vector>

#include "plugins/mc_embedding/compute/model_zoo.h"
#include "plugins/mc_embedding/study/plan.h"

namespace vergence::mc_embedding {

/// Forwards of one encoder that a study needs.
struct Workload {
    TowerShape tower;
    double images = 0, trials = 0, passes = 0; ///< N, K, largest T (nested: smaller T are prefixes)

    double forwards() const { return images * trials * passes; }
    double flop() const { return forwards() * tower.flop(); }
};
/// What a plan asks of each encoder, degraded copies included.
std::vector<Workload> workloadsOf(const StudyPlan& plan);
double totalFlop(const std::vector<Workload>& workloads);

/// What a processor reaches in products of 16 bits with sums of 32 (section 11.2).
struct DeviceProfile {
    std::string name;
    double peak = 0;        ///< dense FLOP/s
    double share = 0.5;     ///< of the peak that the engine is designed to reach on a large encoder
    std::size_t memory = 0; ///< bytes of a GPU; 0: a CPU
};
const std::vector<DeviceProfile>& deviceProfiles();

/// Share of the peak for one encoder: short sequences and narrow layers reach less than
/// so400m does. Specification, section 18.
double expectedShare(const TowerShape& tower, const DeviceProfile& device);
/// Seconds for every FLOP of every pass, at the whole peak and as expected. Passes that share their
/// first blocks take less; only where none does, and the peak is a card's, is the first one a
/// bound.
double boundSeconds(const std::vector<Workload>& workloads, const DeviceProfile& device);
double expectedSeconds(const std::vector<Workload>& workloads, const DeviceProfile& device);

/// "2.29e+17 FLOP in 960000 whole forwards, less where passes share blocks; expected (at the peak):
/// … H200 6.9 min (3.86 min), 2 CPU cores 26.5 days". A CPU has a guess and no peak.
std::string forecastSentence(const std::vector<Workload>& workloads);

} // namespace vergence::mc_embedding
