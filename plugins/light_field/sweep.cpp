#include "plugins/light_field/sweep.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/artifact/image.h"

namespace vergence::light_field {

namespace {

void finishScene(SweepItem& item)
{
    const LightFieldConfig& c = item.config;
    item.scene.setBackground({static_cast<float>(c.background[0]),
                              static_cast<float>(c.background[1]),
                              static_cast<float>(c.background[2])});
    item.scene.setLambert(c.lambert);
    item.channels = item.scene.isAchromatic() ? 1 : 3;
}

SweepItem boardItem(const LightFieldConfig& config, int n)
{
    SweepItem item;
    item.folder = fmt::format("n{}", n);
    item.label = fmt::format("n = {}", n);
    item.x = n;
    item.config = config;
    item.cellSize = config.checkerMapping == "seed" ? checkerCellSize(n) : 0;
    CheckerboardOptions options;
    options.n = n;
    options.equalAngle = config.checkerMapping == "equal_angle";
    options.center = {0, 0, config.sphereDistance};
    options.radius = config.sphereRadius;
    item.scene = checkerboardScene(options);
    finishScene(item);
    return item;
}

void addBoards(const LightFieldConfig& config, std::vector<SweepItem>& items)
{
    for (const int n : config.boards) {
        SweepItem item = boardItem(config, n);
        for (std::size_t i = 0; i < items.size() && item.sameAs < 0; ++i) {
            const bool sameBoard =
                item.cellSize > 0 ? items[i].cellSize == item.cellSize : items[i].x == item.x;
            if (sameBoard && items[i].sameAs < 0)
                item.sameAs = static_cast<int>(i);
        }
        if (item.sameAs < 0 || items[static_cast<std::size_t>(item.sameAs)].folder != item.folder)
            items.push_back(std::move(item));
    }
}

void addScenes(const LightFieldConfig& config, std::vector<SweepItem>& items)
{
    for (const auto& name : config.scenes) {
        SweepItem item;
        item.folder = name;
        item.label = name;
        item.x = static_cast<double>(items.size() + 1);
        item.config = config;
        item.scene = namedScene(name);
        finishScene(item);
        items.push_back(std::move(item));
    }
}

std::string textOf(double value)
{
    return fmt::format("{:g}", value);
}

void addParameterValues(const LightFieldConfig& config, const Config& source,
                        std::vector<SweepItem>& items)
{
    const Field* field = source.schema().find(config.sweepKey);
    expects(field != nullptr, "sweep: unknown parameter " + config.sweepKey);
    for (const double value : config.sweepValues) {
        ConfigValue stored = value;
        if (field->type == FieldType::Int)
            stored = static_cast<std::int64_t>(std::llround(value));
        LightFieldConfig varied =
            readLightFieldConfig(source.with(config.sweepKey, stored, {"sweep_values"}));
        const bool isDimmer = varied.headroom > varied.planes;
        varied.headroom = std::min(varied.headroom, static_cast<double>(varied.planes));
        SweepItem item = boardItem(varied, config.boards.front());
        item.folder = fmt::format("{}-{}", config.sweepKey, textOf(value));
        item.label = fmt::format("{} = {}", config.sweepKey, textOf(value));
        if (isDimmer)
            item.label += fmt::format(" (headroom {})", textOf(varied.headroom));
        item.x = value;
        items.push_back(std::move(item));
    }
}

DepthImage readDepthImage(const LightFieldConfig& config)
{
    const Image color = readImage(config.colorImage);
    const Image16 depth = readPng16(config.depthImage);
    if (color.width != depth.width || color.height != depth.height)
        throw InputError(
            fmt::format("{} is {}×{} but {} is {}×{}; picture and depth must have the same size.",
                        config.colorImage.string(), color.width, color.height,
                        config.depthImage.string(), depth.width, depth.height));
    DepthImage image;
    image.width = color.width;
    image.height = color.height;
    image.slopeExtent = std::tan(config.fieldOfView / 2 * std::numbers::pi / 180);
    const std::vector<float> linear = linearFromImage(color);
    const auto pixels = static_cast<std::size_t>(image.width) * image.height;
    image.color.resize(pixels * 3);
    image.depth.resize(pixels);
    const double nearMm = config.depthImageNear, farMm = config.depthImageFar;
    for (std::size_t i = 0; i < pixels; ++i) {
        for (int c = 0; c < 3; ++c)
            image.color[i * 3 + c] = linear[i * color.channels + (color.channels >= 3 ? c : 0)];
        const std::uint16_t stored = depth.pixels[i * depth.channels];
        const double t =
            (stored - 1) / 65534.0; // 0 at the darkest value that counts, 1 at the brightest
        const double z = config.depthEncoding == "linear"
                             ? farMm + t * (nearMm - farMm)
                             : 1.0 / (1.0 / farMm + t * (1.0 / nearMm - 1.0 / farMm));
        image.depth[i] = stored == 0 ? 0.0f : static_cast<float>(z);
    }
    return image;
}

} // namespace

std::vector<SweepItem> sweepItems(const LightFieldConfig& config, const Config& source)
{
    std::vector<SweepItem> items;
    if (config.sweep == "scenes") {
        addScenes(config, items);
    } else if (config.sweep == "parameter") {
        addParameterValues(config, source, items);
    } else if (config.sweep == "image") {
        SweepItem item;
        item.folder = item.label = "image";
        item.x = 1;
        item.config = config;
        item.scene = depthImageScene("image", readDepthImage(config));
        finishScene(item);
        items.push_back(std::move(item));
    } else {
        addBoards(config, items);
    }
    return items;
}

std::string sweepAxis(const LightFieldConfig& config)
{
    if (config.sweep == "boards")
        return "n";
    return config.sweep == "parameter" ? config.sweepKey : "scene";
}

} // namespace vergence::light_field
