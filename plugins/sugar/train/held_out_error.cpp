#include "plugins/sugar/train/held_out_error.h"

#include <algorithm>
#include <cmath>

namespace vergence::sugar {

std::vector<float> errorMap(Stream& stream, const Tensor& render, const Photograph& photograph)
{
    const std::vector<float> values = render.toHost<float>(stream);
    const std::size_t pixels = values.size() / 3;
    std::vector<float> errors(pixels, 0.0F);
    for (std::size_t i = 0; i < pixels; ++i) {
        if (!photograph.mask.empty() && photograph.mask[i] == 0)
            continue;
        for (std::size_t c = 0; c < 3; ++c) {
            const float shown = std::clamp(values[c * pixels + i], 0.0F, 1.0F);
            const auto wanted = static_cast<float>(photograph.image.pixels[3 * i + c]) / 255;
            errors[i] += std::abs(shown - wanted) / 3;
        }
    }
    return errors;
}

std::vector<float> heldOutErrors(Stream& stream, const Gaussians& gaussians,
                                 const RasterSettings& settings, TrainingPictures& pictures,
                                 const std::vector<bool>& isTest)
{
    // Grey Gaussians whose red has the error as its gradient and whose green has 1: what arrives
    // at their colours is Σ w error and Σ w.
    const std::shared_ptr<Device> device = gaussians.device();
    const Index capacity = gaussians.value.capacity();
    Gaussians probe = gaussians;
    probe.value.shDc = Tensor::zeros(stream, device, {capacity, 3});
    probe.value.shRest = Tensor();
    RasterSettings plain = settings;
    plain.shDegree = 0;
    GaussianArrays gradients = GaussianArrays::zeros(stream, device, capacity, 0);
    Rasteriser rasteriser(device);
    const auto count = static_cast<std::size_t>(gaussians.count);
    std::vector<double> errors(count, 0), weights(count, 0);
    for (std::size_t i = 0; i < isTest.size(); ++i) {
        const auto photograph = isTest[i] ? pictures.photograph(i) : nullptr;
        if (!photograph)
            continue;
        const Camera& camera = pictures.source().cameras()[i];
        std::vector<float> image = errorMap(
            stream, rasteriser.render(stream, gaussians, camera, settings).colour, *photograph);
        const std::size_t pixels = image.size();
        image.resize(3 * pixels, 0.0F);
        for (std::size_t p = 0; p < pixels; ++p)
            image[pixels + p] = photograph->mask.empty() || photograph->mask[p] != 0 ? 1.0F : 0.0F;
        rasteriser.render(stream, probe, camera, plain, true);
        RasterImageGradients gradient;
        gradient.colour =
            Tensor::fromHost<float>(stream, device, {3, camera.height, camera.width}, image);
        rasteriser.backward(stream, probe, gradient, gradients, nullptr);
        const std::vector<float> arrived = gradients.shDc.toHost<float>(stream);
        for (std::size_t k = 0; k < count; ++k) {
            errors[k] += static_cast<double>(arrived[3 * k]);
            weights[k] += static_cast<double>(arrived[3 * k + 1]);
        }
    }
    std::vector<float> means(count, 0.0F);
    for (std::size_t k = 0; k < count; ++k) {
        if (weights[k] > 0)
            means[k] = static_cast<float>(errors[k] / weights[k]);
    }
    return means;
}

} // namespace vergence::sugar
