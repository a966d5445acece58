#pragma once

#include <string>

#include "core/view/diagram.h"

namespace vergence::mc_embedding {

/// The drawing as an SVG element on white, scaling with its container; no file and no font outside
/// of it is needed.
std::string toSvg(const Diagram& diagram);

/// Text for HTML and XML.
std::string escaped(const std::string& text);

} // namespace vergence::mc_embedding
