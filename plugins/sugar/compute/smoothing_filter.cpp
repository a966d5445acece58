#include <vector>

#include "core/base/error.h"
#include "plugins/sugar/compute/camera_view.h"
#include "plugins/sugar/compute/device_buffer.h"
#include "plugins/sugar/compute/raster_kernels.h"
#include "plugins/sugar/compute/rasteriser.h"

namespace vergence::sugar {

void updateFilter(Stream& stream, Gaussians& gaussians, const std::vector<Camera>& cameras,
                  float near)
{
    const std::shared_ptr<Device>& device = gaussians.device();
    expects(!gaussians.filter.isEmpty() || gaussians.count == 0,
            "updateFilter: the Gaussians have no room for a filter");
    std::vector<CameraView<float>> views;
    views.reserve(cameras.size());
    for (const Camera& camera : cameras)
        views.push_back(cameraView<float>(camera, static_cast<double>(near), 1e30));
    Buffer<CameraView<float>> memory;
    FilterArguments a;
    a.position = static_cast<const float*>(gaussians.value.position.data());
    a.filter = static_cast<float*>(gaussians.filter.data());
    a.count = gaussians.count;
    CameraView<float>* target = memory.reserve(device, static_cast<Index>(views.size()));
    stream.copy(target, views.data(), views.size() * sizeof(views[0]));
    a.cameras = target;
    a.cameraCount = static_cast<Index>(views.size());
    Buffer<float> largest;
    a.largest = largest.reserve(device, 1);
    smoothingFilter(stream, a);
    stream.synchronize(); // the cameras must outlive the kernels
}

} // namespace vergence::sugar
