#include "plugins/sugar/config_groups.h"

namespace vergence::sugar {

using C = SugarConfig;
using Builder = SchemaBuilder<SugarConfig>;

void addAlignment(Builder& b)
{
    b.group("alignment");
    b.add("align_steps", &C::alignSteps)
        .title("Steps")
        .range(0, 1'000'000)
        .help("Steps that align the Gaussians with the surface; 0: as they are.");
    b.add("align_mode", &C::alignMode)
        .title("Regulariser")
        .choices({"dn_consistency", "density", "sdf"})
        .help("density: of the Gaussians against that of flat ones. sdf: distances against "
              "rendered depth. dn_consistency: density, and rendered normals against those of "
              "the rendered depth.");
    b.add("entropy", &C::entropy)
        .range(0, 100)
        .help("Weight of the opacities' entropy, which drives them to 0 or 1 in the first part.");
    b.add("regularise_from", &C::regulariseFrom)
        .title("Regularise from")
        .range(0, 1'000'000)
        .unit("steps")
        .help("Step that ends the first part: faint Gaussians are pruned once and the "
              "regularisers begin.");
    b.add("align_prune", &C::alignPrune)
        .range(0, 0.99)
        .help("Gaussians below this opacity are dropped then.");
    b.add("regularise_ramp", &C::regulariseRamp)
        .range(0, 1'000'000)
        .unit("steps")
        .advanced()
        .help("Steps over which the regularisers grow to their weights.");
    b.add("samples", &C::samples)
        .range(0, 100'000'000)
        .help("Points a step at which the density is compared; 0: 250,000 on a GPU, 8,192 "
              "without.");
    b.add("regularise_every", &C::regulariseEvery)
        .range(1, 1'000)
        .unit("steps")
        .advanced()
        .help("Samples are drawn in every n-th step only, with n times the weight.");
    b.add("density_factor", &C::densityFactor)
        .range(0, 100)
        .help("Weight of the density or distance term.");
    b.add("normal_factor", &C::normalFactor)
        .range(0, 100)
        .help("Weight of the term that aligns normals with those of neighbours.");
    b.add("neighbours", &C::neighbours)
        .range(2, 32)
        .advanced()
        .help("Gaussians that make the density around one, itself included.");
    b.add("neighbours_every", &C::neighboursEvery)
        .range(1, 1'000'000)
        .unit("steps")
        .advanced()
        .help("Steps between two searches for neighbours.");
    b.add("depth_normal", &C::depthNormal)
        .range(0, 100)
        .visibleIf("align_mode=dn_consistency")
        .help("Weight of 1 − cos between rendered normals and those of the rendered depth.");
    b.add("depth_normal_mode", &C::depthNormalMode)
        .choices({"normalised", "original"})
        .advanced()
        .visibleIf("align_mode=dn_consistency")
        .help("original: depth is summed without division by coverage, normals have their third "
              "component from the other two, and every pixel counts, as in SuGaR's own code; for "
              "comparison.");
    b.add("depth_normal_half", &C::depthNormalHalf)
        .advanced()
        .visibleIf("align_mode=dn_consistency")
        .help("Evaluates that term at half resolution.");
    b.add("depth_normal_every", &C::depthNormalEvery)
        .range(1, 1'000)
        .unit("steps")
        .advanced()
        .visibleIf("align_mode=dn_consistency")
        .help("Evaluates that term in every n-th step, with n times the weight.");
    b.add("detach_samples", &C::detachSamples)
        .advanced()
        .help("Gradients do not flow through the places of the samples: cheaper, slightly "
              "different.");
    b.add("field_filter", &C::fieldFilter)
        .advanced()
        .help("The density sees the smoothed shapes of mip filters, as the renderer does.");
}

void addSurface(Builder& b)
{
    b.group("surface");
    b.add("surface_points", &C::surfacePoints)
        .title("Surface points")
        .range(1'000, 100'000'000)
        .help("Pixels of all pictures together whose rays are searched for the surface.");
    b.add("surface_level", &C::surfaceLevel)
        .title("Level")
        .range(0.01, 0.99)
        .help("Density at which a ray meets the surface.");
    b.add("surface_scale", &C::surfaceScale)
        .range(0.1, 1)
        .advanced()
        .help("Size of the depth pictures, as a share of the photographs'.");
    b.add("outlier_deviations", &C::outlierDeviations)
        .range(0.5, 1'000)
        .advanced()
        .help("Points whose distance to their 20 nearest is further above the mean than so many "
              "standard deviations are dropped.");
    b.add("box", &C::box)
        .title("Foreground box")
        .count(0, 6)
        .help("Smallest and largest x y z of the foreground in the scene's units; empty: a cube "
              "around the mean camera.");
    b.add("mesh_background", &C::meshBackground)
        .title("Background")
        .help("Also reconstructs what lies outside the foreground box, up to four times as far.");
    b.add("solver", &C::solver)
        .choices({"auto", "poisson", "tsdf", "density"})
        .help("poisson: screened Poisson of the surface points. tsdf: fusion of rendered depth. "
              "density: level set of the density. auto: poisson where its library is installed, "
              "else tsdf.");
    b.add("poisson_depth", &C::poissonDepth)
        .range(4, 12)
        .help("Depth of the octree: 2^depth cells a side at the finest.");
    b.add("grid_depth", &C::gridDepth)
        .range(4, 10)
        .help("tsdf and density: 2^depth cells across the foreground box.");
    b.add("mesh_quantile", &C::meshQuantile)
        .range(0, 0.9)
        .help("poisson: this share of the vertices, those farthest from any sample, is dropped.");
    b.add("mesh_parts", &C::meshParts)
        .title("Smallest part")
        .range(0, 0.9)
        .help("Connected parts with less than this share of the triangles are dropped.");
    b.add("mesh_holes", &C::meshHoles)
        .title("Close holes")
        .range(0, 1'000)
        .unit("edges")
        .help("Holes of at most so many edges are closed before the mesh is refined; 0: none.");
    b.add("triangles", &C::triangles)
        .range(100, 20'000'000)
        .help("The foreground is reduced to so many triangles.");
    b.add("triangles_background", &C::trianglesBackground)
        .range(0, 1)
        .advanced()
        .help("Triangles of the background, as a share of those of the foreground.");
}

void addRefinement(Builder& b)
{
    b.group("refinement");
    b.add("refine_steps", &C::refineSteps)
        .title("Steps")
        .range(0, 1'000'000)
        .help("Steps that refine mesh and Gaussians together: 2,000 short, 7,000 medium, 15,000 "
              "long; 0: the mesh stays as it is.");
    b.add("refine_per_triangle", &C::refinePerTriangle)
        .title("Gaussians a triangle")
        .range(1, 6)
        .help("1, 3, 4 or 6 Gaussians on every triangle.");
    b.add("refine_normal", &C::refineNormal)
        .range(0, 100)
        .help("Weight of 1 − cos between the normals of neighbouring triangles.");
    b.add("refine_fixed_opacity", &C::refineFixedOpacity)
        .advanced()
        .help("All bound Gaussians stay opaque.");
}

void addTexture(Builder& b)
{
    b.group("texture");
    b.add("texture_packing", &C::texturePacking)
        .title("Packing")
        .choices({"charts", "squares"})
        .help("charts: connected pieces keep their shape, as finely as the photographs show them; "
              "they stay clean from afar and can be painted by hand. squares: every two triangles "
              "share a square.");
    b.add("texture_side", &C::textureSide)
        .range(256, 16'384)
        .unit("px")
        .help("Largest side of a texture; where one is not enough, up to 16 are made.");
    b.add("texture_square", &C::textureSquare)
        .range(4, 64)
        .unit("px")
        .visibleIf("texture_packing=squares")
        .help("Side of the square that two triangles share in the texture.");
    b.add("texture_source", &C::textureSource)
        .choices({"diffuse", "render", "photo"})
        .help("Where colours come from: the refined Gaussians without highlights, with them, or "
              "the photographs.");
    b.add("texture_robust", &C::textureRobust)
        .advanced()
        .help("A second pass gives less weight to colours far from the mean.");
    b.add("trim_border", &C::trimBorder)
        .help("Removes triangles at open borders that hardly any Gaussian covers.");
    b.add("keep_largest", &C::keepLargest).help("Keeps the largest connected part only.");
    b.add("fill_holes", &C::fillHoles)
        .range(0, 10'000)
        .unit("edges")
        .help("Closes holes of at most so many edges.");
    b.add("smooth_rounds", &C::smoothRounds)
        .range(0, 1'000)
        .help("Rounds of smoothing that keeps the volume.");
}

} // namespace vergence::sugar
