#include "plugins/live_diffusion/session/exports.h"

#include "core/artifact/image_ops.h"
#include "core/artifact/plot/diagram_image.h"
#include "core/artifact/plot/diagram_svg.h"

namespace vergence::live {

void exportDrawing(ArtifactStore& artifacts, const std::string& name, const Diagram& drawing,
                   const std::string& role, const std::string& title)
{
    artifacts.writePng(name + ".png", plot::toImage(drawing), role, title);
    artifacts.writeText(name + ".svg", plot::svgFile(drawing), role, title);
}

void publishDrawing(RunContext& context, const std::string& stream, const Diagram& drawing)
{
    context.frames().publishDiagram(stream, drawing.toJson(), context.step());
}

void publishImage(RunContext& context, const std::string& stream, const Image& image)
{
    FrameInfo info;
    info.stream = stream;
    info.step = context.step();
    info.width = static_cast<std::uint32_t>(image.width);
    info.height = static_cast<std::uint32_t>(image.height);
    if (image.channels == 4) {
        context.frames().publish(std::move(info), std::as_bytes(std::span(image.pixels)));
        return;
    }
    std::vector<std::uint8_t> pixels(image.pixels.size() / 3 * 4, 255);
    for (std::size_t i = 0, p = 0; i < image.pixels.size(); i += 3, p += 4)
        std::copy_n(image.pixels.begin() + static_cast<std::ptrdiff_t>(i), 3,
                    pixels.begin() + static_cast<std::ptrdiff_t>(p));
    context.frames().publish(std::move(info), std::as_bytes(std::span(pixels)));
}

} // namespace vergence::live
