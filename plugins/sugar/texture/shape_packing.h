#pragma once

#include <array>
#include <functional>
#include <vector>

namespace vergence::sugar {

/// Texels [begin, end) of one row.
struct TexelRun {
    int row = 0, begin = 0, end = 0;
};

/// A set of texels inside a box.
struct TexelShape {
    int width = 0, height = 0;
    std::vector<TexelRun> runs; ///< long ones first

    TexelShape() = default;
    /// `mask`: [height, width], not 0 where the shape is.
    TexelShape(int columns, int rows, const std::vector<unsigned char>& mask);
    double area() const; ///< texels
};

/// Where a shape came to lie: its box's corner of least x and y, after the turns.
struct ShapePlace {
    int x = 0, y = 0, page = 0;
    int quarterTurns = 0; ///< from x to y
};

TexelShape turned(const TexelShape& shape, int quarterTurns);
/// A point of the shape's box, texels, after the turns.
std::array<double, 2> turned(const TexelShape& shape, int quarterTurns,
                             const std::array<double, 2>& point);

/// Places shapes on square pages, long ones first, each in the turn and the place that end at the
/// lowest row of the first page with room; small ones come to lie in gaps between and within large
/// ones. Returns the number of pages; 0 where a shape is larger than a page, more than `most` would
/// be needed or `stop` says so.
int packShapes(const std::vector<TexelShape>& shapes, int side, int most,
               std::vector<ShapePlace>& places, const std::function<bool()>& stop = {});

} // namespace vergence::sugar
