#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/live_diffusion/bench/report.h"
#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/model/program.h"
#include "plugins/live_diffusion/stream/frame_loop.h"

namespace vergence::live {

/// A network that is to be measured, as the lab's configuration describes it.
struct BenchSubject {
    std::string model; ///< "S", "Pico", "Replica-A"
    Program program;   ///< what the network runs
    /// The same at another grid; empty where there is only one.
    std::function<Program(Index grid)> describe;
    /// Builds it; called anew for every configuration that is measured.
    std::function<std::shared_ptr<FrameNetwork>(const Switches&, int rows)> build;
    bool isStream = true; ///< has a sampler and a memory; false: evaluations alone
    /// The same by TensorRT in fp16; may be called where nothing speaks against it.
    std::function<std::shared_ptr<FrameNetwork>(int rows)> buildTensorRt;
    /// One sentence, or empty. Asking loads TensorRT.
    std::function<std::string()> whyNoTensorRt = [] {
        return std::string("TensorRT runs the lab's own denoiser alone.");
    };
};

/// A network with what drives it: the lab's loop over a few frames, or bare evaluations.
class DrivenNetwork {
public:
    /// `frames`: planes of the network's shape, shown in turn; not read where the subject is no
    /// stream.
    DrivenNetwork(const BenchSubject& subject, const Switches& switches, const LoopSettings& loop,
                  std::vector<std::vector<float>> frames);

    FrameNetwork& network() { return *m_network; }
    BenchResult measure(const std::string& id, const Protocol& protocol);

    /// Prediction and blend logits of one evaluation of pictures that are the same for every
    /// network of that shape.
    std::vector<float> evaluation();
    /// Outputs that answer these input frames (0 is the first after a reset), for a stream; a frame
    /// that was not reached is missing. Afterwards the stream goes on from there.
    std::map<int, std::vector<float>> outputs(const std::vector<int>& wanted);

private:
    std::shared_ptr<FrameNetwork> m_network;
    std::vector<std::vector<float>> m_frames;
    std::unique_ptr<FrameLoop> m_loop; ///< null: evaluations alone
    std::unique_ptr<FrameTask> m_task;
};

} // namespace vergence::live
