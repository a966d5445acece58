#include "plugins/light_field/light_field_config.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plugins/light_field/config_rules.h"

namespace vergence::light_field {

namespace {

using C = LightFieldConfig;
using Builder = SchemaBuilder<LightFieldConfig>;

void addScene(Builder& b)
{
    b.group("general");
    b.add("profile", &C::profile)
        .choices({"physical", "seed"})
        .help("physical: correct optics, several eye states, held-out evaluation. seed: the "
              "numbers of the original program, "
              "faults included, for regression and speed; use a preset that starts with seed.");
    b.add("seed", &C::seed)
        .advanced()
        .help("Nothing in this lab is random yet; kept so that earlier files can be read.");

    b.group("scene");
    b.add("sweep", &C::sweep)
        .choices({"boards", "scenes", "parameter", "image"})
        .help("What is solved one after the other: checkerboards of growing fineness, built-in "
              "scenes, one board for several "
              "values of a parameter, or a picture with depth.");
    b.add("boards", &C::boards)
        .title("Boards n")
        .range(2, 500)
        .count(1, 200)
        .help("Nominal checkerboard sizes n. Equal cell sizes floor(1000/n) are the same board and "
              "are solved once. A parameter "
              "sweep uses the first.");
    b.add("checker_mapping", &C::checkerMapping)
        .title("Checker mapping")
        .choices({"seed", "equal_angle"})
        .advanced()
        .help("seed: cells of floor(1000/n) steps, twice as wide as high. equal_angle: exactly n × "
              "2n square cells.");
    b.add("sphere_distance", &C::sphereDistance)
        .title("Sphere distance")
        .range(60, 2000)
        .unit("mm")
        .help("Eye to the centre of the board's sphere.");
    b.add("sphere_radius", &C::sphereRadius)
        .range(1, 500)
        .unit("mm")
        .help("Radius of the board's sphere.");
    b.add("scenes", &C::scenes)
        .visibleIf("sweep=scenes")
        .count(1, 64)
        .help("Built-in scenes: basic, complex, stick_figure, layered, office, nature, "
              "spherical_checkerboard, textured_basic, "
              "and the rich ones with the ending _plus.");
    b.add("sweep_key", &C::sweepKey)
        .title("Parameter to vary")
        .visibleIf("sweep=parameter")
        .help("Parameter that a parameter sweep varies.");
    b.add("sweep_values", &C::sweepValues)
        .title("Its values")
        .visibleIf("sweep=parameter")
        .count(1, 100)
        .help("Its values.");
    b.add("color_image", &C::colorImage)
        .title("Photograph")
        .visibleIf("sweep=image")
        .help("PNG or JPEG photograph, sRGB.");
    b.add("depth_image", &C::depthImage)
        .title("Depth image")
        .visibleIf("sweep=image")
        .help("PNG of the same size; 0 means nothing there, the brightest value lies at "
              "depth_image_near.");
    b.add("depth_image_near", &C::depthImageNear)
        .visibleIf("sweep=image")
        .range(60, 10000)
        .unit("mm")
        .help("Distance of the brightest depth value.");
    b.add("depth_image_far", &C::depthImageFar)
        .visibleIf("sweep=image")
        .range(60, 100000)
        .unit("mm")
        .help("Distance of the darkest depth value that is not 0.");
    b.add("depth_encoding", &C::depthEncoding)
        .visibleIf("sweep=image")
        .choices({"linear", "inverse"})
        .help("Whether depth values are linear in distance or in 1/distance.");
    b.add("field_of_view", &C::fieldOfView)
        .visibleIf("sweep=image")
        .range(1, 120)
        .unit("°")
        .help("Horizontal angle that the picture covers.");
    b.add("lambert", &C::lambert)
        .advanced()
        .help("Shade by a lamp at the head instead of flat emission.");
    b.add("background", &C::background)
        .range(0, 1)
        .count(3, 3)
        .advanced()
        .help("Linear RGB where no object is hit.");
}

void addEye(Builder& b)
{
    b.group("eye");
    b.add("pupil_diameter", &C::pupilDiameter)
        .range(1, 8)
        .unit("mm")
        .help("Diameter of the entrance pupil.");
    b.add("retina_distance", &C::retinaDistance)
        .range(15, 30)
        .unit("mm")
        .advanced()
        .help("Eye lens to retina.");
    b.add("retina_size", &C::retinaSize)
        .range(2, 40)
        .unit("mm")
        .help("Side of the simulated square of retina; sets the field.");
    b.add("eye_focal", &C::eyeFocal)
        .range(10, 100)
        .unit("mm")
        .visibleIf("profile=seed")
        .help("Eye lens of the seed profile.");
    b.add("render_res", &C::renderRes)
        .title("Render resolution W")
        .range(16, 2048)
        .unit("px")
        .help("Pixels per side of an eye view.");
    b.add("acc_range", &C::accRange)
        .title("Accommodations")
        .choices({"auto", "manual"})
        .help("auto: accommodations cover the visible depths of the scene. manual: acc_near to "
              "acc_far.");
    b.add("acc_count", &C::accCount)
        .title("Accommodation count")
        .range(1, 15)
        .help("Accommodations of the training set, uniform in dioptres.");
    b.add("acc_near", &C::accNear)
        .title("Nearest accommodation")
        .range(0, 15)
        .unit("D")
        .visibleIf("acc_range=manual")
        .help("Strongest accommodation.");
    b.add("acc_far", &C::accFar)
        .title("Farthest accommodation")
        .range(0, 15)
        .unit("D")
        .visibleIf("acc_range=manual")
        .help("Weakest accommodation.");
    b.add("eye_count", &C::eyeCount)
        .title("Eye positions")
        .range(1, 33)
        .help("Eye positions of the training set: the centre and a circle around it.");
    b.add("eyebox_radius", &C::eyeboxRadius)
        .title("Eye-box radius")
        .range(0, 5)
        .unit("mm")
        .help("Radius of that circle.");
}

void addOptics(Builder& b)
{
    b.group("optics");
    b.add("tunable_z", &C::tunableZ)
        .title("Tunable lens z")
        .range(5, 200)
        .unit("mm")
        .help("Eye to the focus-tunable lens.");
    b.add("tunable_aperture", &C::tunableAperture)
        .title("Tunable lens aperture")
        .range(0, 60)
        .unit("mm")
        .help("Its clear diameter; 0 is unlimited.");
    b.add("planes", &C::planes)
        .title("Planes K")
        .range(1, 32)
        .help("Panel images per frame, one focal length each.");
    b.add("plane_spacing", &C::planeSpacing)
        .title("Plane spacing")
        .choices({"depth", "auto", "linear", "list"})
        .help(
            "How focal lengths are chosen: uniform in dioptres from depth_near to depth_far, the "
            "same over the scene's depths "
            "padded by 0.45 D, linear from focal_first to focal_last, or the list focal_lengths.");
    b.add("depth_near", &C::depthNear)
        .title("Nearest plane")
        .range(60, 100000)
        .unit("mm")
        .visibleIf("plane_spacing=depth")
        .help("Nearest plane.");
    b.add("depth_far", &C::depthFar)
        .title("Farthest plane")
        .range(60, 100000)
        .unit("mm")
        .visibleIf("plane_spacing=depth")
        .help("Farthest plane.");
    b.add("focal_first", &C::focalFirst)
        .title("First focal length")
        .range(5, 1000)
        .unit("mm")
        .visibleIf("plane_spacing=linear")
        .help("First focal length.");
    b.add("focal_last", &C::focalLast)
        .title("Last focal length")
        .range(5, 1000)
        .unit("mm")
        .visibleIf("plane_spacing=linear")
        .help("Last focal length.");
    b.add("focal_lengths", &C::focalLengths)
        .range(5, 1000)
        .count(0, 32)
        .unit("mm")
        .visibleIf("plane_spacing=list")
        .help("One focal length per plane.");
    b.add("mla_z", &C::mlaZ)
        .title("Lenslets z")
        .range(6, 400)
        .unit("mm")
        .help("Eye to the microlens array; beyond the tunable lens.");
    b.add("mla_pitch", &C::mlaPitch)
        .title("Lenslet pitch")
        .range(0.05, 2)
        .unit("mm")
        .help("Distance between lenslet centres.");
    b.add("mla_focal", &C::mlaFocal)
        .title("Lenslet focal length")
        .range(0.2, 20)
        .unit("mm")
        .help("Focal length of a lenslet.");
    b.add("mla_shape", &C::mlaShape)
        .title("Lenslet shape")
        .choices({"circle", "square"})
        .help("Circular lenslets pass π/4 of the light.");
    b.add("mla_count", &C::mlaCount)
        .title("Lenslets per side")
        .range(0, 1001)
        .help("Lenslets per side, odd; 0 is unlimited.");
    b.add("panel_gap", &C::panelGap)
        .title("Lenslet–panel gap")
        .range(0.1, 20)
        .unit("mm")
        .help("Microlens array to panel.");
    b.add("panel_size", &C::panelSize).range(2, 100).unit("mm").help("Side of the panel.");
    b.add("panel_res", &C::panelRes)
        .title("Panel resolution R")
        .range(16, 4096)
        .unit("px")
        .help("Texels per side of the panel.");
    b.add("headroom", &C::headroom)
        .title("Headroom H")
        .range(1, 32)
        .help("Sum of the plane weights: panel peak over target white. As many as planes "
              "reproduces a plain sum.");
    b.add("baffles", &C::baffles)
        .advanced()
        .help("Reject rays that cross into the field of a neighbouring lenslet.");
}

void addSolver(Builder& b)
{
    b.group("sampling");
    b.add("rays_per_pixel", &C::raysPerPixel)
        .title("Rays per pixel M")
        .range(1, 256)
        .help("Samples over the pupil and the pixel while optimising.");
    b.add("gt_rays", &C::gtRays)
        .title("Target rays")
        .range(0, 1024)
        .advanced()
        .help("Samples of the targets; 0 takes rays_per_pixel.");
    b.add("eval_rays", &C::evalRays)
        .title("Held-out rays")
        .range(16, 256)
        .help("Samples of the held-out evaluation; another pattern than training.");
    b.add("tile_rays", &C::tileRays)
        .title("Tile")
        .range(256, 1e6)
        .unit("rays")
        .advanced()
        .logarithmic()
        .help("Rays one piece of work covers; changes speed, never a result.");

    b.add("sampling", &C::sampling)
        .title("Texel sampling")
        .choices({"auto", "bilinear", "nearest_floor"})
        .advanced()
        .help("How a ray reads the panel. bilinear: blended from the four texels around it. "
              "nearest_floor: the one texel at or below its position, not blended. auto: bilinear "
              "in the physical profile, nearest_floor in the seed profile, which knows no other.");
    b.add("missing_policy", &C::missingPolicy)
        .title("Missing light")
        .choices({"auto", "absorb", "renormalise"})
        .advanced()
        .help("What becomes of rays that reach no texel. absorb: they are black. renormalise: on "
              "each plane a pixel is the mean of the rays that are left, as if no light were lost. "
              "auto: absorb in the physical profile, renormalise in the seed profile, which knows "
              "no other.");

    b.group("solver");
    b.add("solver", &C::solver)
        .choices({"pga", "adam", "adamw", "sirt", "os_sirt", "cg", "direct"})
        .help("pga: projected, majorised, accelerated gradient (default). direct: the analytic "
              "competitor, no optimisation.");
    b.add("iterations", &C::iterations).range(1, 10000).help("Iterations per board or scene.");
    b.add("learning_rate", &C::learningRate)
        .range(1e-4, 0.5)
        .logarithmic()
        .visibleIf("solver=adam|adamw")
        .help("Step of the Adam family.");
    b.add("weight_decay", &C::weightDecay)
        .range(0, 0.1)
        .visibleIf("solver=adamw")
        .help("Decoupled decay of AdamW.");
    b.add("subsets", &C::subsets)
        .range(1, 64)
        .visibleIf("solver=os_sirt")
        .help("Row subsets of one epoch.");
    b.add("tolerance", &C::tolerance)
        .range(0, 0.1)
        .advanced()
        .logarithmic()
        .help("Stop when the relative loss change stays below for 5 iterations; 0 never stops "
              "early.");
    b.add("init", &C::init)
        .title("Start from")
        .choices({"black", "mid_grey", "direct", "previous"})
        .help("Texels to start from.");
    b.add("coarse_iterations", &C::coarseIterations)
        .title("Coarse iterations")
        .range(0, 1000)
        .help("Iterations at half the panel and eye view resolution that come first, each at about "
              "a quarter of the cost; 0 starts at full size.");
    b.add("smoothness", &C::smoothness)
        .range(0, 1)
        .logarithmic()
        .help("Weight of the squared gradient of the panel images.");
    b.add("roi_weight", &C::roiWeight)
        .title("Weight of the scene")
        .range(0, 10)
        .help("Weight of pixels that see the scene.");
    b.add("bg_weight", &C::bgWeight)
        .title("Weight of the background")
        .range(0, 10)
        .help("Weight of all other pixels.");
    b.add("heldout_every", &C::heldoutEvery)
        .title("Held-out interval")
        .range(1, 10000)
        .advanced()
        .help("Iterations between held-out evaluations.");
}

void addOutput(Builder& b)
{
    b.group("output");
    b.add("output", &C::output)
        .choices({"minimal", "full"})
        .help("minimal: losses, planes, eye view, target. full: also eye views of every plane and "
              "the sweeps of focus and eye "
              "position.");
    b.add("gif_board", &C::gifBoard)
        .title("Focus sweep of board")
        .range(0, 500)
        .help("Board whose focus sweep is written in minimal output too; 0 for none.");
    b.add("raw_export", &C::rawExport)
        .title("Unencoded export")
        .advanced()
        .help("Write eye view, target and planes as value · 255 without sRGB encoding, as the "
              "original did.");
}

Builder builder()
{
    Builder b("light_field");
    addScene(b);
    addEye(b);
    addOptics(b);
    addSolver(b);
    addOutput(b);
    addRules(b);
    return b;
}

std::vector<double> chosenFocalLengths(const C& c, const Optics& optics, const Scene& scene)
{
    if (c.planeSpacing == "list")
        return c.focalLengths;
    if (c.planeSpacing == "linear")
        return focalLengthsLinear(c.planes, c.focalFirst, c.focalLast);
    double nearMm = c.depthNear, farMm = c.depthFar;
    if (c.planeSpacing == "auto") {
        constexpr double kPadding = 0.45; // dioptres on both sides of the visible depths
        const DepthRange range = scene.depthRange();
        nearMm = 1000.0 / (1000.0 / range.nearMm + kPadding);
        farMm = 1000.0 / std::max(1000.0 / range.farMm - kPadding, 1e-3);
    }
    return focalLengthsUniformInVergence(optics, c.planes, nearMm, farMm);
}

} // namespace

ConfigSchema lightFieldSchema()
{
    return builder().build();
}

LightFieldConfig readLightFieldConfig(const Config& config)
{
    return builder().read(config);
}

TexelSampling LightFieldConfig::texelSampling() const
{
    const bool floors = sampling == "auto" ? isSeedProfile() : sampling == "nearest_floor";
    return floors ? TexelSampling::NearestFloor : TexelSampling::Bilinear;
}

MissingPolicy LightFieldConfig::missing() const
{
    const bool divides = missingPolicy == "auto" ? isSeedProfile() : missingPolicy == "renormalise";
    return divides ? MissingPolicy::Renormalise : MissingPolicy::Absorb;
}

Optics opticsOf(const LightFieldConfig& c, const Scene& scene)
{
    Optics optics;
    optics.pupilDiameter = c.pupilDiameter;
    optics.retinaDistance = c.retinaDistance;
    optics.retinaSize = c.retinaSize;
    optics.renderResolution = c.renderRes;
    optics.tunableZ = c.tunableZ;
    optics.tunableAperture = c.tunableAperture;
    optics.lensletZ = c.mlaZ;
    optics.lensletPitch = c.mlaPitch;
    optics.lensletFocal = c.mlaFocal;
    optics.lensletShape = c.mlaShape == "square" ? LensletShape::Square : LensletShape::Circle;
    optics.lensletCount = c.mlaCount;
    optics.panelGap = c.panelGap;
    optics.panelSize = c.panelSize;
    optics.panelResolution = c.panelRes;
    optics.headroom = c.headroom;
    optics.baffles = c.baffles;
    optics.sampling = c.texelSampling();
    optics.missing = c.missing();
    optics.focalLengths = chosenFocalLengths(c, optics, scene);
    checkOptics(optics);
    return optics;
}

EyeStateSettings eyeStatesOf(const LightFieldConfig& c, const Scene& scene)
{
    EyeStateSettings settings;
    settings.accommodationCount = c.accCount;
    settings.accommodationNear = c.accNear;
    settings.accommodationFar = c.accFar;
    if (c.accRange == "auto") {
        const DepthRange range = scene.depthRange();
        settings.accommodationNear = std::min(1000.0 / range.nearMm, 15.0);
        settings.accommodationFar = 1000.0 / range.farMm;
    }
    settings.eyeCount = c.eyeCount;
    settings.eyeboxRadius = c.eyeboxRadius;
    return settings;
}

SolverSettings solverSettingsOf(const LightFieldConfig& c)
{
    SolverSettings settings;
    if (c.solver == "adam")
        settings.kind = SolverKind::Adam;
    else if (c.solver == "adamw")
        settings.kind = SolverKind::AdamW;
    else if (c.solver == "sirt")
        settings.kind = SolverKind::Sirt;
    else if (c.solver == "os_sirt")
        settings.kind = SolverKind::OsSirt;
    else if (c.solver == "cg")
        settings.kind = SolverKind::Cg;
    settings.iterations = c.iterations;
    settings.learningRate = c.learningRate;
    settings.weightDecay = c.weightDecay;
    settings.epsilon = c.isSeedProfile() ? 1e-8 : 1e-12;
    settings.smoothness = c.smoothness;
    settings.roiWeight = c.roiWeight;
    settings.backgroundWeight = c.bgWeight;
    settings.tolerance = c.tolerance;
    settings.subsets = c.subsets;
    return settings;
}

bool isSweepable(const std::string& key)
{
    const ConfigSchema schema = lightFieldSchema();
    const Field* field = schema.find(key);
    return field && (field->type == FieldType::Int || field->type == FieldType::Float);
}

bool isWhole(const std::string& key)
{
    const ConfigSchema schema = lightFieldSchema();
    const Field* field = schema.find(key);
    return field && field->type == FieldType::Int;
}

} // namespace vergence::light_field
