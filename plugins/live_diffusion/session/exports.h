#pragma once

#include <string>

#include "core/artifact/artifact_store.h"
#include "core/artifact/image.h"
#include "core/run/run_context.h"
#include "core/view/diagram.h"

namespace vergence::live {

/// A drawing as name.png and name.svg.
void exportDrawing(ArtifactStore& artifacts, const std::string& name, const Diagram& drawing,
                   const std::string& role, const std::string& title);
void publishDrawing(RunContext& context, const std::string& stream, const Diagram& drawing);
/// RGB or RGBA.
void publishImage(RunContext& context, const std::string& stream, const Image& image);

} // namespace vergence::live
