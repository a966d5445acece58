#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include <zlib.h>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/sugar/io/byte_reader.h"
#include "plugins/sugar/io/gaussian_parse.h"

namespace vergence::sugar {

namespace {

// Facts of the format: README of the public SPZ library (2024), "File Format".

constexpr std::uint32_t kMagic = 0x5053474e;
constexpr const char* kRemedy = "Export the Gaussians again.";
constexpr int kFractionalBits = 12;
constexpr double kColourScale = 0.15;

struct SpzHeader {
    std::uint32_t magic = kMagic, version = 2, count = 0;
    std::uint8_t degree = 0, fractionalBits = kFractionalBits, flags = 0, reserved = 0;
};
static_assert(sizeof(SpzHeader) == 16);

/// The file has y up and z backward: signs of the harmonics of degrees 1 to 3 under that turn.
constexpr std::array<double, 15> kHarmonicSigns{-1, -1, 1,  -1, 1, 1,  -1, 1,
                                                -1, 1,  -1, -1, 1, -1, 1};
constexpr std::array<double, 3> kAxisSigns{1, -1, -1};

std::size_t rotationBytes(std::uint32_t version)
{
    return version == 2 ? 3 : 4;
}

std::size_t bytesEach(const SpzHeader& header)
{
    return 9 + 1 + 3 + 3 + rotationBytes(header.version) +
           static_cast<std::size_t>(3 * restCoefficients(header.degree));
}

char quantised(double value)
{
    return static_cast<char>(static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L)));
}

/// Bits after the point that leave room for the farthest position in 24 bits.
int fractionalBitsFor(const GaussianCloud& cloud)
{
    double farthest = 0;
    for (const float value : cloud.position)
        farthest = std::max(farthest, std::abs(static_cast<double>(value)));
    int bits = kFractionalBits;
    while (bits > 0 && farthest * std::ldexp(1.0, bits) > 8'388'607)
        --bits;
    return bits;
}

void appendPositions(std::string& bytes, const GaussianCloud& cloud, int fractionalBits)
{
    const double steps = std::ldexp(1.0, fractionalBits);
    for (std::size_t i = 0; i < cloud.position.size(); ++i) {
        const double value = cloud.position[i] * kAxisSigns[i % 3] * steps;
        const auto fixed =
            static_cast<std::uint32_t>(std::lround(std::clamp(value, -8'388'608.0, 8'388'607.0)));
        for (int shift = 0; shift < 24; shift += 8)
            bytes += static_cast<char>(fixed >> shift & 0xff);
    }
}

/// x y z of the unit quaternion with w ≥ 0.
void appendRotation(std::string& bytes, std::span<const float> q)
{
    double norm = 0;
    for (const float value : q)
        norm += static_cast<double>(value) * value;
    const double scale = (q[0] < 0 ? -1 : 1) / (norm > 0 ? std::sqrt(norm) : 1);
    for (std::size_t axis = 0; axis < 3; ++axis)
        bytes += quantised(127.5 + 127.5 * scale * kAxisSigns[axis] * q[axis + 1]);
}

std::string unpacked(const GaussianCloud& cloud)
{
    SpzHeader header;
    header.count = static_cast<std::uint32_t>(cloud.count());
    header.degree = static_cast<std::uint8_t>(cloud.degree);
    header.fractionalBits = static_cast<std::uint8_t>(fractionalBitsFor(cloud));
    header.flags = cloud.filter.empty() ? 0 : 1; // trained with mip filters
    const std::size_t count = cloud.opacity.size();
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes.reserve(sizeof(header) + count * bytesEach(header));
    appendPositions(bytes, cloud, header.fractionalBits);
    for (std::size_t i = 0; i < count; ++i)
        bytes += quantised(255 * plainGaussian(cloud, i).opacity);
    for (const float value : cloud.shDc)
        bytes += quantised(255 * (0.5 + kColourScale * value));
    for (std::size_t i = 0; i < count; ++i) {
        for (const double value : plainGaussian(cloud, i).logScale)
            bytes += quantised(16 * (value + 10));
    }
    for (std::size_t i = 0; i < count; ++i)
        appendRotation(bytes, std::span(cloud.rotation).subspan(4 * i, 4));
    for (std::size_t i = 0; i < count; ++i) {
        const auto rest = restOf(cloud, i);
        for (std::size_t k = 0; k < rest.size(); ++k)
            bytes += quantised(128 + 128 * kHarmonicSigns[k / 3] * rest[k]);
    }
    return bytes;
}

std::string compressed(const std::string& bytes)
{
    z_stream stream{};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        throw Error("Cannot start compressing Gaussians: out of memory.");
    std::string result;
    std::string piece(1 << 18, '\0');
    std::size_t given = 0;
    int state = Z_OK;
    while (state != Z_STREAM_END) {
        if (stream.avail_in == 0 && given < bytes.size()) {
            const std::size_t next = std::min<std::size_t>(bytes.size() - given, 1 << 30);
            stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + given));
            stream.avail_in = static_cast<uInt>(next);
            given += next;
        }
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        state = deflate(&stream, given == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
        result.append(piece, 0, piece.size() - stream.avail_out);
    }
    deflateEnd(&stream);
    return result;
}

/// Unpacks as much of a gzip file as is asked for.
class Inflater {
public:
    Inflater(std::span<const std::byte> bytes, const std::string& file)
        : m_left(bytes),
          m_file(file)
    {
        if (inflateInit2(&m_stream, 15 + 16) != Z_OK)
            throw Error(fmt::format("Cannot start unpacking {}: out of memory.", file));
    }
    ~Inflater() { inflateEnd(&m_stream); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    void read(std::span<std::byte> target)
    {
        std::size_t done = 0;
        while (done < target.size()) {
            feed();
            const std::size_t wanted = std::min<std::size_t>(target.size() - done, 1 << 30);
            m_stream.next_out = reinterpret_cast<Bytef*>(target.data() + done);
            m_stream.avail_out = static_cast<uInt>(wanted);
            const int state = inflate(&m_stream, Z_NO_FLUSH);
            const std::size_t given = wanted - m_stream.avail_out;
            done += given;
            if (done < target.size() && (state != Z_OK || (given == 0 && m_stream.avail_in == 0)))
                fail(state == Z_DATA_ERROR ? "its gzip data are damaged" : "it ends too early");
        }
    }
    [[noreturn]] void fail(const std::string& fault) const
    {
        throw InputError(fmt::format("{} is no whole SPZ file: {}. {}", m_file, fault, kRemedy));
    }

private:
    void feed()
    {
        if (m_stream.avail_in > 0 || m_left.empty())
            return;
        const std::size_t next = std::min<std::size_t>(m_left.size(), 1 << 30);
        m_stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(m_left.data()));
        m_stream.avail_in = static_cast<uInt>(next);
        m_left = m_left.subspan(next);
    }

    std::span<const std::byte> m_left;
    const std::string& m_file;
    z_stream m_stream{};
};

std::vector<std::byte> inflated(std::span<const std::byte> packed, const std::string& file,
                                SpzHeader& header)
{
    // No gzip file grows more than 1032 times; a header that promises more is a lie.
    constexpr std::size_t kLargestGrowth = 1040;
    Inflater inflater(packed, file);
    inflater.read(std::as_writable_bytes(std::span(&header, 1)));
    if (header.magic != kMagic)
        inflater.fail("its first bytes are not those of SPZ");
    if (header.version != 2 && header.version != 3)
        inflater.fail(fmt::format("it has version {}, and only 2 and 3 are known", header.version));
    if (header.degree > 3)
        inflater.fail(fmt::format("it has harmonics of degree {}, and at most 3 are supported",
                                  header.degree));
    if (header.fractionalBits > 24)
        inflater.fail("its positions have an impossible precision");
    const std::size_t size = header.count * bytesEach(header);
    if (size > packed.size() * kLargestGrowth)
        inflater.fail(
            fmt::format("its {} bytes cannot hold {} Gaussians", packed.size(), header.count));
    std::vector<std::byte> bytes(size);
    inflater.read(bytes);
    return bytes;
}

float positionAt(std::span<const std::byte> raw, double step, double sign)
{
    const auto low = std::to_integer<std::uint32_t>(raw[0]) |
                     std::to_integer<std::uint32_t>(raw[1]) << 8 |
                     std::to_integer<std::uint32_t>(raw[2]) << 16;
    const auto value = static_cast<std::int32_t>(low << 8) >> 8; // sign of 24 bits
    return static_cast<float>(sign * step * value);
}

/// w x y z from three bytes: x y z, and w ≥ 0 makes the norm 1.
std::array<double, 4> threeByteRotation(std::span<const std::byte> raw)
{
    std::array<double, 4> q{};
    double sum = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        q[axis + 1] = std::to_integer<int>(raw[axis]) / 127.5 - 1;
        sum += q[axis + 1] * q[axis + 1];
    }
    q[0] = std::sqrt(std::max(0.0, 1 - sum));
    return q;
}

/// w x y z from four bytes: number of the largest of x y z w in two bits, the others in ten each.
std::array<double, 4> fourByteRotation(std::span<const std::byte> raw)
{
    std::uint32_t bits = 0;
    std::memcpy(&bits, raw.data(), sizeof(bits));
    const std::uint32_t largest = bits >> 30;
    std::array<double, 4> xyzw{};
    double sum = 0;
    for (std::uint32_t i = 4; i-- > 0;) {
        if (i == largest)
            continue;
        const double magnitude = std::sqrt(0.5) * (bits & 511) / 511;
        xyzw[i] = (bits >> 9 & 1) != 0 ? -magnitude : magnitude;
        sum += xyzw[i] * xyzw[i];
        bits >>= 10;
    }
    xyzw[largest] = std::sqrt(std::max(0.0, 1 - sum));
    return {xyzw[3], xyzw[0], xyzw[1], xyzw[2]};
}

} // namespace

void writeSpz(const std::filesystem::path& path, const GaussianCloud& cloud)
{
    writeFileAtomic(path, compressed(unpacked(cloud)));
}

GaussianCloud parseSpz(std::span<const std::byte> packed, const std::string& file)
{
    SpzHeader header;
    const std::vector<std::byte> bytes = inflated(packed, file, header);
    const std::size_t count = header.count, rotation = rotationBytes(header.version);
    const auto width = static_cast<std::size_t>(3 * restCoefficients(header.degree));
    ByteReader reader(bytes, file, kRemedy);
    const auto positions = reader.take(9 * count, "positions");
    const auto alphas = reader.take(count, "opacities"),
               colours = reader.take(3 * count, "colours");
    const auto scales = reader.take(3 * count, "sizes");
    const auto rotations = reader.take(rotation * count, "rotations");
    const auto harmonics = reader.take(width * count, "harmonics");
    const double step = std::ldexp(1.0, -header.fractionalBits);
    const auto value = [](std::byte byte) { return std::to_integer<int>(byte); };
    GaussianCloud cloud;
    cloud.degree = header.degree;
    for (std::size_t i = 0; i < 3 * count; ++i) {
        cloud.position.push_back(positionAt(positions.subspan(3 * i, 3), step, kAxisSigns[i % 3]));
        cloud.shDc.push_back(static_cast<float>((value(colours[i]) / 255.0 - 0.5) / kColourScale));
        cloud.logScale.push_back(static_cast<float>(value(scales[i]) / 16.0 - 10));
    }
    for (std::size_t i = 0; i < count; ++i) {
        // A quarter step off the ends: neither infinite nor another byte when written again.
        const double alpha = std::clamp(value(alphas[i]) / 255.0, 0.25 / 255, 254.75 / 255);
        cloud.opacity.push_back(static_cast<float>(logit(alpha)));
        const auto raw = rotations.subspan(rotation * i, rotation);
        const auto q = header.version == 2 ? threeByteRotation(raw) : fourByteRotation(raw);
        for (std::size_t k = 0; k < 4; ++k)
            cloud.rotation.push_back(static_cast<float>(k == 0 ? q[k] : q[k] * kAxisSigns[k - 1]));
    }
    for (std::size_t i = 0; i < width * count; ++i)
        cloud.shRest.push_back(static_cast<float>(kHarmonicSigns[i % width / 3] *
                                                  (value(harmonics[i]) - 128) / 128.0));
    return cloud;
}

} // namespace vergence::sugar
