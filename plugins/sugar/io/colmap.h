#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/sugar/io/camera_model.h"
#include "plugins/sugar/io/text_fields.h"

namespace vergence::sugar {

struct ColmapKeypoint {
    double x = 0, y = 0;     ///< px
    std::int64_t point = -1; ///< id of its point, −1 without one
};

struct ColmapImage {
    std::uint32_t id = 0;
    std::array<double, 4> quaternion{1, 0, 0, 0}; ///< w x y z, world to camera, as written
    std::array<double, 3> translation{};
    std::uint32_t camera = 0; ///< id
    std::string name;
    std::vector<ColmapKeypoint> keypoints;
};

struct ColmapTrackElement {
    std::int32_t image = 0, keypoint = 0;
};

struct ColmapPoint {
    std::uint64_t id = 0;
    std::array<double, 3> position{};
    std::array<std::uint8_t, 3> colour{};
    double error = 0; ///< px
    std::vector<ColmapTrackElement> track;
};

/// A sparse model with everything its files hold, in their order, so that writing gives them back.
/// Source: COLMAP documentation, "Output Format".
struct ColmapModel {
    std::vector<SourceCamera> cameras;
    std::vector<ColmapImage> images;
    std::vector<ColmapPoint> points;
};

enum class ColmapForm { Binary, Text };

/// cameras, images and points3D (.bin or .txt) of a folder; a missing file of points means none.
/// Throws InputError; with `damaged`, lines of images and points that cannot be read are left out
/// and added there instead.
ColmapModel readColmap(const std::filesystem::path& folder, ColmapForm form,
                       std::vector<DamagedLine>* damaged = nullptr);
/// Throws OutputError. Text holds the shortest digits that give the same numbers back.
void writeColmap(const std::filesystem::path& folder, const ColmapModel& model, ColmapForm form);

// The parts by themselves; `file` is for messages. All throw InputError, or add to `damaged`.
std::vector<SourceCamera> parseColmapCameras(std::span<const std::byte> bytes,
                                             const std::string& file);
std::vector<ColmapImage> parseColmapImages(std::span<const std::byte> bytes,
                                           const std::string& file);
std::vector<ColmapPoint> parseColmapPoints(std::span<const std::byte> bytes,
                                           const std::string& file);
std::vector<SourceCamera> parseColmapCameras(std::string_view text, const std::string& file);
std::vector<ColmapImage> parseColmapImages(std::string_view text, const std::string& file,
                                           std::vector<DamagedLine>* damaged = nullptr);
std::vector<ColmapPoint> parseColmapPoints(std::string_view text, const std::string& file,
                                           std::vector<DamagedLine>* damaged = nullptr);

/// What is wrong with the numbers of a camera, or empty: sizes, parameters that are not finite.
std::string faultOf(const SourceCamera& camera);

} // namespace vergence::sugar
