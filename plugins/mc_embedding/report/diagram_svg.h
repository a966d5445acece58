#pragma once

#include <string>

#include "core/view/diagram.h"

namespace vergence::mc_embedding {

/// The drawing as an SVG element for a page with svgStyle(): its colours are classes, so that it
/// suits light and dark paper. No file and no font outside of it is needed.
std::string toSvg(const Diagram& diagram);

/// Style sheet of those classes, for light or dark paper; cells of tables may carry them too.
std::string svgStyle(bool isDark);

/// Text for HTML and XML.
std::string escaped(const std::string& text);

} // namespace vergence::mc_embedding
