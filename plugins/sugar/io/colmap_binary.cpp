#include <string>

#include <fmt/format.h>

#include "core/artifact/mapped_file.h"
#include "core/artifact/output_file.h"
#include "plugins/sugar/io/byte_reader.h"
#include "plugins/sugar/io/colmap.h"
#include "plugins/sugar/io/colmap_parts.h"

namespace vergence::sugar {

namespace {

constexpr const char* kRemedy = "Export the model from COLMAP again or copy it anew.";
constexpr std::size_t kCameraBytes = 24, kImageBytes = 73, kKeypointBytes = 24, kPointBytes = 51,
                      kTrackBytes = 8;

SourceCamera readCamera(ByteReader& reader)
{
    SourceCamera camera;
    camera.id = static_cast<int>(reader.read<std::uint32_t>("the id of a camera"));
    const auto number = reader.read<std::int32_t>("a camera model");
    const auto model = cameraModel(number);
    if (!model)
        reader.fail(fmt::format("camera {} has the unknown camera model {} (known: 0 to 10)",
                                camera.id, number));
    camera.model = *model;
    const auto width = reader.read<std::uint64_t>("a width");
    const auto height = reader.read<std::uint64_t>("a height");
    camera.width = static_cast<int>(std::min<std::uint64_t>(width, kLargestSide + 1));
    camera.height = static_cast<int>(std::min<std::uint64_t>(height, kLargestSide + 1));
    for (int i = 0; i < parameterCount(camera.model); ++i)
        camera.parameters.push_back(reader.read<double>("the parameters of a camera"));
    if (const std::string fault = faultOf(camera); !fault.empty())
        reader.fail(fault);
    return camera;
}

ColmapImage readImageRecord(ByteReader& reader)
{
    ColmapImage image;
    image.id = reader.read<std::uint32_t>("the id of an image");
    image.quaternion = reader.read<std::array<double, 4>>("a rotation");
    image.translation = reader.read<std::array<double, 3>>("a translation");
    image.camera = reader.read<std::uint32_t>("the camera of an image");
    image.name = reader.zeroTerminated("the name of an image");
    const std::size_t count = reader.count(kKeypointBytes, "the number of keypoints");
    image.keypoints.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        ColmapKeypoint& keypoint = image.keypoints.emplace_back();
        keypoint.x = reader.read<double>("a keypoint");
        keypoint.y = reader.read<double>("a keypoint");
        keypoint.point = reader.read<std::int64_t>("a keypoint");
    }
    return image;
}

ColmapPoint readPoint(ByteReader& reader)
{
    ColmapPoint point;
    point.id = reader.read<std::uint64_t>("the id of a point");
    point.position = reader.read<std::array<double, 3>>("a position");
    point.colour = reader.read<std::array<std::uint8_t, 3>>("a colour");
    point.error = reader.read<double>("a reprojection error");
    const std::size_t count = reader.count(kTrackBytes, "the length of a track");
    point.track.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        ColmapTrackElement& element = point.track.emplace_back();
        element.image = reader.read<std::int32_t>("a track");
        element.keypoint = reader.read<std::int32_t>("a track");
    }
    return point;
}

template <class Record>
std::vector<Record> readAll(std::span<const std::byte> bytes, const std::string& file,
                            std::size_t recordBytes, const char* countName,
                            Record (*readOne)(ByteReader&))
{
    ByteReader reader(bytes, file, kRemedy);
    const std::size_t count = reader.count(recordBytes, countName);
    std::vector<Record> records;
    records.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        records.push_back(readOne(reader));
    reader.expectEnd();
    return records;
}

template <class T>
void put(std::string& bytes, const T& value)
{
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::string camerasAsBinary(const std::vector<SourceCamera>& cameras)
{
    std::string bytes;
    put(bytes, static_cast<std::uint64_t>(cameras.size()));
    for (const SourceCamera& camera : cameras) {
        put(bytes, static_cast<std::uint32_t>(camera.id));
        put(bytes, static_cast<std::int32_t>(camera.model));
        put(bytes, static_cast<std::uint64_t>(camera.width));
        put(bytes, static_cast<std::uint64_t>(camera.height));
        for (const double parameter : camera.parameters)
            put(bytes, parameter);
    }
    return bytes;
}

std::string imagesAsBinary(const std::vector<ColmapImage>& images)
{
    std::string bytes;
    put(bytes, static_cast<std::uint64_t>(images.size()));
    for (const ColmapImage& image : images) {
        put(bytes, image.id);
        put(bytes, image.quaternion);
        put(bytes, image.translation);
        put(bytes, image.camera);
        bytes.append(image.name.c_str(), image.name.size() + 1);
        put(bytes, static_cast<std::uint64_t>(image.keypoints.size()));
        for (const ColmapKeypoint& keypoint : image.keypoints)
            put(bytes, keypoint);
    }
    return bytes;
}

std::string pointsAsBinary(const std::vector<ColmapPoint>& points)
{
    std::string bytes;
    put(bytes, static_cast<std::uint64_t>(points.size()));
    for (const ColmapPoint& point : points) {
        put(bytes, point.id);
        put(bytes, point.position);
        put(bytes, point.colour);
        put(bytes, point.error);
        put(bytes, static_cast<std::uint64_t>(point.track.size()));
        for (const ColmapTrackElement& element : point.track)
            put(bytes, element);
    }
    return bytes;
}

} // namespace

std::vector<SourceCamera> parseColmapCameras(std::span<const std::byte> bytes,
                                             const std::string& file)
{
    return readAll(bytes, file, kCameraBytes, "the number of cameras", readCamera);
}

std::vector<ColmapImage> parseColmapImages(std::span<const std::byte> bytes,
                                           const std::string& file)
{
    return readAll(bytes, file, kImageBytes, "the number of images", readImageRecord);
}

std::vector<ColmapPoint> parseColmapPoints(std::span<const std::byte> bytes,
                                           const std::string& file)
{
    return readAll(bytes, file, kPointBytes, "the number of points", readPoint);
}

void writeColmapBinary(const std::filesystem::path& folder, const ColmapModel& model)
{
    writeFileAtomic(folder / "cameras.bin", camerasAsBinary(model.cameras));
    writeFileAtomic(folder / "images.bin", imagesAsBinary(model.images));
    writeFileAtomic(folder / "points3D.bin", pointsAsBinary(model.points));
}

} // namespace vergence::sugar
