#pragma once

#include <filesystem>
#include <memory>

#include "core/artifact/video/video.h"

namespace vergence {

// What the module's object hands out; see VideoModule.
std::unique_ptr<VideoReader> openLibavReader(const std::filesystem::path& path, int threads);
std::unique_ptr<VideoStream> openLibavStream(const std::filesystem::path& path, int threads);
std::unique_ptr<VideoStream> openLibavCamera(const CameraSettings& settings);
std::unique_ptr<VideoWriter> openLibavWriter(const std::filesystem::path& path,
                                             const VideoWriterSettings& settings);

} // namespace vergence
