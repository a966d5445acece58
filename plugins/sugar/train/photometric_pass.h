#pragma once

#include "plugins/sugar/compute/learning/photometric.h"
#include "plugins/sugar/compute/rasteriser.h"
#include "plugins/sugar/train/training_pictures.h"

namespace vergence::sugar {

/// Forward pass, photometric loss and its gradient for one picture, at once or in bands. Gradients
/// do not depend on that, bit for bit on the CPU; the parts of the loss are then sums of those of
/// the bands.
class PhotometricPass {
public:
    /// `bandRows`: rows of a band, rounded up to whole tiles; 0: whole pictures.
    PhotometricPass(double dssimWeight, Index bandRows) : m_loss(dssimWeight), m_bandRows(bandRows)
    {
    }

    struct Result {
        PhotometricValue value;
        /// What the rasteriser's backward pass is given next; empty after bands.
        RasterImageGradients gradients;
        double lossSeconds = 0;
        bool isStopped = false; ///< nothing else holds then
    };

    /// `absolute`: statistics of absolute gradients will be asked for.
    Result run(Stream& stream, Rasteriser& rasteriser, const Gaussians& gaussians,
               const TrainingPicture& picture, const RasterSettings& settings, bool absolute,
               const std::function<bool()>& stopRequested);

    std::size_t allocatedBytes() const { return m_gradColour.bytes() + m_loss.allocatedBytes(); }

private:
    Tensor gradientLike(const Tensor& colour);
    void runInBands(Stream& stream, Rasteriser& rasteriser, const Gaussians& gaussians,
                    const TrainingPicture& picture, const RasterSettings& settings, bool absolute,
                    Result& result);

    PhotometricLoss m_loss;
    Index m_bandRows;
    Tensor m_gradColour; ///< [floats], grows
};

} // namespace vergence::sugar
