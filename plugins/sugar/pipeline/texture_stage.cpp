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
#include "plugins/sugar/pipeline/settings.h"
#include "plugins/sugar/pipeline/surface_settings.h"
#include "plugins/sugar/refine/post_process.h"
#include "plugins/sugar/texture/chart_atlas.h"
#include "plugins/sugar/texture/texel_density.h"
#include "plugins/sugar/view/splat_mode.h"

namespace vergence::sugar {

namespace {

constexpr int kMostTextures = 16;
constexpr double kTexelsPerPixel = 1.5; ///< along each side; with as many, painting would blur

/// `side` 0 where a stop came first.
TextureAtlas atlasOf(RunContext& context, const TriangleMesh& mesh, const Workspace& workspace)
{
    const SugarConfig& config = workspace.config;
    if (config.texturePacking == "charts") {
        ChartSettings settings;
        settings.largestSide = config.textureSide;
        settings.texelsPerUnit =
            kTexelsPerPixel * pictureDensity(mesh, workspace.learntCameras(),
                                             nearPlane(workspace.config, workspace.extent));
        settings.mostPages = settings.texelsPerUnit > 0 ? kMostTextures : 1;
        const ChartAtlas charts =
            chartAtlas(mesh, settings, [&] { return context.stopRequested(); });
        log("sugar").info("{} charts at {:.3g} texels a unit cover {:.0f} % of the texture.",
                          charts.charts, charts.texelsPerUnit, 100 * charts.covered);
        return charts.atlas;
    }
    const SquarePacking packing =
        squarePacking(mesh.faces(), config.textureSquare, config.textureSide, kMostTextures);
    if (packing.square < config.textureSquare)
        log("sugar").warn("Squares of {} px would need more than {} textures of {} px; they have "
                          "{} px.",
                          config.textureSquare, kMostTextures, config.textureSide, packing.square);
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
        if (!(m_done > 0 ? paint(context, workspace, m_done) : pack(context, workspace))) {
            --m_replay;
            return false;
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

/// False where a stop came first.
bool TextureStage::pack(RunContext& context, const Workspace& workspace)
{
    repair(workspace);
    m_atlas = atlasOf(context, m_mesh, workspace);
    if (context.stopRequested())
        return false;
    m_pages.clear();
    m_seenShare = 0;
    beginPage(workspace);
    return true;
}

void TextureStage::beginPage(const Workspace& workspace)
{
    BakeSettings settings;
    settings.extent = workspace.extent;
    settings.near = nearPlane(workspace.config, workspace.extent);
    settings.isRobust = workspace.config.textureRobust;
    settings.unseen = meanColour(workspace.gaussians);
    m_baker = std::make_unique<TextureBaker>(
        m_mesh, pageOf(m_atlas, static_cast<int>(m_pages.size())), settings, m_pictures.size(),
        [this, &workspace](std::size_t number) { return view(workspace, number); });
}

/// As much as belongs to the unit: a texture may need several passes over the pictures. False where
/// a stop came first; nothing more can be painted then.
bool TextureStage::paint(RunContext& context, const Workspace& workspace, std::int64_t unit)
{
    m_rasteriser->setStop([&] { return context.stopRequested(); });

    const auto units = static_cast<std::size_t>(m_total - 1);
    const std::size_t onPage = m_baker->steps(), pages = static_cast<std::size_t>(m_atlas.pages);
    const std::size_t until = onPage * pages * static_cast<std::size_t>(unit) / units;
    while (m_pages.size() * onPage + m_baker->stepsDone() < until) {
        if (context.stopRequested())
            break;
        m_baker->step();
        if (!m_baker->isDone())
            continue;
        m_seenShare += m_baker->seenShare();
        m_pages.push_back(std::move(m_baker->finish().pages.front()));
        if (m_pages.size() == pages)
            break;
        beginPage(workspace);
    }
    m_rasteriser->setStop({});
    return !context.stopRequested();
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
    log("sugar").info("{:.1f} % of the texture was seen by a picture.",
                      100 * m_seenShare / static_cast<double>(m_pages.size()));
    workspace.textured = {std::move(m_mesh), std::move(m_atlas.uv), std::move(m_pages),
                          std::move(m_atlas.page)};
}

void TextureStage::writeResults(RunContext& context, const Workspace& workspace) const
{
    const auto isStopped = [&] { return context.stopRequested(); };
    if (workspace.textured.mesh.faces() == 0 || isStopped())
        return;
    TexturedMesh textured = workspace.textured;
    moveBack(textured.mesh, workspace.origin);
    const Image& first = textured.pages.front();
    const std::string size = fmt::format("{} × {} px", first.width, first.height);
    const std::size_t pages = textured.pages.size();
    const std::string title = fmt::format(
        "{} triangles, {}", textured.mesh.faces(),
        pages == 1 ? "texture of " + size : fmt::format("{} textures of {}", pages, size));
    ArtifactStore& artifacts = context.artifacts();
    const MeshAxes axes = meshAxes(workspace);
    writeObj(artifacts.pathFor("mesh/textured.obj"), textured, axes, isStopped);
    if (isStopped())
        return;
    artifacts.add("mesh/textured.obj", "mesh", title);
    artifacts.add("mesh/textured.mtl", "material");
    for (std::size_t i = 0; i < pages; ++i)
        artifacts.add(i == 0 ? "mesh/textured.png" : fmt::format("mesh/textured-{}.png", i + 1),
                      "texture", "Texture");
    writeGlb(artifacts.pathFor("mesh/textured.glb"), textured, axes, isStopped);
    if (isStopped())
        return;
    artifacts.add("mesh/textured.glb", "mesh", title);
}

void TextureStage::release()
{
    m_baker.reset();
    m_rasteriser.reset();
    m_gaussians = {};
    m_mesh = {};
    m_atlas = {};
    m_pages.clear();
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
