#pragma once

#include <string>

#include "core/artifact/image.h"
#include "core/run/run_context.h"
#include "core/view/diagram.h"

namespace vergence {

/// To whoever watches the run: a picture, RGB or RGBA, or a drawing, of the current step.
void publishImage(RunContext& context, const std::string& stream, const Image& image);
void publishDrawing(RunContext& context, const std::string& stream, const Diagram& drawing);

} // namespace vergence
