#pragma once

#include <memory>

#include "core/compute/optim/adam.h"
#include "plugins/live_diffusion/train/sample_maker.h"
#include "plugins/live_diffusion/train/tape_stream.h"

namespace vergence::live {

struct DistillSettings {
    SampleSettings samples;
    Index updates = 2000;
    double rate = 2e-5;
    Index warmup = 100;
    double clipNorm = 1;
    double teacherAverage = 0.95; ///< decay of f⁻
    int skip = 20;                ///< times that one step of the solver goes back
};

struct DistillRecord {
    Index update = 0; ///< now done, counted from 1
    double loss = 0, gradientNorm = 0, rate = 0;
};

/// Makes a student that answers in 1 to 4 consistency steps from a trained denoiser: the student f
/// at x_t should say what its own moving average f⁻ says one DDIM step of the frozen base further,
/// at x_{t−skip}. f = c_skip x + c_out x̂₀, which is x itself at the clean end. Loss:
/// consistencyLoss(). Sources: Latent Consistency Models (2023), algorithm 1; Consistency Models
/// (2023), definition 1.
class Distiller {
public:
    /// Student and base are of one kind and F32; all must outlive it. The student's parameters take
    /// gradients and have the values to start from: usually the base's.
    Distiller(Stream& stream, TapeNetwork& student, const TapeNetwork& base,
              const PairSource& source, const DistillSettings& settings);
    ~Distiller();
    Distiller(const Distiller&) = delete;
    Distiller& operator=(const Distiller&) = delete;

    /// The next update. Throws NumericsError for a loss that is not finite.
    DistillRecord step(Stream& stream);
    bool isDone() const { return m_updates >= m_settings.updates; }

private:
    SampleBatch nextBatch();
    /// x_{t−skip} by one DDIM step of the base, and f⁻ there: what the student is to say.
    std::vector<float> target(const SampleBatch& batch);
    void takeAverage(Stream& stream);

    TapeNetwork& m_student;
    DistillSettings m_settings;
    SampleMaker m_maker;
    std::unique_ptr<TapeNetwork> m_teacher; ///< f⁻
    TapeStream m_baseTape, m_teacherTape;
    std::unique_ptr<Graph> m_graph;
    std::unique_ptr<Adam> m_adam;
    std::unique_ptr<MovingAverage> m_average;
    Index m_updates = 0;
};

} // namespace vergence::live
