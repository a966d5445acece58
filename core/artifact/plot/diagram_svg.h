#pragma once

#include <string>

#include "core/view/diagram.h"

namespace vergence::plot {

/// The drawing as an SVG element for a page with svgStyle(): its colours are classes, so that it
/// suits light and dark paper. No file and no font outside of it is needed.
std::string toSvg(const Diagram& diagram);

/// The drawing as a file of its own, on white or dark paper, with its colours and fonts named.
std::string svgFile(const Diagram& diagram, bool isDark = false);

/// Style sheet of those classes, for light or dark paper; cells of tables may carry them too.
std::string svgStyle(bool isDark);

/// Text for HTML and XML.
std::string escaped(const std::string& text);

} // namespace vergence::plot
