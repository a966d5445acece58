#include "core/artifact/plot/drawing_files.h"

#include "core/artifact/plot/diagram_image.h"
#include "core/artifact/plot/diagram_svg.h"

namespace vergence::plot {

void writeDrawing(ArtifactStore& artifacts, const std::string& name, const Diagram& drawing,
                  const std::string& role, const std::string& title)
{
    artifacts.writePng(name + ".png", toImage(drawing), role, title);
    artifacts.writeText(name + ".svg", svgFile(drawing), role, title);
}

} // namespace vergence::plot
