#pragma once

#include <string>
#include <vector>

namespace vergence::plot {

/// A text as lines of a pen, so that pictures need no font of the system. Units of the face's size:
/// x from 0 to `width`, y up from the base line.
struct StrokedText {
    struct Stroke {
        std::vector<double> x, y;
    };
    std::vector<Stroke> strokes;
    double width = 0;
};

/// UTF-8; letters without a glyph become a box. `size`: height of the face; capitals are 0.72 of
/// it.
StrokedText strokedText(const std::string& text, double size);

} // namespace vergence::plot
