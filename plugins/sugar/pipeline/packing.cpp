#include "plugins/sugar/pipeline/packing.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::sugar {

namespace {

template <class T>
void add(std::vector<HostTensor>& all, const std::string& name, Index width,
         const std::vector<T>& values)
{
    if (values.empty())
        return;
    const auto rows = static_cast<Index>(values.size()) / width;
    if constexpr (std::is_same_v<T, std::uint32_t>) {
        const std::vector<std::int32_t> rowsOf(values.begin(), values.end());
        all.push_back(HostTensor::from<std::int32_t>(name, {rows, width}, rowsOf));
    } else {
        all.push_back(HostTensor::from<T>(name, {rows, width}, values));
    }
}

/// Empty where there is none of that name.
template <class T>
std::vector<T> optional(const SafetensorsFile& file, const std::string& name)
{
    const HostTensor* tensor = file.find(name);
    if (!tensor)
        return {};
    const auto values = tensor->as<T>();
    return {values.begin(), values.end()};
}

template <class T>
std::vector<T> needed(const SafetensorsFile& file, const std::string& name)
{
    if (!file.find(name))
        throw InputError("The result of an earlier stage is damaged: " + name +
                         " is missing; remove its folder below stages and resume.");
    return optional<T>(file, name);
}

void requireRows(const std::string& name, std::size_t size, std::size_t width, std::size_t rows)
{
    if (size != width * rows)
        throw InputError("The result of an earlier stage is damaged: " + name +
                         " has another size than the rest; remove its folder below stages and "
                         "resume.");
}

void requireOptionalRows(const std::string& name, std::size_t size, std::size_t width,
                         std::size_t rows)
{
    if (size != 0)
        requireRows(name, size, width, rows);
}

} // namespace

std::vector<HostTensor> packCloud(const GaussianCloud& cloud)
{
    std::vector<HostTensor> all;
    add(all, "position", 3, cloud.position);
    add(all, "log_scale", 3, cloud.logScale);
    add(all, "rotation", 4, cloud.rotation);
    add(all, "opacity", 1, cloud.opacity);
    add(all, "sh_dc", 3, cloud.shDc);
    if (cloud.degree > 0)
        add(all, "sh_rest", 3 * restCoefficients(cloud.degree), cloud.shRest);
    add(all, "filter", 1, cloud.filter);
    return all;
}

GaussianCloud unpackCloud(const SafetensorsFile& file)
{
    GaussianCloud cloud;
    cloud.opacity = needed<float>(file, "opacity");
    cloud.position = needed<float>(file, "position");
    cloud.logScale = needed<float>(file, "log_scale");
    cloud.rotation = needed<float>(file, "rotation");
    cloud.shDc = needed<float>(file, "sh_dc");
    cloud.shRest = optional<float>(file, "sh_rest");
    cloud.filter = optional<float>(file, "filter");
    const std::size_t count = cloud.opacity.size();
    requireRows("position", cloud.position.size(), 3, count);
    requireRows("log_scale", cloud.logScale.size(), 3, count);
    requireRows("rotation", cloud.rotation.size(), 4, count);
    requireRows("sh_dc", cloud.shDc.size(), 3, count);
    requireOptionalRows("filter", cloud.filter.size(), 1, count);
    while (cloud.degree < 3 &&
           cloud.shRest.size() >
               3 * count * static_cast<std::size_t>(restCoefficients(cloud.degree)))
        ++cloud.degree;
    requireRows("sh_rest", cloud.shRest.size(),
                3 * static_cast<std::size_t>(restCoefficients(cloud.degree)), count);
    return cloud;
}

std::vector<HostTensor> packPoints(const SurfacePoints& points)
{
    std::vector<HostTensor> all;
    add(all, "points.position", 3, points.position);
    add(all, "points.normal", 3, points.normal);
    add(all, "points.colour", 3, points.colour);
    add(all, "points.level", 1, points.level);
    return all;
}

SurfacePoints unpackPoints(const SafetensorsFile& file)
{
    SurfacePoints points;
    points.position = optional<float>(file, "points.position");
    points.normal = optional<float>(file, "points.normal");
    points.colour = optional<std::uint8_t>(file, "points.colour");
    points.level = optional<std::uint8_t>(file, "points.level");
    const std::size_t count = points.level.size();
    requireRows("points.position", points.position.size(), 3, count);
    requireRows("points.normal", points.normal.size(), 3, count);
    requireRows("points.colour", points.colour.size(), 3, count);
    return points;
}

std::vector<HostTensor> packMesh(const TriangleMesh& mesh, const std::string& prefix)
{
    std::vector<HostTensor> all;
    add(all, prefix + "position", 3, mesh.position);
    add(all, prefix + "triangle", 3, mesh.triangle);
    add(all, prefix + "normal", 3, mesh.normal);
    add(all, prefix + "colour", 3, mesh.colour);
    add(all, prefix + "group", 1, mesh.group);
    return all;
}

TriangleMesh unpackMesh(const SafetensorsFile& file, const std::string& prefix)
{
    TriangleMesh mesh;
    mesh.position = optional<float>(file, prefix + "position");
    const auto rows = optional<std::int32_t>(file, prefix + "triangle");
    mesh.triangle.assign(rows.begin(), rows.end());
    mesh.normal = optional<float>(file, prefix + "normal");
    mesh.colour = optional<std::uint8_t>(file, prefix + "colour");
    mesh.group = optional<std::uint8_t>(file, prefix + "group");
    const auto vertices = mesh.position.size() / 3, faces = mesh.triangle.size() / 3;
    requireRows(prefix + "triangle", mesh.triangle.size(), 3, faces);
    requireOptionalRows(prefix + "normal", mesh.normal.size(), 3, vertices);
    requireOptionalRows(prefix + "colour", mesh.colour.size(), 3, vertices);
    requireOptionalRows(prefix + "group", mesh.group.size(), 1, faces);
    for (const std::uint32_t row : mesh.triangle) {
        if (row >= vertices)
            throw InputError("The result of an earlier stage is damaged: a triangle names a vertex "
                             "that is not there; remove its folder below stages and resume.");
    }
    return mesh;
}

namespace {

Image unpackImage(const SafetensorsFile& file, const std::string& name)
{
    const auto pixels = needed<std::uint8_t>(file, name);
    const std::vector<Index>& shape = file.find(name)->shape;
    if (shape.size() != 3)
        throw InputError("The result of an earlier stage is damaged: " + name +
                         " is not a picture; remove its folder below stages and resume.");
    Image image = makeImage(static_cast<int>(shape[1]), static_cast<int>(shape[0]),
                            static_cast<int>(shape[2]));
    std::copy(pixels.begin(), pixels.end(), image.pixels.begin());
    return image;
}

} // namespace

std::vector<HostTensor> packTextured(const TexturedMesh& textured)
{
    std::vector<HostTensor> all = packMesh(textured.mesh);
    add(all, "uv", 6, textured.uv);
    add(all, "page", 1, textured.page);
    for (std::size_t i = 0; i < textured.pages.size(); ++i) {
        const Image& image = textured.pages[i];
        all.push_back(HostTensor::from<std::uint8_t>(fmt::format("texture.{}", i),
                                                     {image.height, image.width, image.channels},
                                                     image.pixels));
    }
    return all;
}

TexturedMesh unpackTextured(const SafetensorsFile& file)
{
    TexturedMesh textured;
    textured.mesh = unpackMesh(file);
    textured.uv = needed<float>(file, "uv");
    requireRows("uv", textured.uv.size(), 6, static_cast<std::size_t>(textured.mesh.faces()));
    textured.page = optional<std::uint8_t>(file, "page");
    requireOptionalRows("page", textured.page.size(), 1,
                        static_cast<std::size_t>(textured.mesh.faces()));
    const auto last = std::max_element(textured.page.begin(), textured.page.end());
    const std::size_t pages = last == textured.page.end() ? 1 : std::size_t{*last} + 1;
    for (std::size_t i = 0; i < pages; ++i)
        textured.pages.push_back(unpackImage(file, fmt::format("texture.{}", i)));
    return textured;
}

SafetensorsFile tensorsOf(const Checkpoint& checkpoint)
{
    return {checkpoint.tensors, {}};
}

std::function<std::vector<float>(const std::string&)> readerOf(const Checkpoint& checkpoint)
{
    return [&checkpoint](const std::string& name) {
        const auto values = checkpoint.tensor(name).as<float>();
        return std::vector<float>(values.begin(), values.end());
    };
}

std::function<HostTensor(const std::string&)> tensorReaderOf(const Checkpoint& checkpoint)
{
    return [&checkpoint](const std::string& name) { return checkpoint.tensor(name); };
}

} // namespace vergence::sugar
