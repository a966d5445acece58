#include "plugins/sugar/texture/baking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <tbb/parallel_for.h>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/texture/texel_fill.h"
#include "plugins/sugar/texture/texel_owners.h"
#include "plugins/sugar/texture/texel_view.h"

namespace vergence::sugar {

namespace {

constexpr double kDepthExtent = 1e-4;      ///< of the extent, for depths that differ
constexpr std::size_t kBytesPerTexel = 40; ///< owner twice, sums, mean

/// Σ w c and Σ w of a texel.
using Sum = std::array<float, 4>;

} // namespace

struct TextureBaker::Impl {
    const TriangleMesh& mesh;
    TextureAtlas atlas;
    BakeSettings settings;
    std::size_t views;
    std::function<BakeView(std::size_t)> view;

    int rows; ///< of a part
    std::size_t parts, done = 0;
    std::optional<TexelOwners> owners;
    std::vector<Sum> sums, means; ///< of the part
    FilledTexture result;

    Impl(const TriangleMesh& ofMesh, TextureAtlas ofAtlas, BakeSettings given, std::size_t count,
         std::function<BakeView(std::size_t)> source)
        : mesh(ofMesh),
          atlas(std::move(ofAtlas)),
          settings(given),
          views(count),
          view(std::move(source)),
          result(atlas.side, mesh.faces())
    {
        const std::size_t row = kBytesPerTexel * static_cast<std::size_t>(atlas.side);
        rows = static_cast<int>(std::clamp<std::size_t>(settings.budgetBytes / row, 1,
                                                        static_cast<std::size_t>(atlas.side)));
        parts = static_cast<std::size_t>((atlas.side + rows - 1) / rows);
    }

    std::size_t sweeps() const { return settings.isRobust ? 2 : 1; }
    int firstRow(std::size_t part) const { return static_cast<int>(part) * rows; }
    int lastRow(std::size_t part) const { return std::min(firstRow(part) + rows, atlas.side); }

    void step();
    void beginPart(std::size_t part);
    void endSweep(std::size_t sweep);
    void gather(const BakeView& from);
    void gatherFace(std::size_t i, const BakeView& from, const DepthTest& test);
    double weightOf(const Point3& t, double distance, const Camera& camera, double u,
                    double v) const;
    void addColour(std::size_t at, double weight, const std::array<float, 3>& colour);
    void storePart();
};

void TextureBaker::Impl::step()
{
    const std::size_t perPart = views * sweeps(), part = done / perPart, inPart = done % perPart;
    if (inPart == 0)
        beginPart(part);
    gather(view(inPart % views));
    ++done;
    if ((inPart + 1) % views == 0)
        endSweep(inPart / views);
}

void TextureBaker::Impl::beginPart(std::size_t part)
{
    owners.emplace(atlas, firstRow(part), lastRow(part));
    sums.assign(owners->face.size(), {});
    means.clear();
}

void TextureBaker::Impl::endSweep(std::size_t sweep)
{
    if (sweep + 1 < sweeps()) {
        means = sums;
        for (Sum& mean : means) {
            for (std::size_t k = 0; k < 3; ++k)
                mean[k] = mean[3] > 0 ? mean[k] / mean[3] : 0;
        }
        sums.assign(sums.size(), {});
        return;
    }
    storePart();
}

void TextureBaker::Impl::gather(const BakeView& from)
{
    expects(from.image.channels == 3 && from.image.width == from.camera.width &&
                from.image.height == from.camera.height,
            "TextureBaker: a view needs an RGB picture of its camera's size");
    expects(from.mask.empty() || 3 * from.mask.size() == from.image.pixels.size(),
            "TextureBaker: a mask needs the size of its picture");
    const std::vector<float> depth = meshDepth(mesh, from.camera, settings.near);
    const DepthTest test{depth, from.camera, kDepthExtent * settings.extent};
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, owners->faces.size(), 256),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                          for (std::size_t i = range.begin(); i < range.end(); ++i)
                              gatherFace(i, from, test);
                      });
}

void TextureBaker::Impl::gatherFace(std::size_t i, const BakeView& from, const DepthTest& test)
{
    const std::uint32_t f = owners->faces[i];
    const Camera& camera = from.camera;
    const TexelTriangle triangle(atlas, f);
    const TexelPlane plane(mesh, f, triangle, camera);
    if (!(plane.distance > 0))
        return;
    owners->eachTexelOf(i, [&](int row, int column) {
        const Point3 t = plane.at(row, column);
        if (t.z < settings.near)
            return;
        const double u = camera.fx * t.x / t.z + camera.cx, v = camera.fy * t.y / t.z + camera.cy;
        if (!(u >= 0 && v >= 0 && u < camera.width && v < camera.height))
            return;
        const Footprint read(camera, u, v);
        if (test.isHidden(plane, read))
            return;
        if (!from.mask.empty() && isMasked(from.mask, camera.width, read))
            return;
        // Beside its triangle the plane may stand out of the surface and show what is behind.
        if (test.standsOut(plane, static_cast<int>(v), static_cast<int>(u)) &&
            !triangle.meets(column + 0.5, row + 0.5, 0))
            return;
        addColour(owners->at(row, column), weightOf(t, plane.distance, camera, u, v),
                  colourAt(from.image, read));
    });
}

double TextureBaker::Impl::weightOf(const Point3& t, double distance, const Camera& camera,
                                    double u, double v) const
{
    const double border = std::min({u, v, camera.width - u, camera.height - v});
    const double fade = settings.fade > 0 ? std::min(1.0, border / settings.fade) : 1;
    return fade * distance * distance / (dot(t, t) * t.z * t.z);
}

void TextureBaker::Impl::addColour(std::size_t at, double weight,
                                   const std::array<float, 3>& colour)
{
    if (!means.empty()) {
        double square = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            const auto error = static_cast<double>(colour[k] - means[at][k]);
            square += error * error;
        }
        weight *= std::exp(-square / (2 * settings.colourSigma * settings.colourSigma));
    }
    for (std::size_t k = 0; k < 3; ++k)
        sums[at][k] += static_cast<float>(weight) * colour[k];
    sums[at][3] += static_cast<float>(weight);
}

void TextureBaker::Impl::storePart()
{
    constexpr float kTrusted = 1e-6F; ///< of the first sweep's weight; below, no view agrees
    for (int row = owners->begin; row < owners->end; ++row) {
        for (int column = 0; column < owners->side; ++column) {
            const std::size_t at = owners->at(row, column);
            if (owners->face[at] == kNoFace)
                continue;
            const Sum& sum = sums[at];
            const bool isTrusted = means.empty() ? sum[3] > 0 : sum[3] > kTrusted * means[at][3];
            if (isTrusted)
                result.see(row, column, owners->face[at],
                           {sum[0] / sum[3], sum[1] / sum[3], sum[2] / sum[3]});
            else if (!means.empty() && means[at][3] > 0)
                result.see(row, column, owners->face[at],
                           {means[at][0], means[at][1], means[at][2]});
            else
                result.miss(row, column);
        }
    }
}

TextureBaker::TextureBaker(const TriangleMesh& mesh, TextureAtlas atlas, BakeSettings settings,
                           std::size_t views, std::function<BakeView(std::size_t)> view)
{
    expectSound(mesh);
    expects(mesh.faces() > 0 && atlas.side > 0 &&
                static_cast<Index>(atlas.uv.size()) == 6 * mesh.faces(),
            "TextureBaker: the atlas belongs to another mesh");
    expects(atlas.pages == 1, "TextureBaker: pages are painted one at a time");
    expects(views > 0, "TextureBaker: there is no view to take colours from");
    m_impl = std::make_unique<Impl>(mesh, std::move(atlas), settings, views, std::move(view));
}

TextureBaker::~TextureBaker() = default;
TextureBaker::TextureBaker(TextureBaker&&) noexcept = default;
TextureBaker& TextureBaker::operator=(TextureBaker&&) noexcept = default;

std::size_t TextureBaker::stepsDone() const
{
    return m_impl->done;
}

std::size_t TextureBaker::steps() const
{
    return m_impl->views * m_impl->sweeps() * m_impl->parts;
}

void TextureBaker::step()
{
    expects(!isDone(), "TextureBaker: all views were gathered from");
    m_impl->step();
}

double TextureBaker::seenShare() const
{
    return m_impl->result.seenShare();
}

TexturedMesh TextureBaker::finish()
{
    expects(isDone(), "TextureBaker: there are views left to gather from");
    Impl& own = *m_impl;
    own.sums = {};
    own.means = {};
    own.result.colourUnseenFaces(own.mesh, own.settings.unseen);
    for (std::size_t part = 0; part < own.parts; ++part) {
        if (own.parts > 1)
            own.owners.emplace(own.atlas, own.firstRow(part), own.lastRow(part));
        own.result.fillFaces(*own.owners, own.settings.dilation);
    }
    own.owners.reset();
    own.result.dilate(own.settings.dilation);
    own.result.fillRest();
    std::vector<Image> pages;
    pages.push_back(std::move(own.result.image));
    return {own.mesh, std::move(own.atlas.uv), std::move(pages), {}};
}

} // namespace vergence::sugar
