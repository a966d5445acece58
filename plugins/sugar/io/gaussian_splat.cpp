#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "core/artifact/output_file.h"
#include "core/base/error.h"
#include "plugins/sugar/io/gaussian_parse.h"

namespace vergence::sugar {

namespace {

constexpr double kC0 = 0.28209479177387814;

/// One Gaussian as the file has it.
struct SplatRecord {
    std::array<float, 3> position, scale;
    std::array<std::uint8_t, 4> colour;   ///< red green blue opacity
    std::array<std::uint8_t, 4> rotation; ///< w x y z, 128 + 128 q
};
static_assert(sizeof(SplatRecord) == 32);

std::uint8_t byteOf(double value)
{
    return static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
}

SplatRecord recordOf(const GaussianCloud& cloud, std::size_t i)
{
    SplatRecord record{};
    const PlainGaussian plain = plainGaussian(cloud, i);
    double norm = 0;
    for (std::size_t k = 0; k < 4; ++k)
        norm += static_cast<double>(cloud.rotation[4 * i + k]) * cloud.rotation[4 * i + k];
    norm = norm > 0 ? std::sqrt(norm) : 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        record.position[axis] = cloud.position[3 * i + axis];
        record.scale[axis] = static_cast<float>(std::exp(plain.logScale[axis]));
        record.colour[axis] = byteOf(255 * (0.5 + kC0 * cloud.shDc[3 * i + axis]));
    }
    record.colour[3] = byteOf(255 * plain.opacity);
    for (std::size_t k = 0; k < 4; ++k)
        record.rotation[k] = byteOf(128 + 128 * cloud.rotation[4 * i + k] / norm);
    return record;
}

/// Volume times opacity, largest first: viewers that stream show the important ones early.
std::vector<std::size_t> byImportance(const GaussianCloud& cloud)
{
    std::vector<double> importance(cloud.opacity.size());
    for (std::size_t i = 0; i < importance.size(); ++i) {
        const PlainGaussian plain = plainGaussian(cloud, i);
        importance[i] = plain.logScale[0] + plain.logScale[1] + plain.logScale[2] +
                        std::log(std::max(plain.opacity, 1e-300));
    }
    std::vector<std::size_t> order(importance.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return importance[a] > importance[b]; });
    return order;
}

void append(GaussianCloud& cloud, const SplatRecord& record)
{
    bool hasRotation = false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        cloud.position.push_back(record.position[axis]);
        cloud.logScale.push_back(std::log(std::max(record.scale[axis], 1e-30F)));
        cloud.shDc.push_back(static_cast<float>((record.colour[axis] / 255.0 - 0.5) / kC0));
    }
    // A quarter step off the ends: neither infinite nor another byte when written again.
    cloud.opacity.push_back(
        static_cast<float>(logit(std::clamp(record.colour[3] / 255.0, 0.25 / 255, 254.75 / 255))));
    for (const std::uint8_t value : record.rotation) {
        cloud.rotation.push_back(static_cast<float>((value - 128) / 128.0));
        hasRotation = hasRotation || value != 128;
    }
    if (!hasRotation)
        cloud.rotation[cloud.rotation.size() - 4] = 1;
}

bool isUsable(const SplatRecord& record)
{
    const auto isFinite = [](float value) { return std::isfinite(value); };
    return std::all_of(record.position.begin(), record.position.end(), isFinite) &&
           std::all_of(record.scale.begin(), record.scale.end(), isFinite);
}

} // namespace

void writeSplat(const std::filesystem::path& path, const GaussianCloud& cloud)
{
    constexpr std::size_t kPiece = 1 << 15; // records
    OutputFile output(path);
    std::vector<SplatRecord> records;
    for (const std::size_t i : byImportance(cloud)) {
        records.push_back(recordOf(cloud, i));
        if (records.size() == kPiece) {
            output.write({reinterpret_cast<const char*>(records.data()), kPiece * 32});
            records.clear();
        }
    }
    output.write({reinterpret_cast<const char*>(records.data()), records.size() * 32});
    output.commit();
}

GaussianCloud parseSplat(std::span<const std::byte> bytes, const std::string& file)
{
    if (bytes.size() % sizeof(SplatRecord) != 0)
        throw InputError(
            fmt::format("{} has {} bytes, which is no multiple of 32: it is cut off or "
                        "no .splat file. Copy it anew.",
                        file, bytes.size()));
    GaussianCloud cloud;
    for (std::size_t offset = 0; offset < bytes.size(); offset += sizeof(SplatRecord)) {
        SplatRecord record;
        std::memcpy(&record, bytes.data() + offset, sizeof(record));
        if (!isUsable(record))
            throw InputError(
                fmt::format("{}, offset {}: position or size is not finite. Export the "
                            "Gaussians again.",
                            file, offset));
        append(cloud, record);
    }
    return cloud;
}

} // namespace vergence::sugar
