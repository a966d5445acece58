#include "plugins/light_field/compute/optics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "plugins/light_field/compute/optics_math.h"

namespace vergence::light_field {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double texelSize(const Optics& optics)
{
    return optics.panelSize / optics.panelResolution;
}

/// |dx3/dt| of the chief ray inside one lenslet, mm at the panel per unit slope.
double panelGain(const Optics& optics, double focal, double chiefRayGain)
{
    const double lenslet = 1 - optics.panelGap / optics.lensletFocal;
    return std::abs(lenslet * chiefRayGain + optics.panelGap * (1 - optics.tunableZ / focal));
}

double vergenceOf(double distance)
{
    return std::isinf(distance) ? 0.0 : 1000.0 / distance;
}

} // namespace

void checkOptics(const Optics& optics)
{
    expects(optics.planes() >= 1, "optics: at least one focal length is needed");
    for (const double focal : optics.focalLengths)
        expects(std::isfinite(focal) && focal > 0, "optics: focal lengths must be positive");
    expects(optics.pupilDiameter > 0 && optics.retinaDistance > 0 && optics.retinaSize > 0,
            "optics: pupil diameter, retina distance and retina size must be positive");
    expects(optics.renderResolution >= 1 && optics.renderResolution <= 4096,
            "optics: the render resolution must lie between 1 and 4096");
    expects(optics.panelResolution >= 2 && optics.panelResolution <= 4096,
            "optics: the panel resolution must lie between 2 and 4096");
    expects(optics.tunableZ > 0 && optics.lensletZ > optics.tunableZ && optics.panelGap > 0,
            "optics: eye, tunable lens, lenslets and panel must follow each other along z");
    expects(optics.lensletPitch > 0 && optics.lensletFocal > 0 && optics.panelSize > 0,
            "optics: lenslet pitch, lenslet focal length and panel size must be positive");
    expects(optics.tunableAperture >= 0 && optics.lensletCount >= 0,
            "optics: apertures and counts must not be negative");
    expects(optics.lensletCount == 0 || optics.lensletCount % 2 == 1,
            "optics: the lenslet count per side must be odd");
    expects(optics.headroom > 0, "optics: headroom must be positive");
}

AxisOptics axisOptics(const Optics& optics)
{
    AxisOptics axis;
    axis.tunableZ = optics.tunableZ;
    axis.lensletZ = optics.lensletZ;
    axis.lensletPitch = optics.lensletPitch;
    axis.inverseLensletFocal = 1 / optics.lensletFocal;
    axis.lensletLimit = optics.lensletCount > 0 ? (optics.lensletCount - 1) / 2 : -1;
    axis.panelGap = optics.panelGap;
    axis.panelSize = optics.panelSize;
    axis.panelResolution = optics.panelResolution;
    axis.baffles = optics.baffles;
    return axis;
}

Optics seedOptics()
{
    Optics optics;
    optics.retinaSize = 40.0;
    optics.renderResolution = 512;
    optics.lensletCount = 0;
    optics.panelResolution = 1024;
    optics.sampling = TexelSampling::NearestFloor;
    optics.missing = MissingPolicy::Renormalise;
    optics.focalLengths = focalLengthsLinear(8, 10.0, 100.0);
    return optics;
}

double eyeFocal(const Optics& optics, double accommodation)
{
    return 1.0 / (accommodation / 1000.0 + 1.0 / optics.retinaDistance);
}

double blurCircle(const Optics& optics, double focal, double distance)
{
    const double excess = 1.0 / focal - 1.0 / distance - 1.0 / optics.retinaDistance;
    return optics.pupilDiameter * distance * std::abs(excess);
}

std::optional<double> lensletConjugate(const Optics& optics)
{
    const double difference = optics.panelGap - optics.lensletFocal;
    if (difference == 0)
        return std::nullopt;
    return optics.panelGap * optics.lensletFocal / difference;
}

std::optional<double> centralDepthPlane(const Optics& optics)
{
    const auto conjugate = lensletConjugate(optics);
    if (!conjugate)
        return std::nullopt;
    return optics.lensletZ - *conjugate;
}

double relayDistance(const Optics& optics)
{
    const auto plane = centralDepthPlane(optics);
    expects(plane.has_value(), "The lenslets collimate (panel gap equals their focal length), so "
                               "there is no central depth "
                               "plane; change the gap or the focal length.");
    return *plane - optics.tunableZ;
}

double seenDistance(const Optics& optics, double focal)
{
    const double relay = relayDistance(optics);
    return focal == relay ? kInfinity : optics.tunableZ + relay * focal / (focal - relay);
}

double focalForDistance(const Optics& optics, double distance)
{
    expects(distance != optics.tunableZ,
            "focalForDistance: a plane cannot be seen at the tunable lens itself");
    const double relay = relayDistance(optics);
    return 1.0 / (1.0 / relay - (std::isinf(distance) ? 0.0 : 1.0 / (distance - optics.tunableZ)));
}

PlaneGeometry planeGeometry(const Optics& optics, int plane)
{
    expects(plane >= 0 && plane < optics.planes(), "planeGeometry: no such plane");
    PlaneGeometry geometry;
    const double focal = optics.focalLengths[static_cast<std::size_t>(plane)];
    geometry.focalLength = focal;
    geometry.chiefRayGain =
        optics.tunableZ + (optics.lensletZ - optics.tunableZ) * (1 - optics.tunableZ / focal);
    geometry.slopeExtent = optics.panelSize / 2 / std::abs(geometry.chiefRayGain);
    geometry.texelSlope = texelSize(optics) / panelGain(optics, focal, geometry.chiefRayGain);
    if (!centralDepthPlane(optics)) {
        geometry.distance = kInfinity;
        return geometry;
    }
    const double relay = relayDistance(optics);
    geometry.distance = seenDistance(optics, focal);
    geometry.vergence = vergenceOf(geometry.distance);
    geometry.usable = relay > 0 && focal >= relay;
    if (geometry.usable && std::isfinite(geometry.distance)) {
        const double magnification = *lensletConjugate(optics) / optics.panelGap;
        const double slopePerMm =
            (geometry.distance - optics.tunableZ) / (relay * geometry.distance);
        geometry.texelSlope = std::abs(texelSize(optics) * magnification * slopePerMm);
    }
    return geometry;
}

std::vector<double> focalLengthsUniformInVergence(const Optics& optics, int count, double nearMm,
                                                  double farMm)
{
    expects(count >= 1, "focal lengths: at least one plane is needed");
    expects(nearMm > optics.tunableZ && farMm >= nearMm,
            "focal lengths: the near plane must lie beyond the tunable lens and not beyond the far "
            "plane");
    const double nearVergence = vergenceOf(nearMm), farVergence = vergenceOf(farMm);
    std::vector<double> focals;
    for (int k = 0; k < count; ++k) {
        const double share = count == 1 ? 0.5 : static_cast<double>(k) / (count - 1);
        const double vergence = nearVergence + (farVergence - nearVergence) * share;
        focals.push_back(focalForDistance(optics, vergence == 0 ? kInfinity : 1000.0 / vergence));
    }
    return focals;
}

std::vector<double> focalLengthsLinear(int count, double first, double last)
{
    expects(count >= 1, "focal lengths: at least one plane is needed");
    std::vector<double> focals;
    for (int k = 0; k < count; ++k)
        focals.push_back(count == 1 ? first : first + (last - first) * k / (count - 1));
    return focals;
}

double widestPlaneSpacing(const Optics& optics)
{
    std::vector<double> vergences;
    for (int k = 0; k < optics.planes(); ++k) {
        const PlaneGeometry geometry = planeGeometry(optics, k);
        if (geometry.usable)
            vergences.push_back(geometry.vergence);
    }
    std::sort(vergences.begin(), vergences.end());
    double widest = 0;
    for (std::size_t i = 1; i < vergences.size(); ++i)
        widest = std::max(widest, vergences[i] - vergences[i - 1]);
    return widest;
}

double samplingAdequacy(const Optics& optics, int plane, int eyeStates, int raysPerPixel)
{
    const PlaneGeometry geometry = planeGeometry(optics, plane);
    const double pixel = panelGain(optics, geometry.focalLength, geometry.chiefRayGain) * 2 *
                         optics.slopeExtent() / optics.renderResolution;
    const double ratio = texelSize(optics) / pixel;
    return eyeStates * raysPerPixel * ratio * ratio;
}

double samplingAdequacy(const Optics& optics, int eyeStates, int raysPerPixel)
{
    double sum = 0;
    for (int k = 0; k < optics.planes(); ++k)
        sum += samplingAdequacy(optics, k, eyeStates, raysPerPixel);
    return sum / optics.planes();
}

double lensletDiffractionRadius(const Optics& optics)
{
    constexpr double kWavelength = 550e-6; // mm
    const auto conjugate = lensletConjugate(optics);
    return conjugate ? 1.22 * kWavelength * std::abs(*conjugate) / optics.lensletPitch : kInfinity;
}

} // namespace vergence::light_field
