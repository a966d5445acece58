#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/sugar/compute/learning/optimiser.h"
#include "plugins/sugar/refine/binding.h"
#include "plugins/sugar/train/photometric_pass.h"
#include "plugins/sugar/train/schedule.h"
#include "plugins/sugar/train/training_pictures.h"

namespace vergence::sugar {

struct RefinerSettings {
    std::int64_t steps = 15'000;
    int perTriangle = 1;        ///< 1, 3, 4 or 6 Gaussians
    double normalWeight = 0.1;  ///< of the consistency of neighbouring normals
    double smoothingWeight = 0; ///< of the uniform Laplacian
    std::int64_t rateSpan = 0;  ///< steps over which the vertices' rate falls; 0: all of the run
    LearningRates rates;        ///< `position` is that of the vertices
    double extent = 1;          ///< world units; thickness and thresholds follow it
    double boxRadius = 0;       ///< half the diagonal of the user's box; 0: the extent
    float near = 0.2F;          ///< world units
    bool mip = false;           ///< the screen's filter with compensation; never the 3D filter
    std::array<float, 3> background{0, 0, 0};
    bool threeSigma = false;      ///< see RasterSettings
    double dssim = 0.2;           ///< weight of 1 − SSIM in the photometric loss
    int degree = 3;               ///< of the harmonics
    std::int64_t degreeEvery = 0; ///< another band; 0: 1,000 steps, or a seventh of a short run
    double opacity = 0.1;         ///< at the start
    bool fixedOpacity = false;    ///< 0.9999, not learnt
    bool flipGuard = false;       ///< see PlacementOptions
    Index bandRows = 0;           ///< rows of the bands of a picture; 0: whole pictures
    std::uint64_t seed = 1;
};

/// What one step did.
struct RefineReport {
    std::int64_t step = 0; ///< counts from 1
    std::size_t picture = 0;
    PhotometricValue value;
    double normal = 0; ///< mean of 1 − ⟨n, n'⟩ over neighbouring triangles, without its weight
    double smoothing = 0; ///< mean Laplacian, world units, without its weight
    double loss = 0;      ///< all of it, weighted
    RasterCounts counts;
    RasterSeconds raster;
    double lossSeconds = 0, bindingSeconds = 0, seconds = 0;
    Index notFinite = 0; ///< Gaussians and vertices left as they were: a gradient was not finite
};

/// Trains Gaussians that lie on the triangles of a mesh, and with them the vertices. The numbers
/// follow from settings, mesh and seed alone; on the CPU bit for bit.
/// Source: SuGaR (2024), section 4.3.
class Refiner {
public:
    Refiner(std::shared_ptr<Device> device, RefinerSettings settings,
            std::shared_ptr<TrainingPictures> pictures, std::vector<std::size_t> learnFrom);

    /// Throws InputError for a mesh without triangles.
    void start(Stream& stream, const TriangleMesh& mesh);
    /// One step. Returns false, with nothing changed, where `stopRequested` said so meanwhile.
    /// Throws NumericsError for a loss or too many gradients that are not finite.
    bool step(Stream& stream, const std::function<bool()>& stopRequested, RefineReport& report);

    std::int64_t stepsDone() const { return m_step; }
    bool isDone() const { return m_step >= m_settings.steps; }
    const RefinerSettings& settings() const { return m_settings; }
    const Binding& binding() const { return m_binding; }
    const BoundArrays& parameters() const { return m_value; }
    /// As learnt so far.
    const Gaussians& gaussians() const { return m_gaussians; }
    /// The mesh that was bound, with its vertices as learnt so far and without their normals. Waits
    /// for the stream.
    TriangleMesh mesh(Stream& stream) const;
    /// Settings of the renderer for showing and testing what has been learnt so far.
    RasterSettings rasterSettings() const;
    std::size_t allocatedBytes() const;

    /// Everything a checkpoint needs beside the settings and the mesh, and back.
    struct Named {
        std::string name;
        Tensor tensor;
    };
    std::vector<Named> tensors() const;
    /// `mesh` is the one of start(). Throws InputError for numbers of another count.
    void restore(Stream& stream, const TriangleMesh& mesh, std::int64_t step,
                 const std::function<std::vector<float>(const std::string&)>& read);

private:
    void regularise(Stream& stream, RefineReport& report);
    void update(Stream& stream, RefineReport& report);
    int degreeAt(std::int64_t step) const;
    AdamStep adamAt(std::int64_t step) const;

    std::shared_ptr<Device> m_device;
    RefinerSettings m_settings;
    std::shared_ptr<TrainingPictures> m_pictures;
    PictureOrder m_order;
    Rasteriser m_rasteriser;
    PhotometricPass m_pass;
    TriangleMesh m_start;
    Binding m_binding;
    NormalConsistency m_consistency;
    std::optional<UniformSmoothing> m_smoothing; ///< where its weight is not 0
    BoundArrays m_value, m_gradient, m_moment1, m_moment2;
    Gaussians m_gaussians;          ///< shares opacity and harmonics with m_value
    GaussianArrays m_gradGaussians; ///< shares them with m_gradient
    Tensor m_scratch;
    std::int64_t m_step = 0;
};

} // namespace vergence::sugar
