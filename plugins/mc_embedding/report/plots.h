#pragma once

#include "core/artifact/plot/diagram_image.h"
#include "core/artifact/plot/diagram_style.h"
#include "core/artifact/plot/diagram_svg.h"
#include "core/artifact/plot/plot.h"

// The drawings of the studio, under the names that the reports of this lab use.
namespace vergence::mc_embedding {

using plot::escaped;
using plot::heatColour;
using plot::inkClass;
using plot::inkOf;
using plot::layOut;
using plot::Plot;
using plot::PlotAxis;
using plot::PlotCells;
using plot::PlotTable;
using plot::shortNumber;
using plot::svgStyle;
using plot::textLength;
using plot::tiled;
using plot::toImage;
using plot::toSvg;
using plot::wrapped;

} // namespace vergence::mc_embedding
