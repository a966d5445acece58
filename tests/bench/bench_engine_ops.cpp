// Element-wise operations, norms and losses of the tensor engine; rows and options as engine_rows.h
// says.

#include <string>

#include <fmt/format.h>

#include "core/compute/ops/loss.h"
#include "core/compute/ops/norm.h"
#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/random.h"
#include "core/compute/ops/structure.h"
#include "tests/bench/engine_rows.h"

namespace {

using namespace vergence;
using bench::device;
using bench::filled;
using bench::integers;
using bench::stream;

void add(const std::string& name, double bytes, std::function<bench::Call()> prepare)
{
    bench::addRow(name, {0, bytes}, std::move(prepare));
}

std::string sizeOf2(Index rows, Index columns)
{
    return fmt::format(" {}x{}", rows, columns);
}

void addCopies()
{
    for (const Index count : {262144, 789504, 3158016, 12582912}) {
        add(fmt::format("copy {}", count), 8.0 * static_cast<double>(count), [count] {
            const Tensor x = filled({count}), y = filled({count});
            return [x, y] { copyStrided(stream(), x, y); };
        });
    }
}

void addActivations(Index rows, Index columns)
{
    const double bytes = 4.0 * static_cast<double>(rows * columns);
    const Shape shape{rows, columns};
    for (const auto& [name, kind] : {std::pair{"gelu erf", Activation::GeluErf},
                                     {"gelu tanh", Activation::GeluTanh},
                                     {"silu", Activation::Silu}}) {
        add(name + sizeOf2(rows, columns), 2 * bytes, [shape, k = kind] {
            const Tensor x = filled(shape), y = filled(shape);
            return [x, y, k] { activate(stream(), k, x, y); };
        });
        add(std::string(name) + " backward" + sizeOf2(rows, columns), 3 * bytes, [shape, k = kind] {
            const Tensor x = filled(shape), g = filled(shape), y = filled(shape);
            return [x, g, y, k] { activateBackward(stream(), k, x, g, y, false); };
        });
    }
    add("dropout 0.1" + sizeOf2(rows, columns), 2 * bytes, [shape] {
        const Tensor x = filled(shape), y = filled(shape);
        const std::int64_t words[2] = {1, 2};
        const Tensor key = Tensor::fromHost<std::int64_t>(stream(), device(), {2}, words);
        return [x, y, key] { dropout(stream(), x, 0.1, {&key, 3}, y); };
    });
    add("add" + sizeOf2(rows, columns), 3 * bytes, [shape] {
        const Tensor x = filled(shape), g = filled(shape), y = filled(shape);
        return [x, g, y] { addScaled(stream(), 1, x, 1, g, y); };
    });
    add("cast f32 bf16" + sizeOf2(rows, columns), 1.5 * bytes, [shape] {
        const Tensor x = filled(shape), y = filled(shape, DType::BF16);
        return [x, y] { cast(stream(), x, y); };
    });
    add("cast f16 f32" + sizeOf2(rows, columns), 1.5 * bytes, [shape] {
        const Tensor x = filled(shape, DType::F16), y = filled(shape);
        return [x, y] { cast(stream(), x, y); };
    });
    add("column sums" + sizeOf2(rows, columns), bytes, [shape] {
        const Tensor x = filled(shape), sums = filled({shape[1]});
        return [x, sums] { addColumnSums(stream(), x, sums); };
    });
    add("layer scale residual" + sizeOf2(rows, columns), 3 * bytes, [shape] {
        const Tensor x = filled(shape), r = filled(shape), y = filled(shape);
        const Tensor s = filled({shape[1]});
        return [x, r, y, s] { layerScale(stream(), x, s, &r, y); };
    });
}

void addSwiglu(Index rows, Index columns)
{
    const double bytes = 4.0 * static_cast<double>(rows * columns);
    add("swiglu" + sizeOf2(rows, columns), 3 * bytes, [=] {
        const Tensor both = filled({rows, 2 * columns}), y = filled({rows, columns});
        const Tensor gate = both.narrow(1, 0, columns), up = both.narrow(1, columns, columns);
        return [=] { swiglu(stream(), gate, up, y); };
    });
    add("swiglu backward" + sizeOf2(rows, columns), 5 * bytes, [=] {
        const Tensor both = filled({rows, 2 * columns}), grads = filled({rows, 2 * columns});
        const Tensor g = filled({rows, columns});
        const Tensor gate = both.narrow(1, 0, columns), up = both.narrow(1, columns, columns);
        const Tensor da = grads.narrow(1, 0, columns), du = grads.narrow(1, columns, columns);
        return [=] { swigluBackward(stream(), gate, up, g, da, du); };
    });
}

/// Tensors of one row norm.
struct RowTensors {
    Tensor x, y, weight, bias, mean, rstd, gradWeight, gradBias;

    RowTensors(Index rows, Index columns, DType type)
        : x(filled({rows, columns}, type)),
          y(filled({rows, columns}, type)),
          weight(filled({columns})),
          bias(filled({columns})),
          mean(filled({rows})),
          rstd(filled({rows})),
          gradWeight(filled({columns})),
          gradBias(filled({columns}))
    {
    }
};

void addRowNorms(Index rows, Index columns, DType type, const char* suffix)
{
    const double bytes = static_cast<double>(rows * columns) * static_cast<double>(sizeOf(type));
    const std::string size = sizeOf2(rows, columns) + suffix;
    const auto layer = [=](const RowTensors& t) {
        LayerNormArgs args;
        args.weight = &t.weight;
        args.bias = &t.bias;
        args.mean = &t.mean;
        args.rstd = &t.rstd;
        layerNorm(stream(), t.x, t.y, args);
    };
    add("layer norm" + size, 2 * bytes, [=] {
        const auto t = std::make_shared<RowTensors>(rows, columns, type);
        return [=] { layer(*t); };
    });
    add("layer norm backward" + size, 3 * bytes, [=] {
        const auto t = std::make_shared<RowTensors>(rows, columns, type);
        const Tensor g = filled({rows, columns}, type);
        layer(*t);
        return [=] {
            layerNormBackward(stream(), t->x, &t->weight, t->mean, t->rstd, g, t->y, false,
                              &t->gradWeight, &t->gradBias);
        };
    });
    const auto rms = [=](const RowTensors& t) {
        RmsNormArgs args;
        args.weight = &t.weight;
        args.rstd = &t.rstd;
        rmsNorm(stream(), t.x, t.y, args);
    };
    add("rms norm" + size, 2 * bytes, [=] {
        const auto t = std::make_shared<RowTensors>(rows, columns, type);
        return [=] { rms(*t); };
    });
    add("rms norm backward" + size, 3 * bytes, [=] {
        const auto t = std::make_shared<RowTensors>(rows, columns, type);
        const Tensor g = filled({rows, columns}, type);
        rms(*t);
        return [=] {
            rmsNormBackward(stream(), t->x, &t->weight, t->rstd, g, t->y, false, &t->gradWeight);
        };
    });
}

void addGroupNorms(Index side, Index channels, bool channelsLast, bool silu)
{
    const double bytes = 4.0 * static_cast<double>(side * side * channels);
    const std::string size = fmt::format("{} 1x{}x{}x{} {}", silu ? " silu" : "", channels, side,
                                         side, channelsLast ? "nhwc" : "nchw");
    const Shape shape =
        channelsLast ? Shape{1, side, side, channels} : Shape{1, channels, side, side};
    struct Tensors {
        Tensor x, y, g, weight, bias, mean, rstd, gradWeight, gradBias;
        GroupNormArgs args;
    };
    const auto prepare = [=] {
        auto t = std::make_shared<Tensors>();
        t->x = filled(shape);
        t->y = filled(shape);
        t->g = filled(shape);
        for (Tensor* tensor : {&t->weight, &t->bias, &t->gradWeight, &t->gradBias})
            *tensor = filled({channels});
        t->mean = filled({1, 32});
        t->rstd = filled({1, 32});
        t->args.weight = &t->weight;
        t->args.bias = &t->bias;
        t->args.silu = silu;
        t->args.channelsLast = channelsLast;
        t->args.mean = &t->mean;
        t->args.rstd = &t->rstd;
        groupNorm(stream(), t->x, t->y, t->args);
        return t;
    };
    add("group norm" + size, 2 * bytes, [=] {
        const auto t = prepare();
        return [=] { groupNorm(stream(), t->x, t->y, t->args); };
    });
    add("group norm backward" + size, 3 * bytes, [=] {
        const auto t = prepare();
        return [=] {
            groupNormBackward(stream(), t->x, t->g, t->y, false, &t->gradWeight, &t->gradBias,
                              t->args);
        };
    });
}

void addSoftmaxes(Index rows, Index columns)
{
    const double bytes = 4.0 * static_cast<double>(rows * columns);
    add("softmax" + sizeOf2(rows, columns), 2 * bytes, [=] {
        const Tensor x = filled({rows, columns}), y = filled({rows, columns});
        return [=] { softmax(stream(), x, y); };
    });
    add("softmax backward" + sizeOf2(rows, columns), 3 * bytes, [=] {
        const Tensor x = filled({rows, columns}), y = filled({rows, columns});
        const Tensor g = filled({rows, columns});
        softmax(stream(), x, y);
        return [=] { softmaxBackward(stream(), y, g, x, false); };
    });
}

void addCrossEntropies(Index rows, Index columns)
{
    const double bytes = 4.0 * static_cast<double>(rows * columns);
    struct Tensors {
        Tensor z, labels, rowLoss, counted, loss, grad;
    };
    const auto prepare = [=] {
        auto t = std::make_shared<Tensors>();
        *t = {filled({rows, columns}),
              integers({rows}, static_cast<int>(columns)),
              filled({rows}),
              integers({1}, 1),
              filled({1}),
              filled({rows, columns})};
        crossEntropy(stream(), t->z, t->labels, t->rowLoss, t->counted, t->loss);
        return t;
    };
    add("cross entropy" + sizeOf2(rows, columns), bytes, [=] {
        const auto t = prepare();
        return [=] { crossEntropy(stream(), t->z, t->labels, t->rowLoss, t->counted, t->loss); };
    });
    add("cross entropy backward" + sizeOf2(rows, columns), 2 * bytes, [=] {
        const auto t = prepare();
        return [=] {
            crossEntropyBackward(stream(), t->z, t->labels, t->counted, t->loss, t->grad, false);
        };
    });
}

void addOthers()
{
    add("mse 1048576", 8.0 * 1048576, [] {
        const Tensor p = filled({1048576}), t = filled({1048576}), loss = filled({1});
        return [=] { meanSquaredError(stream(), p, t, loss); };
    });
    add("mse backward 1048576", 12.0 * 1048576, [] {
        const Tensor p = filled({1048576}), t = filled({1048576}), one = filled({1});
        const Tensor g = filled({1048576});
        return [=] { meanSquaredErrorBackward(stream(), p, t, one, g, false); };
    });
    add("heads first 8x257x6x64", 8.0 * 8 * 257 * 384, [] {
        const Tensor x = filled({8, 257, 6, 64}), y = filled({8, 6, 257, 64});
        return [=] { copyStrided(stream(), x.permuted({0, 2, 1, 3}), y); };
    });
    add("channels first 1x64x64x64", 8.0 * 262144, [] {
        const Tensor x = filled({1, 64, 64, 64}), y = filled({1, 64, 64, 64});
        return [=] { copyStrided(stream(), x.permuted({0, 3, 1, 2}), y); };
    });
    add("transpose 2056x1536", 8.0 * 2056 * 1536, [] {
        const Tensor x = filled({2056, 1536}), y = filled({1536, 2056});
        return [=] { copyStrided(stream(), x.permuted({1, 0}), y); };
    });
    add("gather 2048 of 49152x576", 8.0 * 2048 * 576, [] {
        const Tensor table = filled({49152, 576}), ids = integers({2048}, 49152);
        const Tensor y = filled({2048, 576});
        return [=] { gatherRows(stream(), table, ids, y); };
    });
    add("scatter add 2048 of 49152x576", 12.0 * 2048 * 576, [] {
        const Tensor table = filled({49152, 576}), ids = integers({2048}, 49152);
        const Tensor y = filled({2048, 576});
        return [=] { scatterAddRows(stream(), y, ids, table); };
    });
}

void addRows()
{
    addCopies();
    addActivations(2056, 1536);
    addSwiglu(2056, 1536);
    addRowNorms(2056, 384, DType::F32, " f32");
    addRowNorms(2056, 384, DType::BF16, " bf16");
    for (const bool silu : {false, true}) {
        addGroupNorms(64, 64, true, silu);
        addGroupNorms(64, 64, false, silu);
        addGroupNorms(32, 128, true, silu);
        addGroupNorms(16, 256, true, silu);
    }
    addSoftmaxes(12336, 257);
    addCrossEntropies(128, 49152);
    addOthers();
}

} // namespace

int main(int argc, char** argv)
{
    return bench::runRows(argc, argv, addRows);
}
