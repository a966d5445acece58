#include "plugins/sugar/sugar_config.h"

#include "plugins/sugar/config_groups.h"
#include "plugins/sugar/config_rules.h"

namespace vergence::sugar {

namespace {

using C = SugarConfig;
using Builder = SchemaBuilder<SugarConfig>;

void addPipeline(Builder& b)
{
    b.group("pipeline");
    b.add("goal", &C::goal)
        .title("Up to")
        .choices({"gaussians", "aligned", "mesh", "refined", "texture"})
        .help("How far the run goes: 3D Gaussians from photographs, Gaussians aligned with the "
              "surface, a mesh, Gaussians bound to its triangles, or a textured mesh.");
    b.add("plan", &C::plan)
        .choices({"as_set", "auto"})
        .help("auto: sizes of pictures, numbers of Gaussians, samples, points and triangles and "
              "lengths of training follow from the memory that is free on the device; what is set "
              "here for them is not used.");
    b.add("reuse_from", &C::reuseFrom)
        .title("Reuse from")
        .help("Folder of an earlier run. Its finished stages are taken over as long as everything "
              "they depend on is the same; the first stage that differs, and all after it, run "
              "again.");
}

void addData(Builder& b)
{
    b.group("data");
    b.add("scene", &C::scene)
        .title("Scene folder")
        .help("Folder with a COLMAP model (sparse/0) or a transforms.json. Empty: the built-in "
              "scene.");
    b.add("images", &C::images)
        .title("Photographs")
        .advanced()
        .help("Folder of the photographs, where it is not images beside the model.");
    b.add("damaged_lines", &C::damagedLines)
        .title("Damaged lines")
        .choices({"stop", "skip"})
        .advanced()
        .help("Lines of a COLMAP text that cannot be read. stop: the run does not begin. skip: the "
              "image or point of such a line is left out. Photographs that are missing are left "
              "out anyway.");
    b.add("masks", &C::masks)
        .choices({"auto", "alpha", "none"})
        .help("Which pixels count. auto: those that are bright in the masks of the scene, where it "
              "has any. alpha: of these, those that the photograph itself does not show as "
              "transparent. none: all; transparent ones show the background.");
    b.add("mask_folder", &C::maskFolder)
        .title("Mask folder")
        .advanced()
        .help("Folder of the masks (NAME.png for the photograph NAME), where it is not masks "
              "beside the photographs.");
    b.add("gaussians", &C::gaussians)
        .title("Start from")
        .help("Gaussians to start from instead of the scene's points: 3DGS PLY, SPZ or .splat.");
    b.add("image_scale", &C::imageScale)
        .title("Image scale")
        .range(1, 64)
        .help("The sides of the photographs are divided by this: 2 is half resolution.");
    b.add("max_width", &C::maxWidth)
        .title("Largest width")
        .range(0, 65535)
        .unit("px")
        .help("Wider photographs are scaled down to this; 0: no limit.");
    b.add("undistort_fit", &C::undistortFit)
        .title("Undistortion keeps")
        .choices({"inside", "all", "keepK"})
        .advanced()
        .help("inside: no blank pixels. all: the whole photograph, with a mask. keepK: focal "
              "length and centre as they are.");
    b.add("built_in_width", &C::builtInWidth)
        .range(32, 4096)
        .unit("px")
        .advanced()
        .visibleIf("scene=")
        .help("Width of the pictures of the built-in scene.");
    b.add("built_in_height", &C::builtInHeight)
        .range(32, 4096)
        .unit("px")
        .advanced()
        .visibleIf("scene=")
        .help("Height of the pictures of the built-in scene.");
    b.add("gloss", &C::gloss)
        .advanced()
        .visibleIf("scene=")
        .help("A highlight on the sphere of the built-in scene, so that colour depends on "
              "direction.");
    b.add("random_points", &C::randomPoints)
        .range(100, 10'000'000)
        .advanced()
        .help("Gaussians to start from where a scene has no points.");
    b.add("cache_megabytes", &C::cacheMegabytes)
        .range(0, 1'000'000)
        .unit("MB")
        .advanced()
        .help("Memory for decoded photographs; 0: half of what is free.");
}

void addEvaluation(Builder& b)
{
    b.group("evaluation");
    b.add("eval_split", &C::evalSplit)
        .title("Hold pictures out")
        .help("Keeps pictures for testing. Off: all are learnt from.");
    b.add("eval_rule", &C::evalRule)
        .title("Held-out pictures are")
        .choices({"each", "even"})
        .visibleIf("eval_split=true")
        .help("each: every n-th of the sorted names, where the scene does not say itself. even: a "
              "number of them, evenly spread over the names.");
    b.add("eval_count", &C::evalCount)
        .title("Pictures held out")
        .range(1, 10'000)
        .visibleIf("eval_rule=even")
        .help("even: so many pictures, as long as one is left to learn from.");
    b.add("eval_each", &C::evalEach)
        .title("Every n-th picture")
        .range(2, 1'000)
        .visibleIf("eval_rule=each")
        .help("Of the sorted names, every n-th is held out, where the scene does not say itself.");
    b.add("test_images", &C::testImages)
        .title("Held-out pictures")
        .help("Names of the pictures to hold out instead.");
    b.add("eval_every", &C::evalEvery)
        .title("Test every")
        .range(0, 1'000'000)
        .unit("steps")
        .help("Steps between tests on the held-out pictures; 0: only at the end.");
}

void addTraining(Builder& b)
{
    b.group("training");
    b.add("seed", &C::seed).help("Seed of everything random.").advanced();
    b.add("iterations", &C::iterations)
        .title("Steps")
        .range(0, 10'000'000)
        .help("Steps of training; one picture each. 0: only look at the start.");
    b.add("progressive", &C::progressive)
        .help("Learn from pictures of quarter size for the first 10 % of the steps and of half "
              "size until 30 %.");
    b.add("band_rows", &C::bandRows)
        .title("Rows of a band")
        .range(0, 65'536)
        .unit("px")
        .advanced()
        .help("Pictures are learnt from in bands of so many rows, which takes less memory and a "
              "little more time for the same result. 0: whole pictures where they fit into the "
              "memory that is free, else the largest bands that do. Alignment takes whole "
              "pictures.");
    b.add("sh_degree", &C::shDegree)
        .title("Harmonics")
        .range(0, 3)
        .help("Degree of the spherical harmonics: how colour may depend on direction.");
    b.add("sh_every", &C::shEvery)
        .range(0, 1'000'000)
        .unit("steps")
        .advanced()
        .help("Steps until another degree is used; 0: all from the start.");
    b.add("mip", &C::mip)
        .title("Mip filters")
        .help("3D smoothing and compensated 2D filter, so that splats keep their brightness at "
              "other distances. Off: classic dilation.");
    b.add("raster_radius", &C::rasterRadius)
        .title("Extent of splats")
        .choices({"exact", "3sigma"})
        .advanced()
        .help("exact: as far as a Gaussian changes a pixel by 1/255. 3sigma: cut off at tiles "
              "beyond three standard deviations, as the first implementations did.");
    b.add("background", &C::background)
        .choices({"auto", "black", "white", "grey", "random"})
        .help("Behind the Gaussians and transparent photographs. auto: the sky of the built-in "
              "scene, black behind photographs; random: another colour in every step.");
    b.add("near", &C::nearPlane)
        .title("Near plane")
        .range(0, 1e6)
        .advanced()
        .help("Gaussians nearer to the camera are left out, in world units; 0: 0.02 of the "
              "scene's extent, at most 0.2.");
    b.add("dssim", &C::dssim)
        .title("Weight of 1 − SSIM")
        .range(0, 1)
        .help("The loss is (1 − w)·L1 + w·(1 − SSIM).");
}

void addRates(Builder& b)
{
    b.group("optimiser");
    const auto rate = [&](const char* key, double C::*member, const char* help) {
        b.add(key, member).range(0, 10).logarithmic().advanced().help(help);
    };
    rate("rate_position", &C::ratePosition, "Learning rate of positions, times the extent.");
    rate("rate_position_final", &C::ratePositionFinal,
         "Learning rate of positions at the last step; log-linear in between.");
    rate("rate_sh_dc", &C::rateShDc, "Learning rate of the colour.");
    rate("rate_sh_rest", &C::rateShRest, "Learning rate of the higher harmonics.");
    rate("rate_opacity", &C::rateOpacity, "Learning rate of the opacity's logit.");
    rate("rate_scale", &C::rateScale, "Learning rate of the logarithm of the scales.");
    rate("rate_rotation", &C::rateRotation, "Learning rate of the quaternions.");
    b.add("adam_sparse", &C::adamSparse)
        .title("Sparse Adam")
        .choices({"auto", "on", "off"})
        .advanced()
        .help("Only Gaussians that the camera sees are updated. auto: above a million Gaussians.");
    b.add("adam_moments", &C::adamMoments)
        .title("Adam moments")
        .choices({"fp32", "compact"})
        .advanced()
        .help("How Adam's two moments of each number are kept while Gaussians are trained and "
              "aligned. fp32: in 32 bits, 708 bytes a Gaussian of degree 3. compact: in 16 and 8 "
              "bits, 427 bytes.");
}

void addDensification(Builder& b)
{
    b.group("density");
    b.add("densify", &C::densify)
        .title("Density control")
        .choices({"mcmc", "classic", "absolute", "combined", "none"})
        .help("mcmc: relocates dead Gaussians and grows to the cap. classic: clones and splits by "
              "mean gradients. absolute: by sums of absolute gradients. combined: by both.");
    b.add("densify_from", &C::densifyFrom).range(0, 10'000'000).unit("steps").help("First step.");
    b.add("densify_until", &C::densifyUntil).range(0, 10'000'000).unit("steps").help("Last step.");
    b.add("densify_every", &C::densifyEvery)
        .range(1, 1'000'000)
        .unit("steps")
        .help("Steps between two rounds.");
    b.add("densify_gradient", &C::densifyGradient)
        .range(1e-8, 1)
        .logarithmic()
        .advanced()
        .help("Mean gradient in normalised screen units above which a Gaussian is cloned or "
              "split.");
    b.add("densify_absolute", &C::densifyAbsolute)
        .range(1e-8, 1)
        .logarithmic()
        .advanced()
        .help("The same for sums of absolute gradients.");
    b.add("densify_percent", &C::densifyPercent)
        .range(0, 1)
        .advanced()
        .help("Gaussians larger than this share of the extent are split, smaller ones cloned.");
    b.add("prune_opacity", &C::pruneOpacity)
        .range(0, 1)
        .help("Gaussians below this opacity are dropped.");
    b.add("reset_every", &C::resetEvery)
        .range(0, 10'000'000)
        .unit("steps")
        .help("Steps between two resets of all opacities to 0.01 (not with mcmc); 0: never.");
    b.add("cap", &C::cap)
        .title("Most Gaussians")
        .range(100, 100'000'000)
        .help("There are never more Gaussians than this.");
    b.add("cap_mode", &C::capMode)
        .title("At the cap")
        .choices({"best", "bisect"})
        .advanced()
        .help("best: Gaussians of the highest gradients grow, others wait. bisect: faint ones make "
              "room first; the opacity to prune by is raised as far as needed, at most to 0.08. "
              "mcmc keeps to the cap by itself.");
    b.add("revised_opacity", &C::revisedOpacity)
        .advanced()
        .help("Children of a split get 1 − sqrt(1 − o), which keeps their joint coverage.");
}

void addOutput(Builder& b)
{
    b.group("output");
    b.add("milestones", &C::milestones)
        .range(1, 10'000'000)
        .count(0, 1'000)
        .help("Steps after which the Gaussians are also kept as a file.");
    b.add("formats", &C::formats).count(1, 3).help("Files of the Gaussians: ply, splat, spz.");
    b.add("bake_filter", &C::bakeFilter)
        .advanced()
        .help("Writes filtered scales and opacities into the PLY, for viewers that know no mip "
              "filter.");
    b.add("turntable_frames", &C::turntableFrames)
        .title("Turntable frames")
        .range(0, 3'600)
        .help("Frames of the turntable GIF and its pictures; 0: none.");
    b.add("turntable_size", &C::turntableSize)
        .range(64, 2'048)
        .unit("px")
        .help("Longer side of a turntable frame.");
}

Builder builder()
{
    Builder b("sugar");
    addPipeline(b);
    addData(b);
    addTraining(b);
    addDensification(b);
    addEvaluation(b);
    addRates(b);
    addAlignment(b);
    addSurface(b);
    addRefinement(b);
    addTexture(b);
    addOutput(b);
    addRules(b);
    return b;
}

} // namespace

ConfigSchema sugarSchema()
{
    return builder().build();
}

SugarConfig readSugarConfig(const Config& config)
{
    return builder().read(config);
}

} // namespace vergence::sugar
