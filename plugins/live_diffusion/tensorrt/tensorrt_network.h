#pragma once

#include <array>
#include <memory>

#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/engine/host_weights.h"
#include "plugins/live_diffusion/model/memory_ring.h"
#include "plugins/live_diffusion/onnx/program_export.h"
#include "plugins/live_diffusion/tensorrt/cached_engine.h"

namespace vergence::live {

struct TensorRtSettings {
    UnetSettings unet;
    int maxRows = 1;
    OnnxType type = OnnxType::Float16; ///< of weights and values; Float only to compare
    std::filesystem::path cache;       ///< folder of engines and timings
};

/// The denoiser with its memory bank as the lab's own ONNX files describe it, run by TensorRT.
/// These files take the tokens of the memory and the timestep themselves: keys, values and time
/// table are computed in every evaluation, while UnetNetwork keeps them. Rows run one after the
/// other, since a file has one memory mask for all of its rows.
class TensorRtNetwork final : public FrameNetwork {
public:
    /// Builds the engines where the cache has none. Throws as cachedEngine() does.
    TensorRtNetwork(TensorRtModule& module, std::shared_ptr<Device> device,
                    std::shared_ptr<const HostWeights> weights, const TensorRtSettings& settings);
    ~TensorRtNetwork() override;

    const FrameShape& shape() const override { return m_shape; }
    int maxRows() const override { return m_maxRows; }
    void evaluate(const EvalInput& input, const EvalOutput& output) override;
    void prepareSteps(std::span<const int>, int) override {}
    void writeMemory(std::span<const float> frame) override;
    void resetMemory() override;
    int memoryWrites() const override { return static_cast<int>(m_ring.writes()); }
    const Switches& switches() const override { return m_switches; }
    /// Throws ContractError for anything but switches(): TensorRT chooses by itself.
    void setSwitches(const Switches& switches) override;
    FrameCost cost() const override;
    std::span<const OpRecord> operations() const override { return {}; } ///< its own secret
    void setObserver(OpObserver*) override {}
    double replay(std::size_t op, int repeats) override; ///< throws ContractError

private:
    class Part; ///< an engine with what goes in and comes out

    void fillRow(const EvalRow& row);

    FrameShape m_shape;
    int m_maxRows;
    Switches m_switches;
    std::int64_t m_flop = 0;
    std::unique_ptr<Stream> m_stream;
    std::size_t m_tuningPeakBytes = 0;
    std::unique_ptr<Part> m_unet, m_encoder;
    MemoryRing m_ring;
    std::array<float, kMemoryTokens> m_bias{}, m_onlyNull{};
    double m_launchSeconds = 0;
};

/// By the module that was found, with the user's cache. Throws DeviceError with whyNoTensorRt()
/// where there is none.
std::shared_ptr<FrameNetwork> makeTensorRtNetwork(std::shared_ptr<Device> device,
                                                  std::shared_ptr<const HostWeights> weights,
                                                  const UnetSettings& unet, int maxRows);

} // namespace vergence::live
