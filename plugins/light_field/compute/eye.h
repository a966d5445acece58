#pragma once

#include <vector>

namespace vergence::light_field {

struct Optics;

/// Position of the eye (shift of pupil and retina together, mm) and what it focuses on.
struct EyeState {
    double x = 0, y = 0;        ///< mm
    double accommodation = 5.0; ///< dioptres

    bool operator==(const EyeState&) const = default;
};

/// Accommodations times positions, the training set of the solver.
struct EyeStateSettings {
    int accommodationCount = 3;
    double accommodationNear = 1000.0 / 150.0; ///< dioptres
    double accommodationFar =
        1000.0 / 200.0; ///< dioptres; accommodations are uniform from near to far
    int eyeCount = 1;   ///< 1: centre; n > 1: centre and n − 1 points evenly on a circle, from +x
    double eyeboxRadius = 1.0; ///< mm
};

/// Position-major: all accommodations of the centre first. One accommodation means the middle of
/// near and far.
std::vector<EyeState> trainingStates(const EyeStateSettings& settings);
/// Midpoints between neighbouring training accommodations (one accommodation: that one), at shift
/// (0.3536, 0.3536) times the radius where there is more than one eye position. Never part of the
/// training.
std::vector<EyeState> heldOutStates(const EyeStateSettings& settings);

/// One ray of every pixel: where it crosses the pupil and where inside the pixel it ends.
struct RaySample {
    double pupilX = 0, pupilY = 0;   ///< mm from the centre of the pupil
    double jitterX = 0, jitterY = 0; ///< pixels from the centre of the pixel
};

/// Golden-angle spiral of equal areas with a low-discrepancy pixel jitter, both centred; one sample
/// is the centre ray.
std::vector<RaySample> samplePattern(int raysPerPixel, double pupilDiameter);

/// The pupil samples of the seed profile: spiral of growing angle and radius; samples outside the
/// pupil are marked by NaN.
std::vector<RaySample> seedSamplePattern(int raysPerPixel, double pupilDiameter);

/// Chief-ray slope of a pixel centre: column `j` of W → t_x, row `i` → t_y (+y is up).
double pixelSlopeX(const Optics& optics, double column);
double pixelSlopeY(const Optics& optics, double row);

} // namespace vergence::light_field
