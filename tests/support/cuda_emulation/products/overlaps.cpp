#include "tests/support/cuda_emulation/products/overlaps.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace vergence::emulation {

namespace {

/// First bytes of all columns, ascending.
std::vector<std::uintptr_t> columnsOf(const Matrix& matrix, const void* data)
{
    std::vector<std::uintptr_t> columns;
    columns.reserve(static_cast<std::size_t>(matrix.batches * matrix.columns));
    for (std::int64_t batch = 0; batch < matrix.batches; ++batch) {
        for (std::int64_t column = 0; column < matrix.columns; ++column) {
            const std::int64_t element = batch * matrix.distance + column * matrix.stride;
            columns.push_back(reinterpret_cast<std::uintptr_t>(data) +
                              static_cast<std::uintptr_t>(element) * sizeOf(matrix.type));
        }
    }
    std::ranges::sort(columns);
    return columns;
}

} // namespace

bool overlapsItself(const Matrix& matrix)
{
    if (matrix.columns > 1 && matrix.stride < matrix.rows)
        return true;
    // Two columns are |columns between · stride + batches between · distance| apart; for each
    // number of batches between, one of two numbers of columns brings them closest.
    for (std::int64_t between = 1; between < matrix.batches; ++between) {
        const std::int64_t apart = std::abs(between * matrix.distance);
        const std::int64_t below =
            matrix.columns > 1 ? std::min(apart / matrix.stride, matrix.columns - 1) : 0;
        const std::int64_t above = std::min(below + 1, matrix.columns - 1);
        if (std::abs(apart - below * matrix.stride) < matrix.rows ||
            std::abs(apart - above * matrix.stride) < matrix.rows)
            return true;
    }
    return false;
}

bool overlap(const Matrix& x, const void* xData, const Matrix& y, const void* yData)
{
    const auto xFirst = reinterpret_cast<std::uintptr_t>(xData);
    const auto yFirst = reinterpret_cast<std::uintptr_t>(yData);
    if (xFirst + bytesOf(x) <= yFirst || yFirst + bytesOf(y) <= xFirst)
        return false;
    const auto xColumns = columnsOf(x, xData), yColumns = columnsOf(y, yData);
    const std::size_t xBytes = static_cast<std::size_t>(x.rows) * sizeOf(x.type);
    const std::size_t yBytes = static_cast<std::size_t>(y.rows) * sizeOf(y.type);
    for (std::size_t i = 0, j = 0; i < xColumns.size() && j < yColumns.size();) {
        if (xColumns[i] + xBytes <= yColumns[j])
            ++i;
        else if (yColumns[j] + yBytes <= xColumns[i])
            ++j;
        else
            return true;
    }
    return false;
}

Matrix vectorOf(cudaDataType_t type, std::int64_t length, int batches, std::int64_t distance)
{
    Matrix vector{};
    vector.type = type;
    vector.rows = vector.stride = length;
    vector.columns = 1;
    vector.batches = batches;
    vector.distance = distance;
    return vector;
}

} // namespace vergence::emulation
