#include "plugins/sugar/io/camera_model.h"

#include <algorithm>

#include "core/base/error.h"

namespace vergence::sugar {

namespace {

struct ModelFacts {
    const char* name;
    int parameters;
    bool hasOneFocal; ///< f cx cy … instead of fx fy cx cy …
};

/// In the order of the numbers.
constexpr std::array<ModelFacts, 11> kModels{{{"SIMPLE_PINHOLE", 3, true},
                                              {"PINHOLE", 4, false},
                                              {"SIMPLE_RADIAL", 4, true},
                                              {"RADIAL", 5, true},
                                              {"OPENCV", 8, false},
                                              {"OPENCV_FISHEYE", 8, false},
                                              {"FULL_OPENCV", 12, false},
                                              {"FOV", 5, false},
                                              {"SIMPLE_RADIAL_FISHEYE", 4, true},
                                              {"RADIAL_FISHEYE", 5, true},
                                              {"THIN_PRISM_FISHEYE", 12, false}}};

const ModelFacts& factsOf(CameraModel model)
{
    return kModels[static_cast<std::size_t>(model)];
}

} // namespace

std::string nameOf(CameraModel model)
{
    return factsOf(model).name;
}

std::optional<CameraModel> cameraModel(const std::string& name)
{
    const auto found = std::find_if(kModels.begin(), kModels.end(),
                                    [&](const ModelFacts& facts) { return name == facts.name; });
    if (found == kModels.end())
        return std::nullopt;
    return static_cast<CameraModel>(found - kModels.begin());
}

std::optional<CameraModel> cameraModel(int number)
{
    if (number < 0 || number >= static_cast<int>(kModels.size()))
        return std::nullopt;
    return static_cast<CameraModel>(number);
}

int parameterCount(CameraModel model)
{
    return factsOf(model).parameters;
}

bool hasOneFocal(CameraModel model)
{
    return factsOf(model).hasOneFocal;
}

double SourceCamera::fx() const
{
    return parameters.at(0);
}

double SourceCamera::fy() const
{
    return parameters.at(hasOneFocal(model) ? 0 : 1);
}

double SourceCamera::cx() const
{
    return parameters.at(hasOneFocal(model) ? 1 : 2);
}

double SourceCamera::cy() const
{
    return parameters.at(hasOneFocal(model) ? 2 : 3);
}

std::span<const double> SourceCamera::lens() const
{
    return std::span(parameters).subspan(hasOneFocal(model) ? 3 : 4);
}

bool SourceCamera::isPinhole() const
{
    const auto coefficients = lens();
    return model != CameraModel::Fov && !isFisheye(model) &&
           std::all_of(coefficients.begin(), coefficients.end(), [](double k) { return k == 0; });
}

bool isFisheye(CameraModel model)
{
    return model == CameraModel::OpenCvFisheye || model == CameraModel::SimpleRadialFisheye ||
           model == CameraModel::RadialFisheye || model == CameraModel::ThinPrismFisheye;
}

SourceCamera SourceCamera::resized(int newWidth, int newHeight) const
{
    expects(width > 0 && height > 0 && newWidth > 0 && newHeight > 0,
            "SourceCamera: sizes must be positive");
    const double x = static_cast<double>(newWidth) / width;
    const double y = static_cast<double>(newHeight) / height;
    SourceCamera result = withTwoFocals();
    result.width = newWidth;
    result.height = newHeight;
    result.parameters[0] *= x;
    result.parameters[1] *= y;
    result.parameters[2] *= x;
    result.parameters[3] *= y;
    return result;
}

SourceCamera SourceCamera::withTwoFocals() const
{
    if (!hasOneFocal(model))
        return *this;
    SourceCamera result = *this;
    const auto k = lens();
    const double k1 = k.empty() ? 0 : k[0], k2 = k.size() > 1 ? k[1] : 0;
    result.parameters = {fx(), fy(), cx(), cy()};
    if (model == CameraModel::SimplePinhole) {
        result.model = CameraModel::Pinhole;
    } else {
        result.model = isFisheye(model) ? CameraModel::OpenCvFisheye : CameraModel::OpenCv;
        result.parameters.insert(result.parameters.end(), {k1, k2, 0, 0});
    }
    return result;
}

} // namespace vergence::sugar
