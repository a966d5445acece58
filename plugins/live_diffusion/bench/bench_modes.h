#pragma once

#include <vector>

#include "core/plugin/lab_benchmark.h"
#include "plugins/live_diffusion/bench/driven_network.h"

namespace vergence::live {

/// What the lab's configuration asks to measure.
struct BenchSetup {
    BenchSubject subject;
    std::vector<BenchSubject> replicas; ///< of the claims block beside the subject; may be empty
    Switches switches;
    LoopSettings loop;
    std::vector<std::vector<float>> frames; ///< input, planes of the network's shape each
    /// What identifies the measurement: size, grid, sampler, seeds, "weights_sha256". The switches
    /// are added.
    nlohmann::json config = nlohmann::json::object();
};

/// run, ab, claims, profile, memory, validate, targets, seed, baselines.
std::vector<BenchMode> liveBenchModes();

/// Runs the mode of the request and answers with tables and a report of schema "sdlab-bench/1".
BenchAnswer runLiveBench(const BenchRequest& request, const BenchSetup& setup);

} // namespace vergence::live
