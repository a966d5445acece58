#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/compute/graph/step_graph.h"
#include "plugins/live_diffusion/engine/executor.h"
#include "plugins/live_diffusion/engine/frame_call.h"
#include "plugins/live_diffusion/engine/step_table.h"
#include "plugins/live_diffusion/model/memory_bank.h"

namespace vergence::live {

/// Of a network, what its frames work on; all of it outlives the frames.
struct DeviceFrameParts {
    std::shared_ptr<Device> device;
    Stream* stream = nullptr;
    Executor* network = nullptr;
    Executor* memory = nullptr; ///< writes tokens of a picture
    StepTable* table = nullptr;
    MemoryBank* bank = nullptr;
    Tensor nullBias;                                         ///< [264]: only the null token is seen
    int x = -1, u = -1, h = -1, prediction = -1, blend = -1; ///< values of the network
    int picture = -1;                                        ///< value of the memory's program
};

/// Whole frames on a network's device: noise, all steps, guidance, blend and memory write are one
/// fixed sequence of launches per plan. All numbers that change lie in device memory, so that a
/// sequence is recorded once where graphs are on (and the device has them), and replayed. The same
/// sequence runs at once on the CPU.
class DeviceFrame {
public:
    DeviceFrame(DeviceFrameParts parts, bool isReplayed);
    DeviceFrame(const DeviceFrame&) = delete;
    DeviceFrame& operator=(const DeviceFrame&) = delete;

    /// Brings numbers and pictures to the device, runs the frame, waits and brings the picture
    /// back. `version` names the picture that this frame makes. An observer hears the operations of
    /// all evaluations; nothing is replayed then.
    FrameAnswer run(const FrameCall& call, std::span<float> picture, std::uint64_t version,
                    OpObserver* observer);

    /// Sequences laid out so far; at most kMostPlans are kept, the one used last longest.
    int plansMade() const { return m_plansMade; }
    int plansRecorded() const; ///< of those kept, replayed from now on
    std::size_t bytes() const;
    double launchSeconds() const { return m_launchSeconds; } ///< host time to start the last frame
    /// [16, D] that the last frame wrote; valid until the next.
    Tensor tokens() const;

private:
    static constexpr std::size_t kMostPlans = 8, kPictures = 9;
    struct Sequence {
        FramePlan plan;
        std::unique_ptr<StepGraph> graph;
        std::int64_t used = 0;
    };

    void bring(const FrameCall& call);
    StepGraph& sequence(const FramePlan& plan);
    void enqueue(const FramePlan& plan, OpObserver* observer);
    void start(const FramePlan& plan);
    void evaluate(const FramePlan& plan, int step, OpObserver* observer);
    void advance(const FramePlan& plan, int step);
    void finish(const FramePlan& plan);
    void writeMemory();
    void drawNormals(const NoiseDraw* which, std::uint32_t purpose, const Tensor& into);

    const FrameNumbers* numbers() const;
    const Tensor& cleanOf(int step) const { return m_clean[step % 2]; }

    DeviceFrameParts m_parts;
    bool m_isReplayed;
    FrameNumbers m_host;
    Tensor m_numbers; ///< one FrameNumbers
    Tensor m_input, m_last, m_startNoise, m_ownNoise, m_historyNoise, m_reference, m_bad, m_badSum;
    Tensor m_clean[2];            ///< of even and odd steps
    std::vector<Tensor> m_staged; ///< keys and values [16, 2C] on their way to a slot
    std::vector<Sequence> m_sequences;
    int m_plansMade = 0;
    std::int64_t m_clock = 0;
    std::uint64_t m_version = 0; ///< of m_last; 0: unknown
    double m_launchSeconds = 0;
};

} // namespace vergence::live
