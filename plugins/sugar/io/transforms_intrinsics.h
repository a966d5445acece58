#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "plugins/sugar/io/camera_model.h"
#include "plugins/sugar/io/image_header.h"

namespace vergence::sugar {

/// Looks keys up in a frame first, then in the whole file, and complains with the place.
class TransformsKeys {
public:
    TransformsKeys(const nlohmann::json& frame, const nlohmann::json& file, std::string place)
        : m_frame(frame),
          m_file(file),
          m_place(std::move(place))
    {
    }

    std::optional<double> number(const char* key) const; ///< finite
    double number(const char* key, double otherwise) const;
    std::optional<std::string> text(const char* key) const;
    bool isSet(const char* key) const; ///< true, or a number that is not 0
    [[noreturn]] void fail(const std::string& fault) const;

private:
    const nlohmann::json* find(const char* key) const;

    const nlohmann::json& m_frame;
    const nlohmann::json& m_file;
    std::string m_place;
};

/// Camera of a frame: fl_x, fl_y, cx, cy, w, h and lens coefficients, or camera_angle_x (radians).
/// `measured` is asked for the size of the photograph where w or h is missing.
SourceCamera cameraOfFrame(const TransformsKeys& keys,
                           const std::function<std::optional<ImageHeader>()>& measured);

} // namespace vergence::sugar
