#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/sugar/compute/learning/density_control.h"
#include "plugins/sugar/compute/learning/optimiser.h"
#include "plugins/sugar/train/named_tensors.h"
#include "plugins/sugar/train/photometric_pass.h"
#include "plugins/sugar/train/schedule.h"
#include "plugins/sugar/train/training_pictures.h"

namespace vergence::sugar {

struct TrainerSettings {
    ScheduleSettings schedule;
    DensitySettings density;
    LearningRates rates;
    bool mip = true;
    bool keepsFilter = false; ///< the 3D filter that the Gaussians came with stays
    bool threeSigma = false;  ///< see RasterSettings
    double dssim = 0.2;       ///< weight of 1 − SSIM in the loss
    double extent = 1;        ///< world units; all thresholds follow it
    float near = 0.2F;        ///< world units
    std::array<float, 3> background{0, 0, 0};
    bool randomBackground = false;               ///< another colour each step
    double mcmcOpacity = 0.01, mcmcScale = 0.01; ///< weights of mean opacity and scale, MCMC only
    bool sparseAdam = false;
    MomentFormat moments = MomentFormat::F32;
    Index bandRows = 0; ///< rows of the bands that pictures are learnt in; 0: whole pictures
    std::uint64_t seed = 1;
};

/// What one step did.
struct StepReport {
    std::int64_t step = 0; ///< counts from 1
    std::size_t picture = 0;
    PhotometricValue value;
    RasterCounts counts;
    RasterSeconds raster;
    double lossSeconds = 0, seconds = 0;
    Index notFinite = 0; ///< Gaussians left as they were because a gradient was not finite
    bool densified = false, resetOpacity = false;
    DensityReport density;
};

/// Trains Gaussians on pictures: picture, forward, loss, backward with Adam, scheduled events. The
/// numbers follow from settings and seed alone; on the CPU bit for bit.
/// Source: 3D Gaussian Splatting for real-time radiance field rendering (2023), sections 5 and 6.
class Trainer {
public:
    Trainer(std::shared_ptr<Device> device, TrainerSettings settings,
            std::shared_ptr<TrainingPictures> pictures, std::vector<std::size_t> learnFrom);

    void start(Stream& stream, const GaussianCloud& cloud);
    /// One step. Returns false, with nothing changed, where `stopRequested` said so meanwhile.
    bool step(Stream& stream, const std::function<bool()>& stopRequested, StepReport& report);

    std::int64_t stepsDone() const { return m_step; }
    bool isDone() const { return m_step >= m_settings.schedule.iterations; }
    const TrainerSettings& settings() const { return m_settings; }
    const TrainedGaussians& state() const { return m_state; }
    const Gaussians& gaussians() const { return m_state.gaussians; }
    const Schedule& schedule() const { return m_schedule; }
    /// Settings of the renderer for showing and testing what has been learnt so far.
    RasterSettings rasterSettings() const;
    std::size_t allocatedBytes() const;

    /// Everything a checkpoint needs beside the settings, and back.
    using Named = NamedTensor;
    std::vector<Named> tensors() const;
    void restore(Stream& stream, std::int64_t step, Index count, int degree,
                 const NamedReader& read);

private:
    void afterUpdate(Stream& stream, StepReport& report);
    void densify(Stream& stream, StepReport& report);
    Index capacityFor(Index count) const;
    std::vector<Camera> filterCameras(std::int64_t step) const;
    std::array<float, 3> backgroundAt(std::int64_t step) const;
    AdamStep adamAt(std::int64_t step) const;
    const GaussianArrays* regularise(Stream& stream);
    /// What density control asks for; no absolute sums where it does not read them.
    DensityStatistics wantedStatistics() const;

    std::shared_ptr<Device> m_device;
    TrainerSettings m_settings;
    Schedule m_schedule;
    std::shared_ptr<TrainingPictures> m_pictures;
    std::vector<std::size_t> m_learnFrom;
    PictureOrder m_order;
    Rasteriser m_rasteriser;
    PhotometricPass m_pass;
    TrainedGaussians m_state;
    GaussianArrays m_regularised; ///< gradients of MCMC's regularisers; empty without
    std::int64_t m_step = 0;
};

} // namespace vergence::sugar
