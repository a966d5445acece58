#pragma once

#include <memory>
#include <vector>

#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

class ConvolutionTuner;
class Executor;

/// One of the published benchmark networks behind the interface of frames, for measuring: the
/// frame goes in as x, the frame before as history where the network takes one. It denoises
/// nothing; its blend logits are 0 and it has no memory.
class ReplicaNetwork final : public FrameNetwork {
public:
    /// `program`: of buildReplicaA() or buildReplicaB(). Bench weights. Throws ContractError for
    /// switches that the device does not offer.
    ReplicaNetwork(std::shared_ptr<Device> device, Program program, const Switches& switches,
                   int maxRows = 1);
    ~ReplicaNetwork() override;

    const FrameShape& shape() const override { return m_shape; }
    int maxRows() const override { return m_maxRows; }
    void evaluate(const EvalInput& input, const EvalOutput& output) override;
    void prepareSteps(std::span<const int>, int) override {}
    void writeMemory(std::span<const float>) override {}
    void resetMemory() override {}
    int memoryWrites() const override { return 0; }
    const Switches& switches() const override { return m_switches; }
    void setSwitches(const Switches& switches) override;
    FrameCost cost() const override;
    std::span<const OpRecord> operations() const override;
    void setObserver(OpObserver* observer) override { m_observer = observer; }
    double replay(std::size_t op, int repeats) override;

private:
    void put(int value, Index row, std::span<const float> numbers);
    void build(const Switches& switches);

    std::shared_ptr<Device> m_device;
    Program m_program;
    FrameShape m_shape;
    Switches m_switches;
    int m_maxRows;
    std::unique_ptr<Stream> m_stream;
    std::unique_ptr<ConvolutionTuner> m_tuner;
    std::unique_ptr<Executor> m_executor;
    OpObserver* m_observer = nullptr;
    double m_launchSeconds = 0;
};

} // namespace vergence::live
