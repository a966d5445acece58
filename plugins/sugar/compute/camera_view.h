#pragma once

#include "plugins/sugar/compute/camera.h"
#include "plugins/sugar/compute/projection_math.h"

namespace vergence::sugar {

/// The camera as the formulas take it: clamps at 1.3 times the field of view, which the principal
/// point may split unevenly.
template <class S>
CameraView<S> cameraView(const Camera& camera, double near, double far)
{
    CameraView<S> view{};
    for (std::size_t i = 0; i < 9; ++i)
        view.rotation[i] = static_cast<S>(camera.rotation[i]);
    const auto centre = camera.centre();
    for (std::size_t i = 0; i < 3; ++i) {
        view.translation[i] = static_cast<S>(camera.translation[i]);
        view.centre[i] = static_cast<S>(centre[i]);
    }
    view.fx = static_cast<S>(camera.fx);
    view.fy = static_cast<S>(camera.fy);
    view.cx = static_cast<S>(camera.cx);
    view.cy = static_cast<S>(camera.cy);
    const double marginX = 0.15 * camera.width / camera.fx,
                 marginY = 0.15 * camera.height / camera.fy;
    view.left = static_cast<S>(camera.cx / camera.fx + marginX);
    view.right = static_cast<S>((camera.width - camera.cx) / camera.fx + marginX);
    view.top = static_cast<S>(camera.cy / camera.fy + marginY);
    view.bottom = static_cast<S>((camera.height - camera.cy) / camera.fy + marginY);
    view.near = static_cast<S>(near);
    view.far = static_cast<S>(far);
    view.width = camera.width;
    view.height = camera.height;
    return view;
}

/// 0.3 px² as 3D Gaussian Splatting (2023) has it, or 0.1 px² with compensation (Mip-Splatting).
template <class S>
ScreenFilter<S> screenFilter(bool mip)
{
    return mip ? ScreenFilter<S>{S(0.1), true} : ScreenFilter<S>{S(0.3), false};
}

} // namespace vergence::sugar
