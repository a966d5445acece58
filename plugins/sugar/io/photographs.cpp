#include "plugins/sugar/io/photographs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/artifact/digest.h"
#include "core/artifact/exif.h"
#include "core/artifact/image_ops.h"
#include "core/artifact/mapped_file.h"
#include "core/base/error.h"
#include "core/compute/cpu_threads.h"
#include "plugins/sugar/io/picture_cache.h"
#include "plugins/sugar/io/picture_plan.h"

namespace vergence::sugar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kFewestPhotographs = 3; ///< once some cannot be read

/// Half of what the system could give now; 1 GiB where it does not say.
std::size_t halfOfFreeMemory()
{
    std::ifstream file("/proc/meminfo");
    std::string label, unit;
    std::size_t kibibytes = 0;
    while (file >> label >> kibibytes) {
        std::getline(file, unit);
        if (label == "MemAvailable:")
            return kibibytes * 1024 / 2;
    }
    return std::size_t{1} << 30;
}

/// Whether the picture must be turned: only where its size fits the camera's no other way.
int neededOrientation(const fs::path& file, const ImageHeader& stored, const SourceCamera& camera)
{
    const bool fits = stored.width == camera.width && stored.height == camera.height;
    const bool fitsTurned = stored.width == camera.height && stored.height == camera.width;
    if (fits || !fitsTurned)
        return 1;
    const MappedFile mapped(file);
    const int orientation = exifOrientation(
        {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()});
    return orientation >= 5 ? orientation : 1;
}

/// The mask of a photograph; empty where there is none.
fs::path maskFile(const fs::path& folder, const std::string& name)
{
    if (folder.empty())
        return {};
    std::error_code failure;
    for (const fs::path& file :
         {folder / (name + ".png"), (folder / name).replace_extension(".png"), folder / name}) {
        if (fs::is_regular_file(file, failure))
            return file;
    }
    return {};
}

void checkSettings(const PhotographSettings& settings)
{
    expects(settings.scale >= 1, "Photographs: the scale must be at least 1");
    expects(settings.maxWidth >= 0, "Photographs: the largest width must not be negative");
    expects(undistortFit(settings.fit).has_value(),
            "Photographs: the fit must be inside, all or keepK");
}

/// Plans every view; the pinhole camera of a lens and a size is found once.
class Planner {
public:
    Planner(const Scene& scene, const PhotographSettings& settings)
        : m_scene(scene),
          m_settings(settings)
    {
    }

    /// Throws InputError where the file is missing or broken.
    PicturePlan plan(const SourceView& view)
    {
        const auto index = static_cast<std::size_t>(view.camera);
        const SourceCamera& camera = m_scene.cameras.at(index);
        PicturePlan plan;
        plan.file = view.image;
        plan.stored = m_scene.painter ? ImageHeader{camera.width, camera.height}
                                      : readImageHeader(view.image);
        if (!m_scene.painter) {
            plan.orientation = neededOrientation(view.image, plan.stored, camera);
            plan.mask = maskFile(m_settings.masks, view.name);
            m_unmasked += plan.mask.empty() ? 1 : 0;
        }
        const bool isTurned = plan.orientation >= 5;
        const int width = isTurned ? plan.stored.height : plan.stored.width;
        const int height = isTurned ? plan.stored.width : plan.stored.height;
        const bool isResized = width != camera.width || height != camera.height;
        if (isResized)
            noteSize(view, camera, width, height);
        plan.source = isResized ? camera.resized(width, height) : camera;
        plan.pinhole = pinholeOf(index, plan.source);
        const ImageHeader size = scaledSize(width, height, m_settings);
        plan.width = size.width;
        plan.height = size.height;
        return plan;
    }

    /// One sentence for all photographs of another size than their cameras, and one for those
    /// without a mask.
    void addFindings(std::vector<SceneFinding>& findings) const
    {
        if (m_unmasked > 0 && !m_settings.masks.empty())
            findings.push_back(
                {SceneFinding::Severity::Warning,
                 fmt::format("{} of {} photographs have no mask in {}; all of their "
                             "pixels count.",
                             m_unmasked, m_scene.views.size(), m_settings.masks.string())});
        if (m_resized > 0)
            findings.push_back(
                {m_hasOddShape ? SceneFinding::Severity::Warning : SceneFinding::Severity::Notice,
                 fmt::format("{} of {} photographs have another size than their "
                             "camera says ({}); focal lengths are scaled with "
                             "them{}.",
                             m_resized, m_scene.views.size(), m_firstResized,
                             m_hasOddShape ? ", but the shape differs too: they may "
                                             "be cropped or belong to another model"
                                           : "")});
    }

private:
    void noteSize(const SourceView& view, const SourceCamera& camera, int width, int height)
    {
        const double x = static_cast<double>(width) / camera.width;
        const double y = static_cast<double>(height) / camera.height;
        m_hasOddShape = m_hasOddShape || std::abs(x / y - 1) > 0.01;
        if (m_resized++ == 0)
            m_firstResized = fmt::format("{}: {} × {} instead of {} × {}", view.name, width, height,
                                         camera.width, camera.height);
    }

    const SourceCamera& pinholeOf(std::size_t index, const SourceCamera& source)
    {
        const auto key = std::tuple(index, source.width, source.height);
        const auto known = m_pinholes.find(key);
        if (known != m_pinholes.end())
            return known->second;
        return m_pinholes
            .emplace(key, undistortedCamera(source, undistortFit(m_settings.fit).value()))
            .first->second;
    }

    const Scene& m_scene;
    const PhotographSettings& m_settings;
    std::map<std::tuple<std::size_t, int, int>, SourceCamera> m_pinholes;
    std::size_t m_resized = 0, m_unmasked = 0;
    std::string m_firstResized;
    bool m_hasOddShape = false;
};

void addNumbers(Digest& digest, std::span<const double> numbers)
{
    digest.add({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
}

void addScene(Digest& digest, const Scene& scene)
{
    digest.add(scene.kind);
    for (const SourceCamera& camera : scene.cameras) {
        digest.add(fmt::format("{} {} {} ", nameOf(camera.model), camera.width, camera.height));
        addNumbers(digest, camera.parameters);
    }
    for (const ScenePoint& point : scene.points) {
        addNumbers(digest, point.position);
        digest.add({reinterpret_cast<const char*>(point.colour.data()), point.colour.size()});
        digest.add(fmt::format(" {} {} ", point.error, point.trackLength));
    }
}

/// Half the sides as often as the level says; a masked pixel stays masked where any part of it was.
Photograph smaller(const Photograph& full, std::size_t level)
{
    const double scale = 1.0 / (1 << level);
    Photograph result;
    result.image = scaled(full.image, scale);
    Image plane = makeImage(full.image.width, full.image.height, 1);
    if (!full.transparency.empty()) {
        plane.pixels = full.transparency;
        result.transparency = scaled(plane, scale).pixels;
    }
    if (full.mask.empty())
        return result;
    for (std::size_t i = 0; i < full.mask.size(); ++i)
        plane.pixels[i] = full.mask[i] ? 255 : 0;
    result.mask = scaled(plane, scale).pixels;
    for (std::uint8_t& value : result.mask)
        value = value == 255 ? 1 : 0;
    return result;
}

void addFile(Digest& digest, const fs::path& file)
{
    std::error_code error;
    const auto size = fs::file_size(file, error);
    const auto time = fs::last_write_time(file, error).time_since_epoch().count();
    digest.add(error ? "gone " : fmt::format("{} {} ", size, time));
}

} // namespace

struct Photographs::Impl {
    Impl(Scene given, PhotographSettings with) : scene(std::move(given)), settings(std::move(with))
    {
    }

    /// A picture in one of its sizes, for the cache.
    std::size_t keyOf(std::size_t i, int level) const
    {
        expects(i < kept.size(), "Photographs: no view of that number");
        expects(level >= 0, "Photographs: no size of that number");
        return i + static_cast<std::size_t>(level) * kept.size();
    }

    std::shared_ptr<const Photograph> load(std::size_t key) const
    {
        const std::size_t i = key % kept.size(), level = key / kept.size();
        const PicturePlan& plan = plans[i];
        const SourceView& view = scene.views[kept[i]];
        Image image =
            scene.painter ? scene.painter(pinholeCamera(plan.source, view)) : readImage(plan.file);
        const Image mask = plan.mask.empty() ? Image() : readImage(plan.mask);
        Photograph full = preparedPhotograph(image, mask, plan, settings);
        return std::make_shared<const Photograph>(level == 0 ? std::move(full)
                                                             : smaller(full, level));
    }

    Scene scene;
    PhotographSettings settings;
    std::vector<std::size_t> kept; ///< indices of views
    std::vector<PicturePlan> plans;
    std::vector<Camera> cameras;
    std::vector<SceneFinding> findings;
    std::unique_ptr<PictureCache> cache; ///< last, so that its threads end first
};

Photographs::Photographs(Scene scene, PhotographSettings settings)
{
    checkSettings(settings);
    m_impl = std::make_unique<Impl>(std::move(scene), std::move(settings));
    Impl& d = *m_impl;
    d.findings = d.scene.findings;
    Planner planner(d.scene, d.settings);
    for (std::size_t i = 0; i < d.scene.views.size(); ++i) {
        if (d.settings.isStopped && d.settings.isStopped())
            return;
        const SourceView& view = d.scene.views[i];
        try {
            PicturePlan plan = planner.plan(view);
            d.cameras.push_back(pinholeCamera(plan.pinhole.resized(plan.width, plan.height), view));
            d.plans.push_back(std::move(plan));
            d.kept.push_back(i);
        } catch (const InputError& error) {
            d.findings.push_back({SceneFinding::Severity::Warning,
                                  fmt::format("{} is left out. {}", view.name, error.what()),
                                  fs::exists(view.image) ? "E-DATA" : "E-MISSING"});
        }
    }
    planner.addFindings(d.findings);
    const std::size_t views = d.scene.views.size(), kept = d.kept.size();
    if (kept == 0 || (kept < views && kept < kFewestPhotographs))
        throw InputError(fmt::format("{} of the {} photographs of {} can be read. {} Name their "
                                     "folder, or repair the files.",
                                     kept == 0 ? "None" : fmt::format("Only {}", kept), views,
                                     d.scene.root.string(),
                                     d.findings.empty() ? "" : d.findings.back().sentence));
    const std::size_t budget =
        d.settings.budgetBytes > 0 ? d.settings.budgetBytes : halfOfFreeMemory();
    d.cache = std::make_unique<PictureCache>([&d](std::size_t key) { return d.load(key); }, budget,
                                             std::clamp(usableThreads() / 2, 1, 4));
}

Photographs::~Photographs() = default;

const Scene& Photographs::scene() const
{
    return m_impl->scene;
}

std::size_t Photographs::count() const
{
    return m_impl->kept.size();
}

const std::string& Photographs::name(std::size_t i) const
{
    return view(i).name;
}

const std::vector<Camera>& Photographs::cameras() const
{
    return m_impl->cameras;
}

const SourceView& Photographs::view(std::size_t i) const
{
    expects(i < count(), "Photographs: no view of that number");
    return m_impl->scene.views[m_impl->kept[i]];
}

const std::vector<SceneFinding>& Photographs::findings() const
{
    return m_impl->findings;
}

std::shared_ptr<const Photograph> Photographs::get(std::size_t i, int level)
{
    return m_impl->cache->get(m_impl->keyOf(i, level));
}

void Photographs::prefetch(const std::vector<std::size_t>& next, int level)
{
    std::vector<std::size_t> keys;
    for (const std::size_t i : next)
        keys.push_back(m_impl->keyOf(i, level));
    m_impl->cache->prefetch(keys);
}

std::string Photographs::fingerprint() const
{
    Digest digest;
    addScene(digest, m_impl->scene);
    for (const SourceView& view : m_impl->scene.views) {
        digest.add(fmt::format("{}\n{} ", view.name, view.camera));
        addNumbers(digest, view.rotation);
        addNumbers(digest, view.translation);
        if (!m_impl->scene.painter)
            addFile(digest, view.image);
    }
    for (const PicturePlan& plan : m_impl->plans) {
        if (!plan.mask.empty())
            addFile(digest, plan.mask);
    }
    return digest.hex();
}

std::size_t Photographs::masked() const
{
    const auto& plans = m_impl->plans;
    return static_cast<std::size_t>(std::count_if(
        plans.begin(), plans.end(), [](const PicturePlan& plan) { return !plan.mask.empty(); }));
}

std::size_t Photographs::cachedBytes() const
{
    return m_impl->cache->bytes();
}

} // namespace vergence::sugar
