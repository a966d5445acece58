#include <iterator>

#include <fmt/format.h>

#include "core/base/file.h"
#include "plugins/sugar/io/colmap.h"
#include "plugins/sugar/io/colmap_parts.h"
#include "plugins/sugar/io/text_fields.h"

namespace vergence::sugar {

namespace {

constexpr const char* kRemedy = "Export the model from COLMAP again or correct the line.";
constexpr const char* kPairRemedy =
    "Each image has two lines, of which the second, with its keypoints, may be empty but must be "
    "there.";

/// The next line that is neither blank nor a comment.
std::optional<std::string_view> nextRecord(TextLines& lines)
{
    while (const auto line = lines.next()) {
        const std::size_t start = line->find_first_not_of(" \t\r");
        if (start != std::string_view::npos && (*line)[start] != '#')
            return line;
    }
    return std::nullopt;
}

SourceCamera readCamera(TextFields& fields)
{
    SourceCamera camera;
    camera.id = static_cast<int>(fields.read<std::uint32_t>("the id of a camera"));
    const std::string name = fields.word("a camera model");
    const auto model = cameraModel(name);
    if (!model)
        fields.fail(fmt::format("camera {} has the unknown camera model {}", camera.id, name));
    camera.model = *model;
    camera.width = fields.read<std::int32_t>("a width");
    camera.height = fields.read<std::int32_t>("a height");
    for (int i = 0; i < parameterCount(camera.model); ++i)
        camera.parameters.push_back(fields.read<double>("the parameters of a camera"));
    if (!fields.atEnd())
        fields.fail(fmt::format("camera {} has more than the {} parameters of {}", camera.id,
                                parameterCount(camera.model), name));
    if (const std::string fault = faultOf(camera); !fault.empty())
        fields.fail(fault);
    return camera;
}

ColmapImage readImageLine(TextFields& fields)
{
    ColmapImage image;
    image.id = fields.read<std::uint32_t>("the id of an image");
    for (double& value : image.quaternion)
        value = fields.read<double>("a rotation");
    for (double& value : image.translation)
        value = fields.read<double>("a translation");
    image.camera = fields.read<std::uint32_t>("the camera of an image");
    image.name = fields.rest();
    if (image.name.empty())
        fields.fail(fmt::format("image {} has no name", image.id));
    return image;
}

std::vector<ColmapKeypoint> readKeypointLine(TextFields& fields)
{
    std::vector<ColmapKeypoint> keypoints;
    while (!fields.atEnd()) {
        ColmapKeypoint& keypoint = keypoints.emplace_back();
        keypoint.x = fields.read<double>("a keypoint");
        keypoint.y = fields.read<double>("a keypoint");
        keypoint.point = fields.read<std::int64_t>("the point of a keypoint");
    }
    return keypoints;
}

ColmapPoint readPoint(TextFields& fields)
{
    ColmapPoint point;
    point.id = fields.read<std::uint64_t>("the id of a point");
    for (double& value : point.position)
        value = fields.read<double>("a position");
    for (std::uint8_t& value : point.colour)
        value = fields.read<std::uint8_t>("a colour");
    point.error = fields.read<double>("a reprojection error");
    while (!fields.atEnd()) {
        ColmapTrackElement& element = point.track.emplace_back();
        element.image = fields.read<std::int32_t>("a track");
        element.keypoint = fields.read<std::int32_t>("a track");
    }
    return point;
}

/// What a line holds; nothing where it cannot be read and `damaged` takes note of that.
template <class Record>
std::optional<Record> readLine(TextFields fields, Record (*readOne)(TextFields&),
                               std::vector<DamagedLine>* damaged)
{
    try {
        return readOne(fields);
    } catch (const LineError& error) {
        if (damaged == nullptr)
            throw;
        damaged->push_back(error.line());
        return std::nullopt;
    }
}

template <class Record>
std::vector<Record> readLines(std::string_view text, const std::string& file,
                              Record (*readOne)(TextFields&),
                              std::vector<DamagedLine>* damaged = nullptr)
{
    std::vector<Record> records;
    TextLines lines(text);
    while (const auto line = nextRecord(lines)) {
        if (auto record = readLine({*line, file, lines.number(), kRemedy}, readOne, damaged))
            records.push_back(std::move(*record));
    }
    return records;
}

template <class... Values>
void append(std::string& text, fmt::format_string<Values...> format, Values&&... values)
{
    fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
}

std::string camerasAsText(const std::vector<SourceCamera>& cameras)
{
    std::string text = "# CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n";
    append(text, "# Number of cameras: {}\n", cameras.size());
    for (const SourceCamera& camera : cameras) {
        append(text, "{} {} {} {}", static_cast<std::uint32_t>(camera.id), nameOf(camera.model),
               camera.width, camera.height);
        for (const double parameter : camera.parameters)
            append(text, " {}", parameter);
        text += '\n';
    }
    return text;
}

std::string imagesAsText(const std::vector<ColmapImage>& images)
{
    std::string text = "# IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME\n"
                       "# POINTS2D[] as (X, Y, POINT3D_ID)\n";
    append(text, "# Number of images: {}\n", images.size());
    for (const ColmapImage& image : images) {
        const auto& q = image.quaternion;
        const auto& t = image.translation;
        append(text, "{} {} {} {} {} {} {} {} {} {}\n", image.id, q[0], q[1], q[2], q[3], t[0],
               t[1], t[2], image.camera, image.name);
        const char* gap = "";
        for (const ColmapKeypoint& keypoint : image.keypoints) {
            append(text, "{}{} {} {}", gap, keypoint.x, keypoint.y, keypoint.point);
            gap = " ";
        }
        text += '\n';
    }
    return text;
}

std::string pointsAsText(const std::vector<ColmapPoint>& points)
{
    std::string text =
        "# POINT3D_ID, X, Y, Z, R, G, B, ERROR, TRACK[] as (IMAGE_ID, POINT2D_IDX)\n";
    append(text, "# Number of points: {}\n", points.size());
    for (const ColmapPoint& point : points) {
        const auto& p = point.position;
        append(text, "{} {} {} {} {} {} {} {}", point.id, p[0], p[1], p[2], point.colour[0],
               point.colour[1], point.colour[2], point.error);
        for (const ColmapTrackElement& element : point.track)
            append(text, " {} {}", element.image, element.keypoint);
        text += '\n';
    }
    return text;
}

} // namespace

std::vector<SourceCamera> parseColmapCameras(std::string_view text, const std::string& file)
{
    return readLines(text, file, readCamera);
}

std::vector<ColmapImage> parseColmapImages(std::string_view text, const std::string& file,
                                           std::vector<DamagedLine>* damaged)
{
    std::vector<ColmapImage> images;
    TextLines lines(text);
    while (const auto line = nextRecord(lines)) {
        auto image = readLine({*line, file, lines.number(), kPairRemedy}, readImageLine, damaged);
        const auto second = lines.next();
        if (!image) {
            damaged->back().isPhotograph = true;
            continue;
        }
        if (second)
            image->keypoints =
                readLine({*second, file, lines.number(), kPairRemedy}, readKeypointLine, damaged)
                    .value_or(std::vector<ColmapKeypoint>());
        images.push_back(std::move(*image));
    }
    return images;
}

std::vector<ColmapPoint> parseColmapPoints(std::string_view text, const std::string& file,
                                           std::vector<DamagedLine>* damaged)
{
    return readLines(text, file, readPoint, damaged);
}

void writeColmapText(const std::filesystem::path& folder, const ColmapModel& model)
{
    writeFileAtomic(folder / "cameras.txt", camerasAsText(model.cameras));
    writeFileAtomic(folder / "images.txt", imagesAsText(model.images));
    writeFileAtomic(folder / "points3D.txt", pointsAsText(model.points));
}

} // namespace vergence::sugar
