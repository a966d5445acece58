// A transformer block, a whole ViT-S/14 and the optimizer; rows and options as engine_rows.h says.

#include <memory>

#include "core/compute/nn/dino.h"
#include "core/compute/optim/adam.h"
#include "tests/bench/engine_rows.h"

namespace {

using namespace vergence;
using bench::addRow;
using bench::device;
using bench::stream;

constexpr Index kBatch = 8, kTokens = 257, kWidth = 384;

double blockFlops()
{
    const double rows = kBatch * kTokens;
    return 2 * rows * 12 * kWidth * kWidth + 4 * rows * kTokens * kWidth;
}

/// One block of ViT-S/14 (LayerScale, erf-GELU) on [8, 257, 384].
struct BlockBench {
    ParameterSet parameters{device()};
    TransformerBlock block;
    Tensor x = Tensor::empty(device(), {kBatch, kTokens, kWidth});
    Tensor gradY = Tensor::empty(device(), {kBatch, kTokens, kWidth});
    PackedWeights packed;
    Graph graph;
    ForwardPass pass;

    explicit BlockBench(bool isTrained)
        : block({parameters, {}}, config(), kDinoNames),
          graph(stream(), device(), {isTrained, DType::F32}),
          pass{graph, parameters, isTrained ? nullptr : &packed, false, {}}
    {
        parameters.allocate(stream());
        parameters.initialise(stream(), 1);
        fillNormal(stream(), x, 0, 1, 2, 0);
        fillNormal(stream(), gradY, 0, 1, 2, 1);
    }
    static BlockConfig config()
    {
        BlockConfig config;
        config.width = kWidth;
        config.heads = 6;
        config.hidden = 4 * kWidth;
        config.layerScale = true;
        return config;
    }
    void forward()
    {
        graph.reset();
        block(pass, graph.constant(x), 0, block.attention());
    }
    void forwardBackward()
    {
        graph.reset();
        parameters.zeroGradients(stream());
        const Value y = block(pass, graph.variable(x), 0, block.attention());
        graph.backward(weightedSum(graph, y, gradY));
    }
};

struct TowerBench {
    ParameterSet parameters{device()};
    DinoTower tower;
    Tensor pixels = Tensor::empty(device(), {kBatch, 3, 224, 224});
    PackedWeights packed;
    Graph graph{stream(), device(), {false, DType::F32}};
    ForwardPass pass{graph, parameters, &packed, true, {}};

    TowerBench() : tower({parameters, {}}, config())
    {
        parameters.allocate(stream());
        parameters.initialise(stream(), 1);
        fillNormal(stream(), pixels, 0, 1, 2, 0);
    }
    static DinoConfig config()
    {
        DinoConfig config;
        config.grid = 16;
        return config;
    }
    void forward()
    {
        graph.reset();
        tower(pass, graph.constant(pixels));
    }
};

constexpr Index kNumbers = 25'000'000;

/// `clips`: with the global norm, clipping and the check for numbers that are not finite.
struct AdamBench {
    ParameterSet parameters{device()};
    std::unique_ptr<Adam> adam;

    explicit AdamBench(bool clips)
    {
        parameters.addGroup({"all", 0.01, false});
        parameters.add("all", {kNumbers}, 0, {0, 1});
        parameters.allocate(stream());
        parameters.initialise(stream(), 1);
        fillNormal(stream(), parameters.gradients(), 0, 1e-3, 1, 1);
        AdamOptions options;
        options.measuresNorm = clips;
        options.clipNorm = clips ? 1 : 0;
        adam = std::make_unique<Adam>(parameters, stream(), options);
        adam->setRates(stream(), {1e-3});
    }
};

void addRows()
{
    addRow("ViT-S/14 block forward [8,257,384]", {blockFlops()}, [] {
        const auto bench = std::make_shared<BlockBench>(false);
        return [bench] { bench->forward(); };
    });
    addRow("ViT-S/14 block forward+backward [8,257,384]", {3 * blockFlops()}, [] {
        const auto bench = std::make_shared<BlockBench>(true);
        return [bench] { bench->forwardBackward(); };
    });
    addRow("ViT-S/14 forward [8,3,224,224]",
           {12 * blockFlops() + 2.0 * kBatch * 256 * 588 * kWidth}, [] {
               const auto bench = std::make_shared<TowerBench>();
               return [bench] { bench->forward(); };
           });
    for (const bool clips : {false, true}) {
        // Gradient, two moments and value are read, three are written; the norm reads once more.
        addRow(clips ? "AdamW on 25 M parameters, clipped" : "AdamW on 25 M parameters",
               {0, 4.0 * (clips ? 8 : 7) * kNumbers}, [clips] {
                   const auto bench = std::make_shared<AdamBench>(clips);
                   return [bench] { bench->adam->step(stream()); };
               });
    }
}

} // namespace

int main(int argc, char** argv)
{
    return bench::runRows(argc, argv, addRows);
}
