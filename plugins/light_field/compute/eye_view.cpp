#include "plugins/light_field/compute/eye_view.h"

#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "plugins/light_field/compute/optics_math.h"

namespace vergence::light_field {

EyeRenderer::EyeRenderer(Stream& stream, std::shared_ptr<Device> device, Optics optics,
                         int raysPerPixel)
    : m_operator(std::make_unique<TableOperator>(stream, std::move(device), std::move(optics),
                                                 std::vector{m_eye}, raysPerPixel))
{
}

EyeRenderer::~EyeRenderer() = default;

void EyeRenderer::moveTo(Stream& stream, const EyeState& eye)
{
    if (eye == m_eye)
        return;
    m_operator->setEyeStates(stream, {eye});
    m_eye = eye;
}

Tensor EyeRenderer::render(Stream& stream, const Tensor& planes, const EyeState& eye)
{
    expects(planes.rank() == 4, "EyeRenderer: the planes must be [K, R, R, L]");
    moveTo(stream, eye);
    const Index w = m_operator->resolution();
    Tensor image = Tensor::empty(m_operator->device(), {w, w, planes.extent(3)});
    m_operator->forward(stream, planes, image);
    return image;
}

Tensor EyeRenderer::contributions(Stream& stream, const Tensor& planes, const EyeState& eye)
{
    expects(planes.rank() == 4, "EyeRenderer: the planes must be [K, R, R, L]");
    moveTo(stream, eye);
    const Index w = m_operator->resolution();
    const Tensor images =
        Tensor::empty(m_operator->device(), {m_operator->planes(), w, w, planes.extent(3)});
    for (int k = 0; k < m_operator->planes(); ++k) {
        Tensor image = images.slice(k);
        m_operator->forwardPlanes(stream, planes, k, 1, image);
    }
    return images;
}

namespace {

Rejection rejectionOf(const Optics& optics, const AxisRay& x, const AxisRay& y)
{
    const double aperture = optics.tunableAperture / 2, lenslet = optics.lensletPitch / 2;
    if (optics.tunableAperture > 0 && std::hypot(x.position[1], y.position[1]) > aperture)
        return Rejection::LensAperture;
    if (x.beyondArray || y.beyondArray)
        return Rejection::ArrayEdge;
    if (optics.lensletShape == LensletShape::Circle && std::hypot(x.local, y.local) > lenslet)
        return Rejection::LensletGap;
    if (x.hitsBaffle || y.hitsBaffle)
        return Rejection::Baffle;
    return x.beyondPanel || y.beyondPanel ? Rejection::PanelEdge : Rejection::None;
}

} // namespace

std::vector<RayPath> tracePixel(const Optics& optics, const EyeState& eye, int raysPerPixel,
                                double row, double column)
{
    checkOptics(optics);
    const auto pattern = samplePattern(raysPerPixel, optics.pupilDiameter);
    std::vector<RayPath> paths;
    for (int k = 0; k < optics.planes(); ++k) {
        AxisOptics axis = axisOptics(optics);
        axis.accommodation = eye.accommodation / 1000;
        axis.inverseFocal = 1 / optics.focalLengths[static_cast<std::size_t>(k)];
        for (int m = 0; m < raysPerPixel; ++m) {
            const RaySample& sample = pattern[static_cast<std::size_t>(m)];
            axis.eye = eye.x;
            const AxisRay x =
                traceAxis(axis, pixelSlopeX(optics, column + sample.jitterX), sample.pupilX);
            axis.eye = eye.y;
            const AxisRay y =
                traceAxis(axis, pixelSlopeY(optics, row + sample.jitterY), sample.pupilY);
            RayPath path;
            path.plane = k;
            path.sample = m;
            const AxisRay* axes[2] = {&x, &y};
            for (int a = 0; a < 2; ++a) {
                path.pupil[a] = axes[a]->position[0];
                path.tunable[a] = axes[a]->position[1];
                path.lenslet[a] = axes[a]->position[2];
                path.panel[a] = axes[a]->position[3];
                path.lensletIndex[a] = static_cast<int>(axes[a]->lenslet);
                path.texel[a] = axes[a]->texel;
            }
            path.rejection = rejectionOf(optics, x, y);
            paths.push_back(path);
        }
    }
    return paths;
}

} // namespace vergence::light_field
