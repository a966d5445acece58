#include "plugins/foveated_vlm/train/query_controls.h"

#include <cmath>
#include <numeric>

#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/random.h"
#include "plugins/foveated_vlm/text/sample_order.h"
#include "plugins/foveated_vlm/train/host_numbers.h"

namespace vergence::fvlm {

namespace {

constexpr std::uint64_t kRandomStream = std::uint64_t{5} << 56;
constexpr std::uint64_t kShuffleStream = std::uint64_t{6} << 56;

double deviation(const std::vector<double>& numbers)
{
    const auto count = static_cast<double>(numbers.size());
    const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
    double squares = 0;
    for (const double number : numbers)
        squares += (number - mean) * (number - mean);
    return std::sqrt(squares / count);
}

/// Row i of the result is row permutation(i) of `rows`, padding stays.
Tensor shuffledRows(Stream& stream, const Tensor& rows, Index real, const ControlKey& key)
{
    Tensor result = rows.clone(stream);
    const KeyedPermutation permutation(real, key.seed, kShuffleStream + key.batch);
    for (Index i = 0; i < real; ++i) {
        const Tensor target = result.slice(i);
        stream.copy(target.data(), rows.slice(permutation(i)).data(), target.bytes());
    }
    return result;
}

Tensor randomRows(Stream& stream, const Tensor& rows, Index real, const ControlKey& key)
{
    const std::vector<double> numbers = toDoubles(stream, rows.narrow(0, 0, real));
    Tensor result = Tensor::empty(rows.device(), rows.shape(), rows.dtype());
    fillNormal(stream, result, 0, deviation(numbers), key.seed, kRandomStream + key.batch);
    return result;
}

/// Σ over counted tokens, or over frames, of the loss of a look with these queries.
double lossWith(Stream& stream, const GazeForward& forward, const MicroBatch& batch,
                const Tensor& queries)
{
    const ForwardPass& pass = forward.pass();
    const LanguageStates states =
        forward.wholeStates(forward.look(pass.graph.constant(queries)), false);
    if (forward.model().settings().hasText()) {
        const Value loss = forward.model().language().loss(pass, forward.predictingStates(states),
                                                           batch.tables->labels);
        return toDoubles(stream, pass.graph.dense(loss)).front() *
               static_cast<double>(batch.sequences->real().counted);
    }
    const std::vector<double> predicted =
        toDoubles(stream, pass.graph.dense(forward.predictLatents(states)));
    const std::vector<double> targets =
        toDoubles(stream, pass.graph.dense(forward.latentTargets()));
    const auto size = predicted.size() / static_cast<std::size_t>(batch.sequences->shape().slots);
    const auto real = size * static_cast<std::size_t>(batch.sequences->real().slots);
    double sum = 0;
    for (std::size_t i = 0; i < real; ++i)
        sum += (predicted[i] - targets[i]) * (predicted[i] - targets[i]);
    return sum / static_cast<double>(size);
}

} // namespace

void addControls(Stream& stream, const ForwardPass& pass, const FoveatedModel& model,
                 const MicroBatch& batch, ControlKey key, ControlSums& sums)
{
    expects(batch.sequences != nullptr, "addControls: sequences are missing");
    const SequenceShape& real = batch.sequences->real();
    if (real.slots == 0)
        return;
    const GazeForward forward(pass, model, batch);
    const Value queries = forward.nextQueries(forward.shortStates(forward.coarse(), true));
    const Tensor rows = pass.graph.dense(queries);
    sums.random += lossWith(stream, forward, batch, randomRows(stream, rows, real.slots, key));
    sums.shuffled += lossWith(stream, forward, batch, shuffledRows(stream, rows, real.slots, key));
    sums.count += model.settings().hasText() ? real.counted : real.slots;
}

} // namespace vergence::fvlm
