#pragma once

#include <algorithm>

#include "core/artifact/safetensors.h"
#include "tests/plugins/sugar/raster_support.h"

namespace vergence::sugar::fixtures {

/// 120 Gaussians on 64×48 pixels with image and gradients of an established implementation.
struct GoldenCase {
    Parameters gaussians;
    ReferenceSettings settings;
    Images images;  ///< expected; without normals and margins
    Images weights; ///< of the loss Σ w · image; transmittance: of the coverage
    std::vector<std::vector<double>> gradients; ///< in the order of Parameters::groups()
};

inline GoldenCase goldenCase(const std::filesystem::path& folder, bool antialiased)
{
    const SafetensorsFile file = readSafetensors(folder / "case.safetensors");
    const auto values = [&](const char* tensor) {
        const auto floats = file.find(tensor)->as<float>();
        return std::vector<double>(floats.begin(), floats.end());
    };
    GoldenCase c;
    c.gaussians.degree = 3;
    c.gaussians.position = values("means");
    c.gaussians.logScale = values("log_scales");
    c.gaussians.rotation = values("quats");
    c.gaussians.opacity = values("opacity_logits");
    c.gaussians.sh = values("sh");
    const auto pose = values("world_to_camera"), k = values("K"), back = values("background");
    c.settings.near = 0.01;
    c.settings.blur = {0.3, antialiased};
    Camera& camera = c.settings.camera;
    camera = {{}, {}, k[0], k[4], k[2], k[5], 64, 48};
    for (std::size_t row = 0; row < 3; ++row) {
        std::copy_n(pose.begin() + static_cast<std::ptrdiff_t>(4 * row), 3,
                    camera.rotation.begin() + static_cast<std::ptrdiff_t>(3 * row));
        camera.translation[row] = pose[4 * row + 3];
        c.settings.background[row] = back[row];
    }
    // Their arrays have pixels first.
    const auto planar = [](const std::vector<double>& interleaved) {
        const std::size_t pixels = interleaved.size() / 3;
        std::vector<double> planes(interleaved.size());
        for (std::size_t p = 0; p < pixels; ++p) {
            for (std::size_t channel = 0; channel < 3; ++channel)
                planes[channel * pixels + p] = interleaved[3 * p + channel];
        }
        return planes;
    };
    c.images.colour = planar(values("image"));
    c.images.depth = values("depth_accum");
    for (const double alpha : values("alpha"))
        c.images.transmittance.push_back(1 - alpha);
    const auto contributors = file.find("contributors")->as<std::int32_t>();
    c.images.contributors.assign(contributors.begin(), contributors.end());
    c.weights = lossWeights(camera, 1, false);
    c.weights.colour = planar(values("weight_image"));
    c.weights.transmittance = values("weight_alpha");
    c.weights.depth = values("weight_depth");
    for (const char* name :
         {"grad_means", "grad_log_scales", "grad_quats", "grad_opacity_logits", "grad_sh"})
        c.gradients.push_back(values(name));
    return c;
}

} // namespace vergence::sugar::fixtures
