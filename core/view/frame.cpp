#include "core/view/frame.h"

#include <array>
#include <utility>

#include "core/base/error.h"

namespace vergence {

namespace {

constexpr std::array<std::pair<StreamKind, const char*>, 9> kStreamKinds{{
    {StreamKind::Image, "image"},
    {StreamKind::ImageStack, "image_stack"},
    {StreamKind::Splats, "splats"},
    {StreamKind::Mesh, "mesh"},
    {StreamKind::HeatMap, "heat_map"},
    {StreamKind::Scatter, "scatter"},
    {StreamKind::Gallery, "gallery"},
    {StreamKind::FrameStream, "frame_stream"},
    {StreamKind::Diagram, "diagram"},
}};

} // namespace

std::size_t bytesPerPixel(PixelFormat format)
{
    switch (format) {
    case PixelFormat::Rgba8:
    case PixelFormat::R32F:
        return 4;
    case PixelFormat::Rgba16F:
        return 8;
    }
    throw ContractError("bytesPerPixel: unknown pixel format");
}

std::string nameOf(StreamKind kind)
{
    for (const auto& [value, name] : kStreamKinds) {
        if (value == kind)
            return name;
    }
    throw ContractError("nameOf: unknown stream kind");
}

StreamKind streamKindFromName(const std::string& name)
{
    std::string known;
    for (const auto& [value, text] : kStreamKinds) {
        if (text == name)
            return value;
        known += (known.empty() ? "" : ", ") + std::string(text);
    }
    throw ContractError("Unknown stream kind `" + name + "`; there is: " + known + ".");
}

} // namespace vergence
