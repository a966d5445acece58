#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/view/frame.h"
#include "core/view/view_input.h"

namespace vergence::test {

/// Stands in for a lab that draws a scene of splats: three spheres on a chequered floor, seen by
/// the camera of the ViewInput, with the meta that such frames carry. World: z up.
class SmallScene {
public:
    using Matrix = std::array<double, 16>; ///< column-major viewToWorld; x right, y down, z forward

    /// From eye (0, -4, 1), a little downwards to the target (0, 0, 0.5).
    SmallScene() { lookFrom({0, -4, 1}); }

    Matrix camera{};
    double focal = 1.2; ///< heights of the picture
    std::array<double, 3> target{0, 0, 0.5};
    int width = 320, height = 240;
    bool isPreview = false;
    std::optional<int> jump;

    void lookFrom(const std::array<double, 3>& eye);
    void take(const ViewInput& input);
    Frame draw(const std::string& stream) const;

private:
    std::array<int, 3> colourAt(double x, double y) const;
    int m_fits = 0, m_focuses = 0;
};

inline void SmallScene::lookFrom(const std::array<double, 3>& eye)
{
    double f[3], length = 0;
    for (int i = 0; i < 3; ++i) {
        f[i] = target[i] - eye[i];
        length += f[i] * f[i];
    }
    for (double& part : f)
        part /= std::sqrt(length);
    const double flat = std::hypot(f[0], f[1]);
    const double right[3] = {f[1] / flat, -f[0] / flat, 0};
    const double down[3] = {f[1] * right[2] - f[2] * right[1], f[2] * right[0] - f[0] * right[2],
                            f[0] * right[1] - f[1] * right[0]};
    camera = {right[0], right[1], right[2], 0, down[0], down[1], down[2], 0,
              f[0],     f[1],     f[2],     0, eye[0],  eye[1],  eye[2],  1};
}

inline void SmallScene::take(const ViewInput& input)
{
    const auto values = [&](const char* id, std::size_t least) -> const std::vector<double>* {
        const auto found = input.values.find(id);
        return found != input.values.end() && found->second.size() >= least ? &found->second
                                                                            : nullptr;
    };
    if (const auto* matrix = values("camera", 16))
        std::copy(matrix->begin(), matrix->end(), camera.begin());
    focal = input.scalar("focal").value_or(focal);
    isPreview = input.scalar("moving").value_or(0) != 0;
    if (const auto* size = values("viewport", 2)) {
        const int divisor = isPreview ? 4 : 1;
        width = std::max(1, static_cast<int>((*size)[0]) / divisor);
        height = std::max(1, static_cast<int>((*size)[1]) / divisor);
    }
    const int fits = static_cast<int>(input.scalar("fit").value_or(0));
    const auto* focus = values("focus", 2);
    const int focuses = focus == nullptr ? 0 : static_cast<int>(focus->back());
    if (fits != m_fits) {
        target = {0, 0, 0.5};
        lookFrom({0, -8, 3});
        jump = jump.value_or(0) + 1;
    } else if (focus != nullptr && focuses != m_focuses) {
        target = {1, 0, 0.5};
        lookFrom({camera[12], camera[13], camera[14]});
        jump = jump.value_or(0) + 1;
    }
    m_fits = fits;
    m_focuses = focuses;
}

/// Nearest of spheres and floor along the ray of a pixel.
inline std::array<int, 3> SmallScene::colourAt(double x, double y) const
{
    struct Sphere {
        std::array<double, 3> centre;
        double radius;
        std::array<int, 3> colour;
    };
    static const Sphere spheres[] = {{{0, 0, 0.5}, 0.5, {214, 84, 60}},
                                     {{1.3, 0.4, 0.35}, 0.35, {70, 130, 214}},
                                     {{-1.2, 0.9, 0.6}, 0.6, {90, 176, 104}}};
    const double u = (x + 0.5 - width / 2.0) / (focal * height);
    const double v = (y + 0.5 - height / 2.0) / (focal * height);
    double d[3], nearest = 1e30;
    for (int i = 0; i < 3; ++i)
        d[i] = u * camera[i] + v * camera[4 + i] + camera[8 + i];
    const double* eye = camera.data() + 12;
    std::array<int, 3> colour{150, 180, 206};
    if (const double t = -eye[2] / d[2]; d[2] < 0 && t < 60) {
        const auto cell =
            static_cast<int>(std::floor(eye[0] + t * d[0]) + std::floor(eye[1] + t * d[1]));
        nearest = t;
        colour =
            cell % 2 == 0 ? std::array<int, 3>{205, 203, 196} : std::array<int, 3>{120, 118, 112};
    }
    const double a = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    for (const Sphere& sphere : spheres) {
        double b = 0, c = -sphere.radius * sphere.radius;
        for (int i = 0; i < 3; ++i) {
            b += d[i] * (eye[i] - sphere.centre[i]);
            c += (eye[i] - sphere.centre[i]) * (eye[i] - sphere.centre[i]);
        }
        const double root = b * b - a * c;
        const double t = root < 0 ? -1 : (-b - std::sqrt(root)) / a;
        if (t <= 0 || t >= nearest)
            continue;
        nearest = t;
        const double light = 0.45 + 0.55 * (eye[2] + t * d[2] - sphere.centre[2] + sphere.radius) /
                                        (2 * sphere.radius);
        for (int i = 0; i < 3; ++i)
            colour[i] = static_cast<int>(sphere.colour[i] * light);
    }
    return colour;
}

inline Frame SmallScene::draw(const std::string& stream) const
{
    Frame frame;
    frame.info.stream = stream;
    frame.info.width = static_cast<std::uint32_t>(width);
    frame.info.height = static_cast<std::uint32_t>(height);
    nlohmann::json meta{{"camera", camera}, {"focal", {focal, focal}},
                        {"up", {0, 0, 1}},  {"target", target},
                        {"extent", 4},      {"isPreview", isPreview}};
    if (jump)
        meta["jump"] = *jump;
    frame.info.meta = meta.dump();
    frame.pixels.reserve(frame.info.pixelBytes());
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            for (const int part : colourAt(x, y))
                frame.pixels.push_back(static_cast<std::byte>(part));
            frame.pixels.push_back(std::byte{255});
        }
    return frame;
}

} // namespace vergence::test
