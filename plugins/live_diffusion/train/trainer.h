#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "core/compute/optim/adam.h"
#include "core/compute/optim/finite.h"
#include "core/compute/optim/trainer_state.h"
#include "plugins/live_diffusion/train/loss_scaler.h"
#include "plugins/live_diffusion/train/sample_maker.h"
#include "plugins/live_diffusion/train/tape_stream.h"
#include "plugins/live_diffusion/train/train_settings.h"

namespace vergence::live {

/// What an update did.
struct TrainRecord {
    Index update = 0;        ///< now done, counted from 1
    double loss = 0;         ///< prediction + blend
    double prediction = 0;   ///< weighted squared error of ε or v
    double blend = 0;        ///< weighted mean |y − target|
    double gradientNorm = 0; ///< before clipping; not finite where the update was left out
    double rate = 0;
    double lossScale = 1;
    bool isSkipped = false; ///< gradients in 16 bits were not finite; nothing changed
    bool isRolledOut = false;
};

/// Trains a denoiser with its memory encoder: samples, loss, AdamW with warm-up and cosine,
/// clipping, moving average, self-roll-out, and a loss scale where the network computes in F16.
/// Everything is a function of settings and update number, so that a restored trainer goes on bit
/// for bit (CPU). Used from one thread with one stream.
class Trainer {
public:
    /// Network and source must outlive it; the network's parameters take gradients and have their
    /// values. Throws ContractError for settings out of range.
    Trainer(Stream& stream, TapeNetwork& network, const PairSource& source,
            const TrainSettings& settings);
    ~Trainer();
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    /// The next update. Throws NumericsError for a loss that is not finite in 32 bits, or after too
    /// many skipped updates in a row.
    TrainRecord step(Stream& stream);
    Index updates() const { return m_updates; } ///< done
    bool isDone() const { return m_updates >= m_settings.updates; }
    const TrainSettings& settings() const { return m_settings; }
    SampleMaker& samples() { return m_maker; }
    const MovingAverage& average() const { return *m_average; }

    /// Puts the moving average into the network while it lives.
    class AverageScope {
    public:
        AverageScope(Trainer& trainer, Stream& stream);
        ~AverageScope();
        AverageScope(const AverageScope&) = delete;
        AverageScope& operator=(const AverageScope&) = delete;

    private:
        Trainer& m_trainer;
        Stream& m_stream;
        Tensor m_values; ///< as they are trained
    };

    NamedTensors tensors() const;
    nlohmann::json state() const;
    /// Throws InputError where tensors or state are of another training.
    void restore(Stream& stream, const nlohmann::json& state, const NamedTensors& saved);

private:
    SampleBatch nextBatch(bool isRolledOut);
    bool usesScale() const;
    void applyGradients(Stream& stream, TrainRecord& record);

    TapeNetwork& m_network;
    TrainSettings m_settings;
    SampleMaker m_maker;
    TapeStream m_tape; ///< of roll-outs
    std::unique_ptr<Graph> m_graph;
    std::unique_ptr<Adam> m_adam;
    std::unique_ptr<MovingAverage> m_average;
    LossScaler m_scaler;
    SkipWatch m_watch;
    Index m_updates = 0;
    Index m_skipped = 0;
};

} // namespace vergence::live
