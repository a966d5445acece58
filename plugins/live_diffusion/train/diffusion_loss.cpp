#include "plugins/live_diffusion/train/diffusion_loss.h"

#include <algorithm>
#include <cmath>

#include "core/compute/graph/functions.h"
#include "core/compute/ops/pointwise.h"
#include "plugins/live_diffusion/diffusion/sampler_math.h"
#include "plugins/live_diffusion/model/blend.h"
#include "plugins/live_diffusion/train/row_tensors.h"

namespace vergence::live {

namespace {

struct Levels {
    std::vector<double> alpha, sigma;
};

Levels levelsOf(const SampleBatch& batch, const NoiseSchedule& schedule)
{
    Levels levels;
    for (const double time : batch.times) {
        levels.alpha.push_back(schedule.alpha(static_cast<int>(time)));
        levels.sigma.push_back(schedule.sigma(static_cast<int>(time)));
    }
    return levels;
}

Value predictionLoss(Graph& graph, const SampleBatch& batch, Value prediction,
                     const NoiseSchedule& schedule, const TrainSettings& settings,
                     const Levels& levels)
{
    const DType type = graph.tensor(prediction).dtype();
    const Prediction kind = settings.samples.prediction;
    std::vector<double> roots;
    std::vector<float> truth(batch.clean.size());
    const auto size = static_cast<std::size_t>(batch.pictureSize());
    for (std::size_t r = 0; r < batch.times.size(); ++r) {
        const int time = static_cast<int>(batch.times[r]);
        roots.push_back(std::sqrt(schedule.minSnrWeight(kind, time, settings.gamma)));
        const auto alpha = static_cast<float>(levels.alpha[r]);
        const auto sigma = static_cast<float>(levels.sigma[r]);
        for (std::size_t i = r * size; i < (r + 1) * size; ++i)
            truth[i] = predictionOf(kind, batch.clean[i], batch.noise[i], alpha, sigma);
    }
    const Tensor root = spreadRows(graph, batch, roots, type);
    const Tensor target = uploaded(graph, truth, picturesShape(batch), type);
    multiply(graph.stream(), target, root, target);
    return meanSquaredError(graph, multiply(graph, prediction, graph.constant(root)),
                            graph.constant(target));
}

/// Rows that do not count are 0 in all of x̂₀, the frame before and the target.
Value blendLoss(Graph& graph, const SampleBatch& batch, const TapeNetwork::Output& output,
                const std::vector<double>& counts, const TrainSettings& settings, Levels levels)
{
    const DType type = graph.tensor(output.prediction).dtype();
    const Tensor mask = spreadRows(graph, batch, counts, type);
    const auto masked = [&](const std::vector<float>& numbers) {
        const Tensor tensor = uploaded(graph, numbers, picturesShape(batch), type);
        multiply(graph.stream(), tensor, mask, tensor);
        return tensor;
    };
    const Value clean =
        multiply(graph,
                 cleanOnTape(graph, batch, output.prediction, settings.samples.prediction,
                             levels.alpha, levels.sigma),
                 graph.constant(mask));
    const Value shown = temporalBlend(graph, clean, masked(batch.previous), output.blend, 1);
    return scale(
        graph, settings.blendWeight,
        smoothAbsoluteError(graph, shown, graph.constant(masked(batch.clean)), kBlendCorner));
}

} // namespace

Value cleanOnTape(Graph& graph, const SampleBatch& batch, Value prediction, Prediction kind,
                  const std::vector<double>& alpha, const std::vector<double>& sigma)
{
    // v: αx − σv; ε: (x − σε)/α.
    const DType type = graph.tensor(prediction).dtype();
    std::vector<double> ofX(alpha), ofPrediction(sigma);
    for (std::size_t r = 0; r < alpha.size(); ++r) {
        const bool isV = kind == Prediction::V;
        ofX[r] = isV ? alpha[r] : 1 / alpha[r];
        ofPrediction[r] = isV ? -sigma[r] : -sigma[r] / alpha[r];
    }
    const Tensor x = uploaded(graph, batch.noisy, picturesShape(batch), type);
    multiply(graph.stream(), x, spreadRows(graph, batch, ofX, type), x);
    const Value factor = graph.constant(spreadRows(graph, batch, ofPrediction, type));
    return add(graph, multiply(graph, prediction, factor), graph.constant(x));
}

DiffusionLoss diffusionLoss(Graph& graph, const TapeNetwork& network, const SampleBatch& batch,
                            const NoiseSchedule& schedule, const TrainSettings& settings)
{
    TapeNetwork::Output output = network(graph, networkInput(graph, network, batch),
                                         {.recomputesBlocks = settings.recomputesBlocks});
    const DType type = lossType(network);
    if (graph.tensor(output.prediction).dtype() != type) {
        output.prediction = cast(graph, output.prediction, type);
        output.blend = cast(graph, output.blend, type);
    }
    const Levels levels = levelsOf(batch, schedule);
    DiffusionLoss loss;
    loss.prediction = predictionLoss(graph, batch, output.prediction, schedule, settings, levels);
    loss.total = loss.prediction;
    std::vector<double> counts;
    for (std::size_t r = 0; r < batch.times.size(); ++r)
        counts.push_back(batch.hasPrevious[r] && batch.times[r] < settings.blendBelow ? 1 : 0);
    const bool anyCounts =
        std::any_of(counts.begin(), counts.end(), [](double c) { return c > 0; });
    if (settings.blendWeight > 0 && anyCounts) {
        loss.blend = blendLoss(graph, batch, output, counts, settings, levels);
        loss.total = add(graph, loss.prediction, loss.blend);
    }
    return loss;
}

} // namespace vergence::live
