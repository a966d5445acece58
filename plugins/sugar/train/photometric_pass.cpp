#include "plugins/sugar/train/photometric_pass.h"

#include "core/base/clock.h"

namespace vergence::sugar {

/// Room for the gradient of an image; bands differ in height.
Tensor PhotometricPass::gradientLike(const Tensor& colour)
{
    if (m_gradColour.size() < colour.size())
        m_gradColour = Tensor::empty(colour.device(), {colour.size()});
    return Tensor::wrap(m_gradColour.device(), m_gradColour.data(), colour.shape(), DType::F32,
                        m_gradColour.storage());
}

PhotometricPass::Result PhotometricPass::run(Stream& stream, Rasteriser& rasteriser,
                                             const Gaussians& gaussians,
                                             const TrainingPicture& picture,
                                             const RasterSettings& settings, bool absolute,
                                             const std::function<bool()>& stopRequested)
{
    Result result;
    rasteriser.setStop(stopRequested);
    if (m_bandRows > 0 && m_bandRows < picture.camera.height) {
        runInBands(stream, rasteriser, gaussians, picture, settings, absolute, result);
    } else {
        const RasterImages& images =
            rasteriser.render(stream, gaussians, picture.camera, settings, true);
        result.isStopped = stopRequested && stopRequested();
        if (!result.isStopped) {
            const double start = steadySeconds();
            result.gradients.colour = gradientLike(images.colour);
            result.value = m_loss.evaluate(stream, images.colour, picture.photo, picture.mask,
                                           result.gradients.colour);
            result.lossSeconds = steadySeconds() - start;
        }
    }
    result.isStopped = result.isStopped || (stopRequested && stopRequested());
    rasteriser.setStop({});
    return result;
}

void PhotometricPass::runInBands(Stream& stream, Rasteriser& rasteriser, const Gaussians& gaussians,
                                 const TrainingPicture& picture, const RasterSettings& settings,
                                 bool absolute, Result& result)
{
    const auto lossOf = [&](const RasterImages& images, const RasterBand& band) {
        const double start = steadySeconds();
        RasterImageGradients gradients;
        gradients.colour = gradientLike(images.colour);
        const PhotometricValue value = m_loss.evaluateBand(
            stream, images.colour, picture.photo, picture.mask,
            {picture.camera.height, band.top, band.begin, band.end}, gradients.colour);
        result.value.l1 += value.l1;
        result.value.ssim += value.ssim;
        result.value.loss += value.loss;
        result.lossSeconds += steadySeconds() - start;
        return gradients;
    };
    rasteriser.renderInBands(stream, gaussians, picture.camera, settings,
                             {m_bandRows, kBandHalo, absolute}, lossOf);
}

} // namespace vergence::sugar
