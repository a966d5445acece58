#include "plugins/sugar/texture/baking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <tbb/parallel_for.h>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_vector.h"
#include "plugins/sugar/texture/depth_buffer.h"
#include "plugins/sugar/texture/texel_fill.h"
#include "plugins/sugar/texture/texel_owners.h"

namespace vergence::sugar {

namespace {

constexpr double kDepthShare = 0.005, kDepthExtent = 1e-4;
constexpr std::size_t kBytesPerTexel = 40; ///< owner twice, sums, mean

/// Σ w c and Σ w of a texel.
using Sum = std::array<float, 4>;

Point3 turned(const Camera& camera, const Point3& p)
{
    const auto& r = camera.rotation;
    return {r[0] * p.x + r[1] * p.y + r[2] * p.z, r[3] * p.x + r[4] * p.y + r[5] * p.z,
            r[6] * p.x + r[7] * p.y + r[8] * p.z};
}

/// Texel centres of a triangle as a camera has them: t = origin + column · alongX + row · alongY.
struct TexelPlane {
    Point3 origin, alongX, alongY, normal;
    double distance; ///< ⟨n, c − p⟩ of the camera's centre, above 0 where the front is seen

    TexelPlane(const TriangleMesh& mesh, std::size_t f, const TexelTriangle& triangle,
               const Camera& camera)
    {
        const Point3 d{camera.translation[0], camera.translation[1], camera.translation[2]};
        Point3 corner[3];
        for (std::size_t k = 0; k < 3; ++k)
            corner[k] = turned(camera, vertexOf(mesh, mesh.triangle[3 * f + k])) + d;
        const Point3 side1 = corner[1] - corner[0], side2 = corner[2] - corner[0];
        const double x1 = triangle.x[1] - triangle.x[0], y1 = triangle.y[1] - triangle.y[0],
                     x2 = triangle.x[2] - triangle.x[0], y2 = triangle.y[2] - triangle.y[0];
        const double inverse = 1 / triangle.area;
        alongX = inverse * (y2 * side1 - y1 * side2);
        alongY = inverse * (x1 * side2 - x2 * side1);
        origin = corner[0] + (0.5 - triangle.x[0]) * alongX + (0.5 - triangle.y[0]) * alongY;
        normal = unit(cross(side1, side2));
        distance = -dot(normal, corner[0]);
    }

    Point3 at(int row, int column) const
    {
        return origin + static_cast<double>(column) * alongX + static_cast<double>(row) * alongY;
    }
    /// Camera z of the plane at the centre of a pixel; infinite where the pixel looks past it.
    double depthAt(const Camera& camera, int row, int column) const
    {
        const Point3 ray{(column + 0.5 - camera.cx) / camera.fx,
                         (row + 0.5 - camera.cy) / camera.fy, 1};
        const double towards = -dot(normal, ray);
        return towards > 0 ? distance / towards : std::numeric_limits<double>::infinity();
    }
};

/// The four pixels that a bilinear lookup reads, and how much of the further ones.
struct Footprint {
    int left, right, top, bottom;
    float toRight, toBottom;

    Footprint(const Camera& camera, double u, double v)
    {
        const double x = std::clamp(u - 0.5, 0.0, camera.width - 1.0),
                     y = std::clamp(v - 0.5, 0.0, camera.height - 1.0);
        left = static_cast<int>(x);
        top = static_cast<int>(y);
        right = std::min(left + 1, camera.width - 1);
        bottom = std::min(top + 1, camera.height - 1);
        toRight = static_cast<float>(x - left);
        toBottom = static_cast<float>(y - top);
    }
};

/// Colour 0 to 1.
std::array<float, 3> colourAt(const Image& image, const Footprint& at)
{
    const float a = at.toRight, b = at.toBottom;
    const std::uint8_t *upper = image.row(at.top), *lower = image.row(at.bottom);
    std::array<float, 3> colour{};
    for (int k = 0; k < 3; ++k) {
        const float above = (1 - a) * upper[3 * at.left + k] + a * upper[3 * at.right + k],
                    below = (1 - a) * lower[3 * at.left + k] + a * lower[3 * at.right + k];
        colour[static_cast<std::size_t>(k)] = ((1 - b) * above + b * below) / 255;
    }
    return colour;
}

/// Depth of the mesh in a view, against which triangles are held. A triangle is compared where
/// the pixels are, in its own plane, so that slanted ones lose nothing to the size of pixels.
struct DepthTest {
    const std::vector<float>& depth;
    const Camera& camera;
    double spareExtent;

    double spare(double z) const { return kDepthShare * z + spareExtent; }
    double at(int row, int column) const
    {
        return static_cast<double>(
            depth[static_cast<std::size_t>(row) * static_cast<std::size_t>(camera.width) +
                  static_cast<std::size_t>(column)]);
    }
    /// Whether something lies before the plane in a pixel that the lookup reads.
    bool isHidden(const TexelPlane& plane, const Footprint& read) const
    {
        for (const int row : {read.top, read.bottom}) {
            for (const int column : {read.left, read.right}) {
                const double nearest = at(row, column);
                if (plane.depthAt(camera, row, column) > nearest + spare(nearest))
                    return true;
            }
        }
        return false;
    }
    /// Whether the plane stands out of the surface that the pixel sees.
    bool standsOut(const TexelPlane& plane, int row, int column) const
    {
        const double z = plane.depthAt(camera, row, column);
        return z + spare(z) < at(row, column);
    }
};

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
    return {own.mesh, std::move(own.atlas.uv), std::move(own.result.image)};
}

} // namespace vergence::sugar
