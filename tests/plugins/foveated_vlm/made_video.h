#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/artifact/image.h"

namespace vergence::test {

/// A video that tests write for themselves.
struct VideoPlan {
    std::string codec = "mpeg4"; ///< name of libav's encoder
    int width = 64, height = 48;
    std::vector<double> times;               ///< when each frame is shown, s
    int ticks = 1000;                        ///< a second, in which times are kept
    double lastSeconds = 0.04;               ///< of the last frame
    std::function<Image(std::size_t)> frame; ///< RGB
    bool isFullRange = false;
    int matrix = -1; ///< AVCOL_SPC_…; −1: not said, written by that of the size
    int aspectNum = 1, aspectDen = 1; ///< of the pixels
    double turnedDegrees = 0;         ///< display matrix, clockwise
};

/// Whether libav has an encoder of that name here.
bool hasEncoder(const std::string& codec);
/// The container is chosen by the ending of the name. Throws std::runtime_error.
void writeVideo(const std::filesystem::path& path, const VideoPlan& plan);
/// `count` times at `fps`, from 0.
std::vector<double> evenTimes(int count, double fps);
/// A picture of one colour.
Image flatImage(int width, int height, int red, int green, int blue);

} // namespace vergence::test
