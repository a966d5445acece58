#pragma once

#include <optional>
#include <vector>

namespace vergence::light_field {

enum class LensletShape { Circle, Square };

/// How a ray reads the panel: blended from the four texels around it, or from the texel at or below
/// its position in texel centres, `floor(u)`.
enum class TexelSampling { Bilinear, NearestFloor };
/// What becomes of rays that reach no texel: their light is absorbed, so the mean of a pixel is
/// over all its rays, or the mean is over the rays that are left (0 where none is).
enum class MissingPolicy { Absorb, Renormalise };

/// The display and the simulated retina. Lengths in mm, on the coordinate system whose origin is
/// the centre of the nominal eye pupil and whose +z runs from the eye through tunable lens,
/// lenslets and panel. The defaults are the physical demo.
struct Optics {
    double pupilDiameter = 4.0;
    double retinaDistance = 24.0; ///< eye lens to retina
    double retinaSize = 14.0;     ///< side of the simulated retina
    int renderResolution = 256;   ///< W, pixels per side
    double tunableZ = 50.0;
    double tunableAperture = 0.0; ///< clear diameter; 0 = unlimited
    std::vector<double>
        focalLengths; ///< f_k of the tunable lens, one per display plane; K = size()
    double lensletZ = 80.0;
    double lensletPitch = 0.4;
    double lensletFocal = 1.0;
    LensletShape lensletShape = LensletShape::Circle;
    int lensletCount = 51; ///< per side, odd; 0 = unlimited
    double panelGap = 2.0; ///< lenslets to panel
    double panelSize = 20.0;
    int panelResolution = 512; ///< R, texels per side
    double headroom = 8.0;     ///< H: sum of the plane weights, panel peak over target white
    bool baffles = false; ///< reject rays that enter a neighbouring lenslet's field of the panel
    TexelSampling sampling = TexelSampling::Bilinear;
    MissingPolicy missing = MissingPolicy::Absorb;

    int planes() const { return static_cast<int>(focalLengths.size()); }
    double panelZ() const { return lensletZ + panelGap; }
    /// Weight of every plane, H / K.
    double planeWeight() const { return headroom / planes(); }
    /// Largest chief-ray slope of the retina, retinaSize / (2 retinaDistance).
    double slopeExtent() const { return retinaSize / (2.0 * retinaDistance); }
};

/// Throws ContractError that names the first value which no display can have (no planes, R < 2,
/// lensletZ <= tunableZ, …).
void checkOptics(const Optics& optics);

struct AxisOptics;
/// What all rays share along one axis; the caller adds eye, accommodation and plane.
AxisOptics axisOptics(const Optics& optics);

/// The optics of the seed profile: W 512, R 1024, retina 40 mm, focal lengths linear 10 … 100,
/// unlimited lenslets.
Optics seedOptics();

/// Image side focal length of the eye in mm for an accommodation in dioptres, 1/f = A/1000 + 1/d_r.
double eyeFocal(const Optics& optics, double accommodation);
/// Diameter in mm of the blur circle of a point at `distance` mm for an eye lens of focal length
/// `focal` mm, measured in the plane of the point; times d_r / distance on the retina.
double blurCircle(const Optics& optics, double focal, double distance);

/// Distance v in front of the lenslets at which they image the panel; nothing where they collimate
/// (g = f_M).
std::optional<double> lensletConjugate(const Optics& optics);
/// z of the central depth plane (mm), or nothing where the lenslets collimate.
std::optional<double> centralDepthPlane(const Optics& optics);
/// L: tunable lens to central depth plane in mm. Throws ContractError where there is none.
double relayDistance(const Optics& optics);

/// What plane k looks like from the eye.
struct PlaneGeometry {
    double focalLength = 0; ///< f_k, mm
    double distance =
        0; ///< D_k, mm from the eye; negative or infinite where the light converges or is parallel
    double vergence = 0;     ///< Q_k, dioptres
    double chiefRayGain = 0; ///< G_k: mm at the lenslets per unit slope
    double slopeExtent = 0;  ///< the plane covers |slope| up to this, from panel size and gain
    double texelSlope = 0;   ///< slope per texel of the panel
    bool usable = false;     ///< an eye can focus it: virtual image farther than the tunable lens
};
PlaneGeometry planeGeometry(const Optics& optics, int plane);

/// D_k in mm for a focal length; infinity where f = L.
double seenDistance(const Optics& optics, double focal);
/// f_k in mm that shows a plane at `distance` mm (infinity allowed): 1/f = 1/L − 1/(D − z_T).
double focalForDistance(const Optics& optics, double distance);

/// `count` focal lengths whose planes are seen at vergences uniform between `nearMm` and `farMm`;
/// one plane sits in the middle.
std::vector<double> focalLengthsUniformInVergence(const Optics& optics, int count, double nearMm,
                                                  double farMm);
/// `count` focal lengths linear from `first` to `last` mm (the seed's choice).
std::vector<double> focalLengthsLinear(int count, double first, double last);
/// Largest gap in dioptres between neighbouring usable planes; above 0.6 D depth blending visibly
/// loses contrast.
double widestPlaneSpacing(const Optics& optics);

/// ρ_s of plane k: mean number of samples per texel. Red below 2, amber to 8, green above.
double samplingAdequacy(const Optics& optics, int plane, int eyeStates, int raysPerPixel);
/// The mean of the above over the planes.
double samplingAdequacy(const Optics& optics, int eyeStates, int raysPerPixel);

/// Radius in mm of the Airy disc of one lenslet at the central depth plane for 550 nm, 1.22 λ v /
/// p.
double lensletDiffractionRadius(const Optics& optics);

} // namespace vergence::light_field
