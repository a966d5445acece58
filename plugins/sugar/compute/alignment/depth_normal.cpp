#include "plugins/sugar/compute/alignment/depth_normal.h"

#include "plugins/sugar/compute/alignment/depth_normal_kernels.h"

namespace vergence::sugar {

namespace {

/// Bytes of a pixel: its gradient, expected depth and value.
constexpr Index kScratchBytes = sizeof(DepthNormalGradient<float>) + 2 * sizeof(float);

void reshape(Tensor& tensor, const std::shared_ptr<Device>& device, const Shape& shape)
{
    if (tensor.shape() != shape)
        tensor = Tensor::empty(device, shape);
}

} // namespace

DepthNormalValue DepthNormalLoss::evaluate(Stream& stream, const Camera& camera,
                                           const RasterImages& images, double weight,
                                           RasterImageGradients& gradients)
{
    expects(!images.depth.isEmpty() && !images.normal.isEmpty(),
            "DepthNormalLoss: the picture was rendered without geometry");
    const Index height = images.depth.extent(0), width = images.depth.extent(1);
    expects(camera.height == height && camera.width == width,
            "DepthNormalLoss: the picture is that of another camera");
    const std::shared_ptr<Device>& device = images.depth.device();
    const Index pixels = height * width;
    reshape(m_gradDepth, device, {height, width});
    reshape(m_gradCoverage, device, {height, width});
    reshape(m_gradNormal, device, {3, height, width});
    if (m_scratch.size() != pixels * kScratchBytes)
        m_scratch = Tensor::empty(device, {pixels * kScratchBytes}, DType::U8);

    DepthNormalValue value;
    DepthNormalArguments a;
    a.height = height;
    a.width = width;
    a.rays = {static_cast<float>(camera.fx), static_cast<float>(camera.fy),
              static_cast<float>(camera.cx), static_cast<float>(camera.cy)};
    a.depth = images.depth.flat<float>().data();
    a.transmittance = images.transmittance.flat<float>().data();
    a.normal = images.normal.flat<float>().data();
    a.isSummed = m_mode == DepthNormalMode::Summed;
    a.weight = weight;
    a.gradients = static_cast<DepthNormalGradient<float>*>(m_scratch.data());
    a.expected = reinterpret_cast<float*>(a.gradients + pixels);
    a.values = a.expected + pixels;
    a.gradDepth = m_gradDepth.flat<float>().data();
    a.gradCoverage = m_gradCoverage.flat<float>().data();
    a.gradNormal = m_gradNormal.flat<float>().data();
    a.mean = &value.mean;
    a.count = &value.pixels;
    depthNormalGradient(stream, a);
    gradients.depth = m_gradDepth;
    gradients.coverage = m_gradCoverage;
    gradients.normal = m_gradNormal;
    return value;
}

std::size_t DepthNormalLoss::allocatedBytes() const
{
    return m_scratch.bytes() + m_gradDepth.bytes() + m_gradCoverage.bytes() + m_gradNormal.bytes();
}

} // namespace vergence::sugar
