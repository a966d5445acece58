#pragma once

#include <string>

#include "core/artifact/artifact_store.h"
#include "core/view/diagram.h"

namespace vergence::plot {

/// The drawing as name.png and name.svg on white paper. Throws OutputError.
void writeDrawing(ArtifactStore& artifacts, const std::string& name, const Diagram& drawing,
                  const std::string& role, const std::string& title);

} // namespace vergence::plot
