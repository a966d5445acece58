#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compute/tensor.h"
#include "plugins/light_field/compute/scene_math.h"

namespace vergence::light_field {

/// Side of an RGB-D picture and how it was taken: a pinhole at the nominal eye that sees slopes
/// −extent … +extent across its width (square pixels).
struct DepthImage {
    int width = 0, height = 0;
    std::vector<float> color; ///< [height, width, 3], linear light
    std::vector<float>
        depth; ///< [height, width], z in mm; 0, negative or not finite = nothing there
    double slopeExtent = 0.25;
};

/// Depths in mm between which a scene is visible.
struct DepthRange {
    double nearMm = 0, farMm = 0;
};

struct CheckerboardOptions {
    int n = 40; ///< nominal number of cells; the seed mapping uses cells of floor(1000 / n) px
    bool equalAngle = false;                 ///< square cells at the equator, exactly n × 2n
    std::array<double, 3> center{0, 0, 200}; ///< mm
    double radius = 50;                      ///< mm
};

/// What the eye looks at: spheres and cubes, or a picture with depth. A value; cheap to copy unless
/// it holds a picture.
class Scene {
public:
    Scene() = default;
    explicit Scene(std::string name, std::vector<Primitive> primitives);

    const std::string& name() const { return m_name; }
    std::span<const Primitive> primitives() const { return m_primitives; }
    bool hasDepthImage() const { return m_image.width > 0; }
    const DepthImage& depthImage() const { return m_image; }
    /// True where every colour of the scene is grey, so that one channel is enough.
    bool isAchromatic() const;
    /// Nearest and farthest visible depth: near point to centre of a sphere, both faces of a cube,
    /// or the picture's range. Throws ContractError for an empty scene.
    DepthRange depthRange() const;

    void setBackground(std::array<float, 3> rgb) { m_background = rgb; }
    const std::array<float, 3>& background() const { return m_background; }
    /// Shades by a lamp at the head instead of flat emission.
    void setLambert(bool on) { m_lambert = on; }
    bool lambert() const { return m_lambert; }

private:
    friend Scene depthImageScene(std::string name, DepthImage image);

    std::string m_name;
    std::vector<Primitive> m_primitives;
    DepthImage m_image;
    std::array<float, 3> m_background{0, 0, 0};
    bool m_lambert = false;
};

/// A sphere with a checkerboard painted on it, the scene of the sweep.
Scene checkerboardScene(const CheckerboardOptions& options);
/// floor(1000 / n): cell side in pixels of the seed's virtual texture. Boards of equal cell size
/// are the same board.
int checkerCellSize(int n);
/// The eighteen nominal board sizes of the seed, 26, 28, … 60.
std::vector<int> seedBoards();

/// Names that namedScene() knows, in the order in which a user should see them.
std::vector<std::string> sceneNames();
/// One of the built-in scenes: "basic", "complex", "stick_figure", "layered", "office", "nature",
/// "spherical_checkerboard", "textured_basic", and the rich ones "basic_plus" … "nature_plus".
/// Throws ContractError that lists the names.
Scene namedScene(std::string_view name);

/// Height field with the picture as its texture. Throws ContractError where sizes differ or no
/// pixel has a depth.
Scene depthImageScene(std::string name, DepthImage image);

/// A scene in the memory of a device, for kernels.
class SceneOnDevice {
public:
    SceneOnDevice(Stream& stream, const std::shared_ptr<Device>& device, const Scene& scene);
    const SceneView& view() const { return m_view; }

private:
    Tensor m_primitives, m_color, m_inverseDepth;
    SceneView m_view;
};

} // namespace vergence::light_field
