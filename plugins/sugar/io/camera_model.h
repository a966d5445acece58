#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vergence::sugar {

/// Camera models of COLMAP, numbered as in its files.
enum class CameraModel : int {
    SimplePinhole = 0,
    Pinhole = 1,
    SimpleRadial = 2,
    Radial = 3,
    OpenCv = 4,
    OpenCvFisheye = 5,
    FullOpenCv = 6,
    Fov = 7,
    SimpleRadialFisheye = 8,
    RadialFisheye = 9,
    ThinPrismFisheye = 10,
};

std::string nameOf(CameraModel model); ///< "OPENCV_FISHEYE"
std::optional<CameraModel> cameraModel(const std::string& name);
std::optional<CameraModel> cameraModel(int number);
int parameterCount(CameraModel model);
bool hasOneFocal(CameraModel model); ///< parameters begin f cx cy instead of fx fy cx cy
bool isFisheye(CameraModel model);

/// Lens and sensor as a scene description gives them.
struct SourceCamera {
    int id = 0;
    CameraModel model = CameraModel::Pinhole;
    int width = 0, height = 0;      ///< px
    std::vector<double> parameters; ///< in COLMAP's order

    double fx() const;
    double fy() const;
    double cx() const;
    double cy() const;
    std::span<const double> lens() const; ///< the parameters after the principal point
    bool isPinhole() const;               ///< straight lines stay straight
    /// Normalised pinhole coordinates (u, v) to normalised distorted ones.
    std::array<double, 2> distort(double u, double v) const;
    /// Inverse of distort(); nothing where the lens folds over.
    std::optional<std::array<double, 2>> undistort(double u, double v) const;
    /// Normalised radius at which the lens folds over; infinite for most.
    double foldRadius() const;
    /// The same lens for an image of another size. Two focal lengths, as the ratios may differ.
    SourceCamera resized(int newWidth, int newHeight) const;
    /// The same lens as a model with fx and fy.
    SourceCamera withTwoFocals() const;
};

} // namespace vergence::sugar
