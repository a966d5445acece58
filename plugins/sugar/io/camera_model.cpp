#include "plugins/sugar/io/camera_model.h"

namespace vergence::sugar {

int parameterCount(CameraModel model)
{
    switch (model) {
    case CameraModel::SimplePinhole:
        return 3;
    case CameraModel::Pinhole:
    case CameraModel::SimpleRadial:
    case CameraModel::SimpleRadialFisheye:
        return 4;
    case CameraModel::Radial:
    case CameraModel::Fov:
    case CameraModel::RadialFisheye:
        return 5;
    case CameraModel::OpenCv:
    case CameraModel::OpenCvFisheye:
        return 8;
    case CameraModel::FullOpenCv:
    case CameraModel::ThinPrismFisheye:
        return 12;
    }
    return 0;
}

} // namespace vergence::sugar
