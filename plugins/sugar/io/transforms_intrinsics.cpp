#include "plugins/sugar/io/transforms_intrinsics.h"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/sugar/io/colmap.h"

namespace vergence::sugar {

namespace {

double focalOfAngle(const TransformsKeys& keys, const char* key, double angle, int side)
{
    if (!(angle > 0 && angle < std::numbers::pi))
        keys.fail(fmt::format("{} is {} instead of an angle between 0 and π", key, angle));
    return 0.5 * side / std::tan(angle / 2);
}

void setSize(SourceCamera& camera, const TransformsKeys& keys,
             const std::function<std::optional<ImageHeader>()>& measured)
{
    const auto width = keys.number("w"), height = keys.number("h");
    if (width && height) {
        if (!(*width >= 1 && *height >= 1 && *width <= 1e6 && *height <= 1e6))
            keys.fail("w and h are no size of a picture");
        camera.width = static_cast<int>(*width);
        camera.height = static_cast<int>(*height);
        return;
    }
    const auto header = measured();
    if (!header)
        keys.fail("w and h are missing and no photograph tells the size");
    camera.width = header->width;
    camera.height = header->height;
}

/// What the coefficients mean where `camera_model` does not say.
CameraModel modelOf(const TransformsKeys& keys)
{
    if (const auto name = keys.text("camera_model")) {
        const auto model = cameraModel(*name);
        if (!model)
            keys.fail(fmt::format("the camera_model {} is unknown", *name));
        return *model;
    }
    if (keys.isSet("is_fisheye"))
        return CameraModel::OpenCvFisheye;
    for (const char* key : {"k1", "k2", "k3", "p1", "p2"}) {
        if (keys.isSet(key))
            return CameraModel::OpenCv;
    }
    return CameraModel::Pinhole;
}

/// Coefficients under the names of OpenCV, in COLMAP's order with two focal lengths.
void setLens(SourceCamera& camera, const TransformsKeys& keys)
{
    const auto k = [&](const char* key) { return keys.number(key, 0); };
    const auto add = [&](std::initializer_list<double> lens) {
        camera.parameters.insert(camera.parameters.end(), lens);
    };
    switch (camera.model) {
    case CameraModel::SimplePinhole:
    case CameraModel::Pinhole:
        camera.model = CameraModel::Pinhole;
        return;
    case CameraModel::SimpleRadial:
    case CameraModel::Radial:
    case CameraModel::OpenCv:
        camera.model = k("k3") == 0 ? CameraModel::OpenCv : CameraModel::FullOpenCv;
        add({k("k1"), k("k2"), k("p1"), k("p2")});
        if (camera.model == CameraModel::FullOpenCv)
            add({k("k3"), 0, 0, 0});
        return;
    case CameraModel::FullOpenCv:
        add({k("k1"), k("k2"), k("p1"), k("p2"), k("k3"), k("k4"), k("k5"), k("k6")});
        return;
    case CameraModel::SimpleRadialFisheye:
    case CameraModel::RadialFisheye:
    case CameraModel::OpenCvFisheye:
        camera.model = CameraModel::OpenCvFisheye;
        add({k("k1"), k("k2"), k("k3"), k("k4")});
        return;
    case CameraModel::Fov:
    case CameraModel::ThinPrismFisheye:
        keys.fail(fmt::format("the camera_model {} cannot be given here; use a COLMAP model",
                              nameOf(camera.model)));
    }
}

} // namespace

const nlohmann::json* TransformsKeys::find(const char* key) const
{
    for (const nlohmann::json* keys : {&m_frame, &m_file}) {
        const auto found = keys->find(key);
        if (found != keys->end() && !found->is_null())
            return &*found;
    }
    return nullptr;
}

void TransformsKeys::fail(const std::string& fault) const
{
    throw InputError(fmt::format("{}: {}. Correct the file or export it again.", m_place, fault));
}

std::optional<double> TransformsKeys::number(const char* key) const
{
    const nlohmann::json* value = find(key);
    if (!value)
        return std::nullopt;
    if (!value->is_number() || !std::isfinite(value->get<double>()))
        fail(fmt::format("{} is no number", key));
    return value->get<double>();
}

double TransformsKeys::number(const char* key, double otherwise) const
{
    return number(key).value_or(otherwise);
}

std::optional<std::string> TransformsKeys::text(const char* key) const
{
    const nlohmann::json* value = find(key);
    if (!value)
        return std::nullopt;
    if (!value->is_string())
        fail(fmt::format("{} is no text", key));
    return value->get<std::string>();
}

bool TransformsKeys::isSet(const char* key) const
{
    const nlohmann::json* value = find(key);
    if (!value)
        return false;
    return value->is_boolean() ? value->get<bool>() : number(key, 0) != 0;
}

SourceCamera cameraOfFrame(const TransformsKeys& keys,
                           const std::function<std::optional<ImageHeader>()>& measured)
{
    SourceCamera camera;
    camera.id = 1;
    setSize(camera, keys, measured);
    auto fx = keys.number("fl_x");
    if (const auto angle = keys.number("camera_angle_x"); !fx && angle)
        fx = focalOfAngle(keys, "camera_angle_x", *angle, camera.width);
    auto fy = keys.number("fl_y");
    if (const auto angle = keys.number("camera_angle_y"); !fy && angle)
        fy = focalOfAngle(keys, "camera_angle_y", *angle, camera.height);
    if (!fx && !fy)
        keys.fail("the focal length is missing: neither fl_x nor camera_angle_x is there");
    camera.parameters = {fx.value_or(fy.value_or(0)), fy.value_or(fx.value_or(0)),
                         keys.number("cx", camera.width / 2.0),
                         keys.number("cy", camera.height / 2.0)};
    camera.model = modelOf(keys);
    setLens(camera, keys);
    if (const std::string fault = faultOf(camera); !fault.empty())
        keys.fail(fault);
    return camera;
}

} // namespace vergence::sugar
