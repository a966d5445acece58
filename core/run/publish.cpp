#include "core/run/publish.h"

#include <span>

#include "core/artifact/image_ops.h"

namespace vergence {

void publishImage(RunContext& context, const std::string& stream, const Image& image)
{
    const Image converted = image.channels == 4 ? Image{} : toRgba(image);
    const Image& pixels = image.channels == 4 ? image : converted;
    FrameInfo info;
    info.stream = stream;
    info.step = context.step();
    info.width = static_cast<std::uint32_t>(pixels.width);
    info.height = static_cast<std::uint32_t>(pixels.height);
    context.frames().publish(std::move(info), std::as_bytes(std::span(pixels.pixels)));
}

void publishDrawing(RunContext& context, const std::string& stream, const Diagram& drawing)
{
    context.frames().publishDiagram(stream, drawing.toJson(), context.step());
}

} // namespace vergence
