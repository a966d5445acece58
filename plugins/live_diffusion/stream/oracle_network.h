#pragma once

#include <vector>

#include "plugins/live_diffusion/diffusion/oracle.h"
#include "plugins/live_diffusion/diffusion/schedule.h"
#include "plugins/live_diffusion/engine/frame_network.h"

namespace vergence::live {

struct OracleSettings {
    FrameShape shape;
    BetaCurve curve = BetaCurve::Cosine; ///< as the loop's
    bool zeroTerminalSnr = false;
    Prediction prediction = Prediction::V;
    int maxRows = 128;
};

/// The exact denoiser of a known clip in the place of a network: no weights, no condition, no
/// memory. It trusts its own picture alone, so nothing of the last frame is blended in.
class OracleNetwork final : public FrameNetwork {
public:
    /// pictures: [count, 3p², gridHeight, gridWidth] in [−1, 1], count ≥ 1.
    OracleNetwork(const OracleSettings& settings, std::vector<float> pictures);

    const FrameShape& shape() const override { return m_settings.shape; }
    int maxRows() const override { return m_settings.maxRows; }
    void evaluate(const EvalInput& input, const EvalOutput& output) override;
    void prepareSteps(std::span<const int>, int) override {}
    void writeMemory(std::span<const float>) override {}
    void resetMemory() override {}
    int memoryWrites() const override { return 0; }
    const Switches& switches() const override { return m_switches; }
    /// Kept, without a meaning.
    void setSwitches(const Switches& switches) override { m_switches = switches; }
    FrameCost cost() const override;
    std::span<const OpRecord> operations() const override { return {}; }
    void setObserver(OpObserver*) override {}
    double replay(std::size_t, int) override { return 0; }

private:
    OracleSettings m_settings;
    NoiseSchedule m_schedule;
    OracleDenoiser m_oracle;
    Switches m_switches;
};

} // namespace vergence::live
