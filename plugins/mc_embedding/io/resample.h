#pragma once

#include <cstdint>
#include <vector>

#include "plugins/mc_embedding/io/preprocess.h"

namespace vergence::mc_embedding {

/// Weights of one axis: output position o reads `count[o]` inputs from `first[o]` on with the
/// integer weights coefficients[o · taps …], in units of 2⁻²². Specification, section 9.4.
struct AxisWeights {
    int taps = 0; ///< room per position
    std::vector<int> first, count;
    std::vector<std::int32_t> coefficients;
};
/// For the outputs [begin, end) of an axis that goes from `in` to `out` positions.
AxisWeights axisWeights(int in, int out, Filter filter, int begin, int end);

/// Part of an output picture.
struct Window {
    int x = 0, y = 0, width = 0, height = 0;
};
/// The pixels of `window` of resized(image, width, height, filter), without computing the others.
Image resizedWindow(const Image& image, int width, int height, Filter filter, const Window& window);

/// One pass along rows and one along columns; the plain ones are the reference of the wide ones,
/// which need AVX2. All overwrite `to` with clamped bytes.
struct RowPass {
    const Image* from = nullptr;
    int firstRow = 0; ///< of `from` that becomes row 0 of `to`
    const AxisWeights* weights = nullptr;
    Image* to = nullptr;
};
void filterRows(const RowPass& pass);
void filterRowsPlain(const RowPass& pass);

struct ColumnPass {
    const Image* from = nullptr;
    int firstRow = 0; ///< number of row 0 of `from` in the picture that the weights mean
    const AxisWeights* weights = nullptr;
    Image* to = nullptr;
};
void filterColumns(const ColumnPass& pass);
void filterColumnsPlain(const ColumnPass& pass);

} // namespace vergence::mc_embedding
