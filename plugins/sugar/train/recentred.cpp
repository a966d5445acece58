#include "plugins/sugar/train/recentred.h"

#include <algorithm>
#include <cmath>

namespace vergence::sugar {

namespace {

constexpr double kFar = 100; ///< extents from the origin at which coordinates are moved

/// Median of the camera centres, axis by axis.
std::array<double, 3> medianCentre(const std::vector<Camera>& cameras)
{
    std::array<double, 3> median{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        std::vector<double> values;
        for (const Camera& camera : cameras)
            values.push_back(camera.centre()[axis]);
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        median[axis] = *middle;
    }
    return median;
}

class Recentred final : public PictureSource {
public:
    Recentred(std::unique_ptr<PictureSource> inner, const std::array<double, 3>& origin)
        : m_inner(std::move(inner)),
          m_origin(origin),
          m_scene(m_inner->scene()),
          m_cameras(m_inner->cameras())
    {
        // R (p + o) + d = R p + (d + R o)
        for (Camera& camera : m_cameras)
            move(camera.rotation, camera.translation);
        for (SourceView& view : m_scene.views)
            move(view.rotation, view.translation);
        for (ScenePoint& point : m_scene.points) {
            for (std::size_t axis = 0; axis < 3; ++axis)
                point.position[axis] -= m_origin[axis];
        }
    }

    const std::array<double, 3>& origin() const { return m_origin; }
    std::size_t count() const override { return m_inner->count(); }
    const std::string& name(std::size_t i) const override { return m_inner->name(i); }
    const std::vector<Camera>& cameras() const override { return m_cameras; }
    std::optional<bool> isTest(std::size_t i) const override { return m_inner->isTest(i); }
    std::shared_ptr<const Photograph> get(std::size_t i, int level) override
    {
        return m_inner->get(i, level);
    }
    void prefetch(const std::vector<std::size_t>& next, int level) override
    {
        m_inner->prefetch(next, level);
    }
    std::size_t masked() const override { return m_inner->masked(); }
    const Scene& scene() const override { return m_scene; }
    const std::vector<SceneFinding>& findings() const override { return m_inner->findings(); }
    std::string fingerprint() const override { return m_inner->fingerprint(); }

private:
    void move(const std::array<double, 9>& rotation, std::array<double, 3>& translation) const
    {
        for (std::size_t row = 0; row < 3; ++row) {
            for (std::size_t axis = 0; axis < 3; ++axis)
                translation[row] += rotation[3 * row + axis] * m_origin[axis];
        }
    }

    std::unique_ptr<PictureSource> m_inner;
    std::array<double, 3> m_origin;
    Scene m_scene;
    std::vector<Camera> m_cameras;
};

} // namespace

std::unique_ptr<PictureSource> recentred(std::unique_ptr<PictureSource> source)
{
    if (source->count() == 0)
        return source;
    const std::array<double, 3> origin = medianCentre(source->cameras());
    const double extent = sceneExtent(source->cameras(), source->scene().points);
    if (std::hypot(origin[0], origin[1], origin[2]) <= kFar * extent)
        return source;
    return std::make_unique<Recentred>(std::move(source), origin);
}

std::array<double, 3> originOf(const PictureSource& source)
{
    const auto* moved = dynamic_cast<const Recentred*>(&source);
    return moved ? moved->origin() : std::array<double, 3>{};
}

} // namespace vergence::sugar
