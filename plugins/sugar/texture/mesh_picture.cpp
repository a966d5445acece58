#include "plugins/sugar/texture/mesh_picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <tbb/parallel_for.h>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/texture/depth_buffer.h"

namespace vergence::sugar {

namespace {

using Colour = std::array<float, 3>; ///< 0 to 255

constexpr float kGrey = 205;

/// Weights of a triangle's corners where a ray through the camera's centre meets its plane.
std::array<double, 3> weightsAt(const TriangleMesh& mesh, std::uint32_t f, const Camera& camera,
                                int row, int column)
{
    const Point3 ray{(column + 0.5 - camera.cx) / camera.fx, (row + 0.5 - camera.cy) / camera.fy,
                     1};
    std::array<Point3, 3> corner;
    for (std::size_t k = 0; k < 3; ++k)
        corner[k] = seenFrom(camera, vertexOf(mesh, mesh.triangle[3 * std::size_t{f} + k]));
    // Volumes of the tetrahedra between the ray and two corners.
    std::array<double, 3> weights{};
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) {
        weights[k] = dot(ray, cross(corner[(k + 1) % 3], corner[(k + 2) % 3]));
        sum += weights[k];
    }
    for (double& weight : weights)
        weight = sum != 0 ? weight / sum : 1.0 / 3;
    return weights;
}

Colour textureAt(const Image& image, double u, double v)
{
    const double x = std::clamp(u * image.width - 0.5, 0.0, image.width - 1.0),
                 y = std::clamp((1 - v) * image.height - 0.5, 0.0, image.height - 1.0);
    const int left = static_cast<int>(x), top = static_cast<int>(y),
              right = std::min(left + 1, image.width - 1),
              bottom = std::min(top + 1, image.height - 1);
    const auto a = static_cast<float>(x - left), b = static_cast<float>(y - top);
    Colour colour{};
    for (int k = 0; k < 3; ++k) {
        const auto pixel = [&](int row, int column) {
            return static_cast<float>(image.row(row)[image.channels * column + k]);
        };
        const float upper = (1 - a) * pixel(top, left) + a * pixel(top, right),
                    lower = (1 - a) * pixel(bottom, left) + a * pixel(bottom, right);
        colour[static_cast<std::size_t>(k)] = (1 - b) * upper + b * lower;
    }
    return colour;
}

Colour colourOf(const TexturedMesh& textured, std::uint32_t f, const std::array<double, 3>& weights)
{
    const TriangleMesh& mesh = textured.mesh;
    if (!textured.pages.empty() && !textured.uv.empty()) {
        double u = 0, v = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            u += weights[k] * static_cast<double>(textured.uv[6 * std::size_t{f} + 2 * k]);
            v += weights[k] * static_cast<double>(textured.uv[6 * std::size_t{f} + 2 * k + 1]);
        }
        return textureAt(textured.pages[textured.pageOf(f)], u, v);
    }
    if (mesh.colour.empty())
        return {kGrey, kGrey, kGrey};
    Colour colour{};
    for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t row = mesh.triangle[3 * std::size_t{f} + k];
        for (std::size_t c = 0; c < 3; ++c)
            colour[c] += static_cast<float>(weights[k]) * mesh.colour[3 * row + c];
    }
    return colour;
}

Camera magnified(Camera camera, int factor)
{
    camera.width *= factor;
    camera.height *= factor;
    for (double* value : {&camera.fx, &camera.fy, &camera.cx, &camera.cy})
        *value *= factor;
    return camera;
}

std::uint8_t rounded(float value)
{
    return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0F, 255.0F)));
}

} // namespace

Image meshPicture(const TexturedMesh& textured, const Camera& camera, double near, int samples)
{
    expectSound(textured.mesh);
    expects(samples >= 1 && samples <= 8, "meshPicture: 1 to 8 samples each way are possible");
    const Camera fine = magnified(camera, samples);
    const MeshHits hits = meshHits(textured.mesh, fine, near);
    Image result = makeImage(camera.width, camera.height, 4);
    tbb::parallel_for(0, camera.height, [&](int row) {
        for (int column = 0; column < camera.width; ++column) {
            Colour sum{};
            int met = 0;
            for (int y = samples * row; y < samples * (row + 1); ++y) {
                for (int x = samples * column; x < samples * (column + 1); ++x) {
                    const std::uint32_t f = hits.face[static_cast<std::size_t>(y) *
                                                          static_cast<std::size_t>(fine.width) +
                                                      static_cast<std::size_t>(x)];
                    if (f == kNoFace)
                        continue;
                    const Colour colour =
                        colourOf(textured, f, weightsAt(textured.mesh, f, fine, y, x));
                    for (std::size_t k = 0; k < 3; ++k)
                        sum[k] += colour[k];
                    ++met;
                }
            }
            std::uint8_t* pixel = result.row(row) + 4 * column;
            for (std::size_t k = 0; k < 3 && met > 0; ++k)
                pixel[k] = rounded(sum[k] / static_cast<float>(met));
            pixel[3] =
                rounded(255.0F * static_cast<float>(met) / static_cast<float>(samples * samples));
        }
    });
    return result;
}

Image onBackground(const Image& above, const std::array<std::uint8_t, 3>& background)
{
    expects(above.channels == 4, "onBackground: a picture with alpha is needed");
    Image result = makeImage(above.width, above.height, 3);
    for (std::size_t i = 0; i < result.pixels.size() / 3; ++i) {
        const float alpha = above.pixels[4 * i + 3] / 255.0F;
        for (std::size_t k = 0; k < 3; ++k)
            result.pixels[3 * i + k] =
                rounded(alpha * above.pixels[4 * i + k] + (1 - alpha) * background[k]);
    }
    return result;
}

} // namespace vergence::sugar
