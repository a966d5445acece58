#include "plugins/sugar/pipeline/texture_stage.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "plugins/sugar/compute/sh_math.h"
#include "plugins/sugar/io/mesh_glb.h"
#include "plugins/sugar/io/mesh_obj.h"
#include "plugins/sugar/pipeline/packing.h"
#include "plugins/sugar/pipeline/results.h"
#include "plugins/sugar/pipeline/surface_settings.h"
#include "plugins/sugar/refine/post_process.h"
#include "plugins/sugar/texture/chart_atlas.h"
#include "plugins/sugar/view/splat_mode.h"

namespace vergence::sugar {

namespace {

TextureAtlas atlasOf(const TriangleMesh& mesh, const SugarConfig& config)
{
    if (config.texturePacking == "charts") {
        const ChartAtlas charts = chartAtlas(mesh, {.largestSide = config.textureSide});
        log("sugar").info("{} charts cover {:.0f} % of the texture.", charts.charts,
                          100 * charts.covered);
        return charts.atlas;
    }
    const SquarePacking packing = squarePacking(mesh.faces(), config.textureSquare);
    if (packing.square < config.textureSquare)
        log("sugar").warn("Squares of {} px would make a texture above 16,384 px; they have {} px.",
                          config.textureSquare, packing.square);
    return squareAtlas(mesh, packing);
}

/// Mean colour of Gaussians without view dependence, 0 to 1.
std::array<float, 3> meanColour(const GaussianCloud& cloud)
{
    std::array<double, 3> sum{};
    for (std::size_t i = 0; i < cloud.shDc.size(); ++i)
        sum[i % 3] += cloud.shDc[i];
    std::array<float, 3> mean{};
    for (std::size_t c = 0; c < 3; ++c)
        mean[c] = static_cast<float>(
            std::clamp(0.5 + ShConstants<double>::c0 * sum[c] /
                                 static_cast<double>(std::max<Index>(1, cloud.count())),
                       0.0, 1.0));
    return mean;
}

Image rgbOf(const std::vector<std::uint8_t>& rgba, int width, int height)
{
    Image image = makeImage(width, height, 3);
    for (std::size_t i = 0; i < static_cast<std::size_t>(width) * height; ++i)
        std::copy_n(&rgba[4 * i], 3, &image.pixels[3 * i]);
    return image;
}

} // namespace

std::vector<std::string> TextureStage::keys() const
{
    return {"texture_packing", "texture_side", "texture_square", "texture_source", "texture_robust",
            "trim_border",     "keep_largest", "fill_holes",     "smooth_rounds"};
}

/// One to repair and pack, one per picture and sweep.
std::int64_t TextureStage::totalSteps(const Workspace& workspace) const
{
    const std::int64_t sweeps = workspace.config.textureRobust ? 2 : 1;
    return 1 + sweeps * static_cast<std::int64_t>(workspace.learnt().size());
}

bool TextureStage::start(RunContext& context, Workspace& workspace)
{
    const GaussianCloud& cloud = workspace.gaussians;
    m_gaussians = upload(context.stream(), context.device(), cloud, cloud.count(), cloud.degree);
    m_rasteriser = std::make_unique<Rasteriser>(context.device());
    m_pictures = workspace.learnt();
    m_total = totalSteps(workspace);
    m_done = m_replay = 0;
    return true;
}

bool TextureStage::isDone() const
{
    return m_total > 0 && m_done == m_total;
}

bool TextureStage::step(RunContext& context, Workspace& workspace)
{
    m_stream = &context.stream();
    m_replay = std::max(m_replay, m_done) + 1;
    // A resumed run paints again: what was gathered is not part of checkpoints.
    while (m_done < m_replay) {
        if (context.stopRequested()) {
            --m_replay;
            return false;
        }
        if (m_done == 0) {
            repair(workspace);
            beginBaking(workspace);
        } else {
            // A baker may need several passes over the pictures for a large texture.
            const auto units = static_cast<std::size_t>(m_total - 1);
            const std::size_t until = m_baker->steps() * static_cast<std::size_t>(m_done) / units;
            while (m_baker->stepsDone() < until)
                m_baker->step();
        }
        ++m_done;
    }
    return true;
}

void TextureStage::repair(const Workspace& workspace)
{
    const SugarConfig& config = workspace.config;
    m_mesh = workspace.mesh;
    if (config.trimBorder)
        m_mesh = withoutThinBorder(m_mesh, workspace.gaussians, kLeastScale * workspace.extent);
    if (config.keepLargest)
        m_mesh = withLargestComponent(m_mesh);
    if (config.fillHoles > 0)
        m_mesh = withFilledHoles(m_mesh, config.fillHoles);
    if (config.smoothRounds > 0)
        m_mesh = smoothed(m_mesh, config.smoothRounds);
    if (m_mesh.faces() == 0)
        throw InputError("No triangle is left after the repairs: switch trim_border or "
                         "keep_largest off.");
}

void TextureStage::beginBaking(const Workspace& workspace)
{
    const SugarConfig& config = workspace.config;
    BakeSettings settings;
    settings.extent = workspace.extent;
    settings.near = 0.02 * workspace.extent;
    settings.isRobust = config.textureRobust;
    settings.unseen = meanColour(workspace.gaussians);
    m_baker = std::make_unique<TextureBaker>(
        m_mesh, atlasOf(m_mesh, config), settings, m_pictures.size(),
        [this, &workspace](std::size_t number) { return view(workspace, number); });
}

BakeView TextureStage::view(const Workspace& workspace, std::size_t number)
{
    const std::size_t picture = m_pictures[number];
    const Camera& camera = workspace.pictures->source().cameras()[picture];
    if (workspace.config.textureSource == "photo") {
        const auto photograph = workspace.pictures->photograph(picture);
        if (!photograph) // left out: it saw nothing
            return {camera, makeImage(camera.width, camera.height, 3),
                    std::vector<std::uint8_t>(
                        static_cast<std::size_t>(camera.width) * camera.height, 0)};
        return {camera, photograph->image, photograph->mask};
    }
    RasterSettings settings = workspace.raster();
    if (workspace.config.textureSource == "diffuse")
        settings.shDegree = 0;
    const RasterImages& images = m_rasteriser->render(*m_stream, m_gaussians, camera, settings);
    return {camera, rgbOf(pixelsOf(*m_stream, images, camera, SplatMode::Colour), camera.width,
                          camera.height)};
}

void TextureStage::save(RunContext&, Checkpoint& checkpoint) const
{
    checkpoint.state["units"] = std::max(m_done, m_replay);
}

void TextureStage::load(RunContext& context, Workspace& workspace, const Checkpoint& checkpoint)
{
    m_replay = checkpoint.state.at("units").get<std::int64_t>();
    if (m_replay < m_total)
        return;
    // Everything was painted but not written: paint once more now.
    m_replay = m_total - 1;
    step(context, workspace);
}

void TextureStage::finish(RunContext&, Workspace& workspace)
{
    log("sugar").info("{:.1f} % of the texture was seen by a picture.", 100 * m_baker->seenShare());
    workspace.textured = m_baker->finish();
}

void TextureStage::writeResults(RunContext& context, const Workspace& workspace) const
{
    if (!isDone())
        return;
    TexturedMesh textured = workspace.textured;
    moveBack(textured.mesh, workspace.origin);
    const std::string title =
        fmt::format("{} triangles, texture of {} × {} px", textured.mesh.faces(),
                    textured.texture.width, textured.texture.height);
    ArtifactStore& artifacts = context.artifacts();
    writeObj(artifacts.pathFor("mesh/textured.obj"), textured);
    artifacts.add("mesh/textured.obj", "mesh", title);
    artifacts.add("mesh/textured.mtl", "material");
    artifacts.add("mesh/textured.png", "texture", "Texture");
    writeGlb(artifacts.pathFor("mesh/textured.glb"), textured, glbAxes(workspace));
    artifacts.add("mesh/textured.glb", "mesh", title);
}

void TextureStage::release()
{
    m_baker.reset();
    m_rasteriser.reset();
    m_gaussians = {};
    m_mesh = {};
}

std::vector<HostTensor> TextureStage::pack(const Workspace& workspace) const
{
    return packTextured(workspace.textured);
}

void TextureStage::unpack(Workspace& workspace, const SafetensorsFile& file) const
{
    workspace.textured = unpackTextured(file);
}

} // namespace vergence::sugar
