#include <fmt/format.h>

#include "core/compute/graph/functions.h"
#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/spatial.h"

namespace vergence {

namespace {
/// Rows, columns and channels of an image batch, whichever way it lies.
struct ImageExtents {
    Index count, rows, columns, channels;
    bool channelsLast;

    ImageExtents(const Tensor& x, bool last) : channelsLast(last)
    {
        expects(x.rank() == 4, fmt::format("{} is not a batch of images", toString(x.shape())));
        count = x.extent(0);
        rows = x.extent(last ? 1 : 2);
        columns = x.extent(last ? 2 : 3);
        channels = x.extent(last ? 3 : 1);
    }
    Shape shape() const
    {
        return channelsLast ? Shape{count, rows, columns, channels}
                            : Shape{count, channels, rows, columns};
    }
};

using PixelMove = void (*)(Stream&, const Tensor&, int, bool, const Tensor&);

/// A permutation of pixels; its derivative is the inverse.
Value movePixels(Graph& graph, Value x, const Shape& shape, int factor, bool channelsLast,
                 PixelMove move, PixelMove inverse)
{
    const Tensor y = graph.take(shape, graph.tensor(x).dtype());
    move(graph.stream(), graph.dense(x), factor, channelsLast, y);
    return graph.record(y, {x}, [x, factor, channelsLast, inverse](Graph& g, const Tensor& gradY) {
        OverwrittenGradient gradX(g, x);
        inverse(g.stream(), gradY, factor, channelsLast, gradX.tensor());
        gradX.finish();
    });
}
} // namespace

Value unfoldPatches(Graph& graph, Value image, int patch)
{
    const Tensor& pixels = graph.dense(image);
    const ImageExtents extents(pixels, false);
    expects(patch > 0, "unfoldPatches: a patch has at least one pixel");
    const Tensor y = graph.take({extents.count, (extents.rows / patch) * (extents.columns / patch),
                                 extents.channels * patch * patch},
                                pixels.dtype());
    unfoldPatches(graph.stream(), pixels, patch, y);
    return graph.record(y, {image}, [image, patch](Graph& g, const Tensor& gradY) {
        OverwrittenGradient gradient(g, image);
        unfoldPatchesBackward(g.stream(), gradY, patch, gradient.tensor());
        gradient.finish();
    });
}

Value resamplePositions(Graph& graph, Value grid, Index from, const Tensor& rowMap,
                        const Tensor& columnMap)
{
    const Tensor& positions = graph.tensor(grid);
    expects(positions.rank() == 2 && positions.extent(0) == from * from && rowMap.rank() == 2 &&
                columnMap.rank() == 2 && rowMap.extent(1) == from && columnMap.extent(1) == from,
            fmt::format("resamplePositions: positions {} and maps {} and {} do not fit a grid of "
                        "{} by {}",
                        toString(positions.shape()), toString(rowMap.shape()),
                        toString(columnMap.shape()), from, from));
    const Index rows = rowMap.extent(0), columns = columnMap.extent(0);
    const Index width = positions.extent(1);
    // One product per axis, each along the outermost dimension.
    Value x = reshape(graph, grid, {from, from * width});
    x = matmul(graph, graph.constant(rowMap), x);
    x = permute(graph, reshape(graph, x, {rows, from, width}), {1, 0, 2});
    x = matmul(graph, graph.constant(columnMap), reshape(graph, x, {from, rows * width}));
    x = permute(graph, reshape(graph, x, {columns, rows, width}), {1, 0, 2});
    return reshape(graph, x, {rows * columns, width});
}

Value upsampleNearest2(Graph& graph, Value x, bool channelsLast)
{
    ImageExtents extents(graph.tensor(x), channelsLast);
    extents.rows *= 2;
    extents.columns *= 2;
    const Tensor y = graph.take(extents.shape(), graph.tensor(x).dtype());
    upsampleNearest2(graph.stream(), graph.dense(x), channelsLast, y);
    return graph.record(y, {x}, [x, channelsLast](Graph& g, const Tensor& gradY) {
        const auto target = g.gradientTarget(x);
        upsampleNearest2Backward(g.stream(), gradY, channelsLast, target.tensor, target.accumulate);
    });
}

Value pixelShuffle(Graph& graph, Value x, int factor, bool channelsLast)
{
    ImageExtents extents(graph.tensor(x), channelsLast);
    expects(factor > 0 && extents.channels % (factor * factor) == 0,
            fmt::format("pixelShuffle: {} channels are not blocks of {} by {}", extents.channels,
                        factor, factor));
    extents.rows *= factor;
    extents.columns *= factor;
    extents.channels /= factor * factor;
    return movePixels(graph, x, extents.shape(), factor, channelsLast, pixelShuffle,
                      pixelUnshuffle);
}

Value pixelUnshuffle(Graph& graph, Value x, int factor, bool channelsLast)
{
    ImageExtents extents(graph.tensor(x), channelsLast);
    expects(factor > 0 && extents.rows % factor == 0 && extents.columns % factor == 0,
            fmt::format("pixelUnshuffle: {} by {} pixels are not blocks of {}", extents.rows,
                        extents.columns, factor));
    extents.rows /= factor;
    extents.columns /= factor;
    extents.channels *= factor * factor;
    return movePixels(graph, x, extents.shape(), factor, channelsLast, pixelUnshuffle,
                      pixelShuffle);
}

} // namespace vergence
