#include "plugins/live_diffusion/model/tape_ops.h"

#include <fmt/format.h>

#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/pointwise.h"
#include "plugins/live_diffusion/model/tape_kernels.h"

namespace vergence::live {

namespace {
/// Head sizes that attention() of the engine takes.
constexpr Index kLeastHead = 4, kMostHead = 128;

/// Records an operation that cannot be trained through.
Value recordForward(Graph& graph, const Tensor& y, const std::vector<Value>& inputs,
                    const char* what)
{
    return graph.record(y, inputs, [what](Graph&, const Tensor&) {
        throw ContractError(fmt::format("{} runs forward only", what));
    });
}

ResizeArguments resizeArguments(const Tensor& x, Index height, Index width)
{
    ResizeArguments args;
    args.type = x.dtype();
    args.images = x.extent(0);
    args.channels = x.extent(3);
    args.height = x.extent(1);
    args.width = x.extent(2);
    args.toHeight = height;
    args.toWidth = width;
    args.x = x.data();
    return args;
}

NumberArguments numberArguments(const Tensor& numbers, const Tensor& y, double scale)
{
    expects(numbers.dtype() == DType::F32 || numbers.dtype() == DType::F64,
            fmt::format("numbers of a row are F32 or F64, not {}", nameOf(numbers.dtype())));
    NumberArguments args;
    args.type = y.dtype();
    args.isWide = numbers.dtype() == DType::F64;
    args.rows = numbers.size();
    args.columns = y.size() / numbers.size();
    args.scale = scale;
    args.x = numbers.data();
    args.y = y.data();
    return args;
}

/// Attention with stored scores, for head sizes that the tiled one does not take.
Value naiveAttention(Graph& graph, Value qkv, int heads)
{
    const Shape shape = graph.shape(qkv);
    const Index rows = shape[0], tokens = shape[1], width = shape[2] / 3, size = width / heads;
    const auto part = [&](Index which) {
        const Value x = reshape(graph, narrow(graph, qkv, 2, which * width, width),
                                {rows, tokens, heads, size});
        return permute(graph, x, {0, 2, 1, 3});
    };
    const Value q = part(0), k = part(1), v = part(2);
    const double scale = 1 / std::sqrt(static_cast<double>(size));
    const Value scores = softmax(graph, matmul(graph, q, k, false, true, scale));
    const Value o = permute(graph, matmul(graph, scores, v), {0, 2, 1, 3});
    return reshape(graph, o, {rows, tokens, width});
}

Value attendTokens(Graph& graph, Value qkv, int heads)
{
    const Index size = graph.shape(qkv)[2] / 3 / heads;
    if (size < kLeastHead || size > kMostHead)
        return naiveAttention(graph, qkv, heads);
    return attentionPacked(graph, qkv, heads, heads);
}
} // namespace

Value addChannels(Graph& graph, Value x, Value e)
{
    const Tensor& image = graph.dense(x);
    const Index rows = image.extent(0), channels = image.extent(3);
    const Tensor shift = graph.dense(e).reshaped({rows, channels});
    const Tensor ones = graph.take(shift.shape(), shift.dtype());
    fill(graph.stream(), ones, 1);
    const Tensor y = graph.take(image.shape(), image.dtype());
    film(graph.stream(), image, ones, shift, y);
    return graph.record(y, {x, e}, [x, e, rows, channels](Graph& g, const Tensor& gradY) {
        g.passGradient(x, gradY);
        if (!g.needsGradient(e))
            return;
        OverwrittenGradient gradE(g, e);
        const Tensor sums = g.scratch({rows, channels}, sumType(gradY.dtype()));
        g.stream().fillBytes(sums.data(), 0, sums.bytes());
        const Tensor perRow = gradY.reshaped({rows, gradY.size() / (rows * channels), channels});
        for (Index row = 0; row < rows; ++row)
            addColumnSums(g.stream(), perRow.slice(row), sums.slice(row));
        cast(g.stream(), sums, gradE.tensor().reshaped({rows, channels}));
        gradE.finish();
    });
}

Value concatChannels(Graph& graph, std::vector<Value> parts, Index channels)
{
    Index sum = 0;
    for (const Value part : parts)
        sum += graph.shape(part)[3];
    if (sum < channels) {
        Shape shape = graph.shape(parts.front());
        shape[3] = channels - sum;
        const Tensor padding = graph.take(shape, graph.tensor(parts.front()).dtype());
        graph.stream().fillBytes(padding.data(), 0, padding.bytes());
        parts.push_back(graph.constant(padding));
    }
    return parts.size() == 1 ? parts.front() : concat(graph, parts, 3);
}

Value selfAttention(Graph& graph, Value qkv, int heads, Index window)
{
    const Shape shape = graph.shape(qkv);
    const Index rows = shape[0], height = shape[1], width = shape[2], channels = shape[3] / 3;
    if (window == 0) {
        const Value tokens = reshape(graph, qkv, {rows, height * width, 3 * channels});
        return reshape(graph, attendTokens(graph, tokens, heads), {rows, height, width, channels});
    }
    const Index down = height / window, across = width / window;
    Value x = reshape(graph, qkv, {rows, down, window, across, window, 3 * channels});
    x = permute(graph, x, {0, 1, 3, 2, 4, 5});
    x = reshape(graph, x, {rows * down * across, window * window, 3 * channels});
    x = attendTokens(graph, x, heads);
    x = reshape(graph, x, {rows, down, across, window, window, channels});
    x = permute(graph, x, {0, 1, 3, 2, 4, 5});
    return reshape(graph, x, {rows, height, width, channels});
}

Value crossAttention(Graph& graph, Value q, Value keysAndValues, Value bias, int heads)
{
    const Shape shape = graph.shape(q);
    const Index rows = shape[0], tokens = shape[1] * shape[2], channels = shape[3];
    const Index size = channels / heads;
    Value kv = keysAndValues;
    Shape shared = graph.shape(kv);
    const Tensor& added = graph.tensor(bias);
    if (shared[0] == 1 && rows > 1 && added.extent(0) > 1) {
        kv = broadcastLeading(graph, reshape(graph, kv, {shared[1], 1, shared[3]}), rows);
        shared[0] = rows;
    }
    // Rows that share keys and bias are more queries of one row.
    const Index batches = shared[0], queries = rows * tokens / batches;
    kv = reshape(graph, kv, {batches, shared[1], 2 * heads, size});
    const Value k = narrow(graph, kv, 2, 0, heads), v = narrow(graph, kv, 2, heads, heads);
    const Tensor perKey = added.reshaped({added.extent(0), 1, 1, added.extent(1)});
    AttentionArgs args;
    args.bias = &perKey;
    const Value o =
        attention(graph, reshape(graph, q, {batches, queries, heads, size}), k, v, args);
    return reshape(graph, o, shape);
}

Value gatedGelu(Graph& graph, Value x)
{
    const Index width = graph.shape(x)[3] / 2;
    const Value gate = activate(graph, Activation::GeluErf, narrow(graph, x, 3, width, width));
    return multiply(graph, narrow(graph, x, 3, 0, width), gate);
}

Value adaptiveMeanPool(Graph& graph, Value x, Index height, Index width)
{
    const Tensor& image = graph.dense(x);
    const Tensor y = graph.take({image.extent(0), height, width, image.extent(3)}, image.dtype());
    ResizeArguments args = resizeArguments(image, height, width);
    args.y = y.data();
    meanPoolKernel(graph.stream(), args);
    return graph.record(y, {x}, [x, args](Graph& g, const Tensor& gradY) {
        OverwrittenGradient gradX(g, x);
        ResizeArguments back = args;
        back.x = gradY.data();
        back.y = gradX.tensor().data();
        meanPoolBackwardKernel(g.stream(), back);
        gradX.finish();
    });
}

Value smoothRoot(Graph& graph, Value x, double c)
{
    expects(c > 0, "smoothRoot: c must be positive");
    const Tensor& squares = graph.dense(x);
    const Tensor y = takeLike(graph, squares);
    RootArguments args{squares.dtype(), squares.size(), c, squares.data(), y.data(), nullptr};
    smoothRootKernel(graph.stream(), args);
    return graph.record(y, {x}, [x, args](Graph& g, const Tensor& gradY) {
        OverwrittenGradient gradX(g, x);
        RootArguments back = args;
        back.x = g.dense(x).data();
        back.gradY = gradY.data();
        back.y = gradX.tensor().data();
        smoothRootBackwardKernel(g.stream(), back);
        gradX.finish();
    });
}

Value sinusoid(Graph& graph, Value numbers, Index channels, double scale, DType type)
{
    const Tensor& x = graph.dense(numbers);
    const Tensor y = graph.take({x.size(), 1, 1, channels}, type);
    sinusoidKernel(graph.stream(), numberArguments(x, y, scale));
    return graph.constant(y);
}

Value plane(Graph& graph, Value numbers, Index height, Index width, double scale, DType type)
{
    const Tensor& x = graph.dense(numbers);
    const Tensor y = graph.take({x.size(), height, width, 1}, type);
    planeKernel(graph.stream(), numberArguments(x, y, scale));
    return graph.constant(y);
}

Value transposedConvolution(Graph& graph, Value x, Value weight, Value bias, int stride,
                            int padding)
{
    const Tensor &image = graph.dense(x), &w = graph.dense(weight);
    const auto out = [&](Index n) { return (n - 1) * stride + w.extent(1) - 2 * padding; };
    const Tensor y = graph.take(
        {image.extent(0), out(image.extent(1)), out(image.extent(2)), w.extent(3)}, image.dtype());
    Conv2dOptions options;
    options.stride = stride;
    options.padding = padding;
    graph.dense().conv2dBackwardData(graph.stream(), image, w, y, options);
    if (bias)
        addBias(graph.stream(), y, graph.dense(bias), y);
    return recordForward(graph, y, {x, weight, bias}, "a transposed convolution");
}

Value batchNorm(Graph& graph, Value x, const KeptStatistics& kept)
{
    const Tensor& image = graph.dense(x);
    const Tensor y = graph.take(image.shape(), image.dtype());
    KeptNormArguments args;
    args.type = image.dtype();
    args.channels = image.extent(3);
    args.rows = image.size() / args.channels;
    args.epsilon = kept.epsilon;
    args.x = image.data();
    args.mean = graph.dense(kept.mean).data();
    args.variance = graph.dense(kept.variance).data();
    args.weight = graph.dense(kept.weight).data();
    args.bias = graph.dense(kept.bias).data();
    args.y = y.data();
    keptNormKernel(graph.stream(), args);
    return recordForward(graph, y, {x, kept.weight, kept.bias}, "a batch norm");
}

Value maxPool2(Graph& graph, Value x)
{
    const Tensor& image = graph.dense(x);
    ResizeArguments args = resizeArguments(image, image.extent(1) / 2, image.extent(2) / 2);
    const Tensor y =
        graph.take({args.images, args.toHeight, args.toWidth, args.channels}, image.dtype());
    args.y = y.data();
    maxPoolKernel(graph.stream(), args);
    return recordForward(graph, y, {x}, "a maximum of four pixels");
}

Value upsampleBilinear2(Graph& graph, Value x)
{
    const Tensor& image = graph.dense(x);
    ResizeArguments args = resizeArguments(image, image.extent(1) * 2, image.extent(2) * 2);
    const Tensor y =
        graph.take({args.images, args.toHeight, args.toWidth, args.channels}, image.dtype());
    args.y = y.data();
    bilinearKernel(graph.stream(), args);
    return recordForward(graph, y, {x}, "bilinear upsampling");
}

Value tanh(Graph& graph, Value x)
{
    const Tensor& image = graph.dense(x);
    const Tensor y = graph.take(image.shape(), image.dtype());
    tanhKernel(graph.stream(), {image.dtype(), image.size(), image.data(), y.data()});
    return recordForward(graph, y, {x}, "a hyperbolic tangent");
}

} // namespace vergence::live
