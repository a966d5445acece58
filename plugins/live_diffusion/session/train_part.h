#pragma once

#include <memory>
#include <vector>

#include "plugins/live_diffusion/session/part.h"
#include "plugins/live_diffusion/train/trainer.h"
#include "plugins/live_diffusion/view/training_strip.h"

namespace vergence::live {

/// Learns a denoiser from drawn films. Resumes bit for bit (CPU).
class TrainPart final : public Part {
public:
    explicit TrainPart(Networks& networks);
    ~TrainPart() override;

    void begin(RunContext& context) override;
    std::int64_t stepsLeft() const override;
    void finish(RunContext& context) override;
    void save(RunContext& context, Checkpoint& checkpoint) override;
    void load(RunContext& context, const Checkpoint& checkpoint) override;
    void view(RunContext& context, const ViewInput& input) override;

private:
    bool advance(RunContext& context) override;
    bool isOver() const;
    bool isSampleDue() const;
    void sampleUnlessStopped(RunContext& context);
    /// Streams a film that is not learnt from with the average of the weights.
    void sample(RunContext& context);
    std::shared_ptr<const HostWeights> averaged(RunContext& context);

    Networks& m_networks;
    UnetSettings m_unet;
    std::unique_ptr<PairSource> m_pairs;
    std::unique_ptr<TapeNetwork> m_network;
    std::unique_ptr<Trainer> m_trainer;
    TrainingStrip m_strip;
    double m_seconds = 0, m_firstLoss = 0, m_meanLoss = 0;
    Index m_sampledAt = -1;
};

} // namespace vergence::live
