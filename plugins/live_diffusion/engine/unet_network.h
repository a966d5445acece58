#pragma once

#include <memory>
#include <vector>

#include "plugins/live_diffusion/engine/device_frame.h"
#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/engine/host_weights.h"
#include "plugins/live_diffusion/model/unet_settings.h"

namespace vergence::live {

struct UnetNetworkSettings {
    UnetSettings unet; ///< its channelRounding is that of the switches
    Switches switches;
    int maxRows = 1;
    /// 16-bit types even where the device has no fast products of them: what they cost in accuracy
    /// is the same wherever sums are F32.
    bool takesSlowTypes = false;
    /// What earlier processes found fastest; null: everything is timed here.
    std::shared_ptr<TunedChoices> choices{};
    /// runFrame() on the CPU too, where nothing is won by it: frames there are those of a card.
    bool runsFrames = false;
};

/// The denoiser with its memory bank behind the interface of frames.
class UnetNetwork final : public FrameNetwork {
public:
    /// `device`: a card, or the CPU; where the threads wanted are not the CPU device's own, the
    /// network makes a device for itself. Throws ContractError for switches that the device does
    /// not offer and for weights that are missing.
    UnetNetwork(std::shared_ptr<Device> device, std::shared_ptr<const HostWeights> weights,
                const UnetNetworkSettings& settings);
    ~UnetNetwork() override;

    const FrameShape& shape() const override { return m_shape; }
    int maxRows() const override { return m_settings.maxRows; }
    void evaluate(const EvalInput& input, const EvalOutput& output) override;
    bool runsFrames() const override;
    FrameAnswer runFrame(const FrameCall& call, std::span<float> picture) override;
    void prepareSteps(std::span<const int> timesteps, int historyBucket) override;
    void writeMemory(std::span<const float> frame) override;
    void resetMemory() override;
    int memoryWrites() const override { return m_writes; }
    const Switches& switches() const override { return m_settings.switches; }
    void setSwitches(const Switches& switches) override;
    FrameCost cost() const override;
    std::span<const OpRecord> operations() const override;
    void setObserver(OpObserver* observer) override { m_observer = observer; }
    double replay(std::size_t op, int repeats) override;

    const UnetSettings& unet() const { return m_settings.unet; }
    const std::shared_ptr<const HostWeights>& weights() const { return m_weights; }
    /// What runs the evaluations with the present switches.
    const Executor& executor() const;
    /// Keys and values [264, 2C] of a cross-attention, in the order of the program.
    const Tensor& keysAndValues(int layer) const;

private:
    struct Engine; ///< all that belongs to one set of switches

    std::unique_ptr<Engine> makeEngine(const Switches& switches);
    int threadsInUse(const Switches& switches);
    void chooseDevice(Engine& engine, const Switches& switches);
    void makeMemory(Engine& engine, const WeightSource& source, const Switches& switches) const;
    void restoreMemory(Engine& engine) const;
    void fillRows(const EvalInput& input);
    DeviceFrame& deviceFrame();
    void rememberSlot(const Tensor& tokens);

    std::shared_ptr<Device> m_given;
    std::shared_ptr<const HostWeights> m_weights;
    UnetNetworkSettings m_settings;
    FrameShape m_shape;
    int m_fastestThreads = 0; ///< 0: not measured yet
    std::unique_ptr<Engine> m_engine;
    std::vector<std::vector<float>> m_slots; ///< tokens [16, D] of each slot of the memory bank
    int m_writes = 0;
    std::uint64_t m_pictures = 0; ///< made by runFrame()
    OpObserver* m_observer = nullptr;
    double m_launchSeconds = 0;
};

/// CPU threads that run three layers of the network fastest, among 1 … all that the process may
/// use.
int fastestThreads(const UnetSettings& settings);

} // namespace vergence::live
