#include "core/run/frame_file.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

using nlohmann::json;

json toJson(const FrameInfo& info)
{
    return {{"stream", info.stream}, {"sequence", info.sequence},
            {"step", info.step},     {"format", static_cast<std::uint32_t>(info.format)},
            {"width", info.width},   {"height", info.height},
            {"layers", info.layers}, {"meta", info.meta}};
}

/// Throws json::exception where a member is missing.
FrameInfo infoFrom(const json& object)
{
    FrameInfo info;
    info.stream = object.at("stream");
    info.sequence = object.at("sequence");
    info.step = object.at("step");
    info.format = static_cast<PixelFormat>(object.at("format").get<std::uint32_t>());
    info.width = object.at("width");
    info.height = object.at("height");
    info.layers = object.at("layers");
    info.meta = object.at("meta");
    return info;
}

bool isPossible(const FrameInfo& info)
{
    constexpr std::uint32_t kLargest = 65536;
    return info.format <= PixelFormat::R32F && info.width <= kLargest && info.height <= kLargest &&
           info.layers <= kLargest;
}

} // namespace

void writeFrameFile(const std::filesystem::path& path, const Frame& frame)
{
    expects(!frame.shared && frame.pixels.size() == frame.info.pixelBytes(),
            "writeFrameFile: a frame in host memory");
    std::string bytes =
        toJson(frame.info).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    bytes.append(reinterpret_cast<const char*>(frame.pixels.data()), frame.pixels.size());
    writeFileAtomic(path, bytes);
}

std::optional<Frame> readFrameFile(const std::filesystem::path& path, std::uint64_t seen)
{
    std::ifstream file(path, std::ios::binary);
    std::string head;
    if (!std::getline(file, head))
        return std::nullopt;
    Frame frame;
    try {
        frame.info = infoFrom(json::parse(head));
    } catch (const json::exception&) {
        return std::nullopt;
    }
    const auto begin = file.tellg();
    file.seekg(0, std::ios::end);
    const auto pixelBytes = static_cast<std::size_t>(file.tellg() - begin);
    if (!isPossible(frame.info) || frame.info.sequence <= seen ||
        pixelBytes != frame.info.pixelBytes())
        return std::nullopt;
    frame.pixels.resize(pixelBytes);
    file.seekg(begin);
    file.read(reinterpret_cast<char*>(frame.pixels.data()),
              static_cast<std::streamsize>(pixelBytes));
    return file ? std::optional(std::move(frame)) : std::nullopt;
}

} // namespace vergence
