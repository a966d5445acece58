#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/plugin/lab_benchmark.h"
#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/model/program.h"
#include "plugins/live_diffusion/stream/loop_settings.h"

namespace vergence::live {

/// A network that is to be measured, as the lab's configuration describes it.
struct BenchSubject {
    std::string model; ///< "S", "Pico", "Replica-A"
    Program program;   ///< that the network runs; empty for none
    /// Builds it; called anew for every configuration that is measured.
    std::function<std::shared_ptr<FrameNetwork>(const Switches&, int rows)> build;
    bool isStream = true; ///< has a sampler and a memory; false: evaluations alone
};

/// What the lab's configuration asks to measure.
struct BenchSetup {
    BenchSubject subject;
    std::vector<BenchSubject> replicas; ///< of the claims block; may be empty
    Switches switches;
    LoopSettings loop;
    std::vector<std::vector<float>> frames; ///< input, planes of the network's shape each
    nlohmann::json config; ///< what identifies the measurement: all settings, hash of the weights
};

/// run, ab, profile, memory, validate, targets.
std::vector<BenchMode> liveBenchModes();

/// Runs the mode of the request and answers with tables and a report of schema "sdlab-bench/1".
BenchAnswer runLiveBench(const BenchRequest& request, const BenchSetup& setup);

} // namespace vergence::live
