#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/sugar/compute/alignment/depth_normal.h"
#include "plugins/sugar/compute/learning/density_control.h"
#include "plugins/sugar/compute/learning/optimiser.h"
#include "plugins/sugar/compute/learning/photometric.h"
#include "plugins/sugar/train/aligner_schedule.h"
#include "plugins/sugar/train/named_tensors.h"
#include "plugins/sugar/train/training_pictures.h"

namespace vergence::sugar {

struct AlignerSettings {
    /// Which field samples are compared with; the last one is the density, and depth against
    /// normals besides.
    enum class Mode { Density, Sdf, DepthNormal };
    Mode mode = Mode::DepthNormal;
    AlignmentScheduleSettings schedule;
    double entropy = 0.1;      ///< weight of the mean entropy of visible opacities
    double pruneOpacity = 0.5; ///< Gaussians below go, once
    Index samples = 250'000;   ///< of the field, each step
    double factor = 0.2;       ///< weight of the density or the signed distance
    double normalFactor = 0.2; ///< weight of normals against those of neighbours
    int knn = 16;              ///< neighbours of a sample's parent, itself included; 2 to 32
    double dnFactor = 0.05;    ///< weight of depth against normals
    bool dnHalf = false;       ///< depth and normals are rendered at half the size
    DepthNormalMode dnMode = DepthNormalMode::Normalised;
    bool detachSamples = false;
    bool useFilter = false; ///< the field sees the shapes of the 3D filter
    LearningRates rates{.position = 5.463278e-5, .positionFinal = 1.6e-5};
    bool mip = true;
    bool keepsFilter = false; ///< the 3D filter that the Gaussians came with stays
    bool threeSigma = false;  ///< see RasterSettings
    double dssim = 0.2;       ///< weight of 1 − SSIM in the loss
    double extent = 1;        ///< world units; all thresholds follow it
    float near = 0.2F;        ///< world units
    std::array<float, 3> background{0, 0, 0};
    int shDegree = 3;
    /// Updates only Gaussians that the camera saw or that a term has a gradient for.
    bool sparseAdam = false;
    MomentFormat moments = MomentFormat::F32;
    std::uint64_t seed = 1;
    /// Where tables of neighbours are kept; none are where it is empty.
    std::filesystem::path cacheFolder;
};

/// What one step did. Terms are means without their weights; nothing where a term took no part.
struct AlignmentReport {
    std::int64_t step = 0; ///< counts from 1
    std::size_t picture = 0;
    PhotometricValue value;
    std::optional<double> entropy;      ///< nats
    std::optional<double> density;      ///< |d − d̄|
    std::optional<double> sdf;          ///< error of the signed distance, tenths of the extent
    std::optional<double> betterNormal; ///< |n − Σ w n|²
    std::optional<double> depthNormal;  ///< 1 − cosine on opaque pixels
    Index samples = 0;                  ///< of the field that counted
    bool pruned = false;                ///< the step in which faint Gaussians went
    Index prunedCount = 0;
    /// Fewer than 1,000 Gaussians, and fewer than a tenth, were opaque enough, so the most opaque
    /// tenth was kept: the poses do not fit the pictures, or opacities were reset too late.
    bool keptFaint = false;
    bool searchedNeighbours = false;
    RasterCounts counts;
    RasterSeconds raster;
    double lossSeconds = 0, termSeconds = 0, neighbourSeconds = 0, seconds = 0;
    Index notFinite = 0; ///< Gaussians left as they were because a gradient was not finite
};

/// Aligns trained Gaussians with surfaces: opacities are driven apart, faint Gaussians pruned, and
/// those left pulled flat onto the surface, while pictures are learnt on. Their number only falls.
/// The numbers follow from settings and seed alone; on the CPU bit for bit.
/// Source: SuGaR (2024), sections 4.1 and 5.
class Aligner {
public:
    Aligner(std::shared_ptr<Device> device, AlignerSettings settings,
            std::shared_ptr<TrainingPictures> pictures, std::vector<std::size_t> learnFrom);
    ~Aligner();
    Aligner(Aligner&&) noexcept;
    Aligner& operator=(Aligner&&) noexcept;

    /// Moments start at 0; the filter follows the pictures unless it stays.
    void start(Stream& stream, const GaussianCloud& cloud);
    /// One step. Returns false, with nothing changed, where `stopRequested` said so meanwhile.
    bool step(Stream& stream, const std::function<bool()>& stopRequested, AlignmentReport& report);

    std::int64_t stepsDone() const;
    bool isDone() const { return stepsDone() >= settings().schedule.steps; }
    const AlignerSettings& settings() const;
    const TrainedGaussians& state() const;
    const Gaussians& gaussians() const { return state().gaussians; }
    /// Settings of the renderer for showing and testing what has been learnt so far.
    RasterSettings rasterSettings() const;
    std::size_t allocatedBytes() const;

    /// Everything a checkpoint needs beside the settings, and back. Neighbours are found again.
    using Named = NamedTensor;
    std::vector<Named> tensors() const;
    void restore(Stream& stream, std::int64_t step, Index count, int degree,
                 const NamedReader& read);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence::sugar
