#include "plugins/foveated_vlm/view/attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"

namespace vergence::fvlm {

namespace {

void expectsExtents(const GazeWeights& weights)
{
    expects(weights.frames > 0 && weights.blocks > 0 && weights.heads > 0 && weights.tokens > 0 &&
                weights.values.size() == static_cast<std::size_t>(weights.frames * weights.blocks *
                                                                  weights.heads * weights.tokens),
            "weights of looks: [frames, blocks, heads, tokens], none of them 0");
}

/// `chosen`, or all from `first` on where nothing is chosen.
std::vector<Index> chosenOf(const std::vector<Index>& chosen, Index first, Index count)
{
    for (const Index i : chosen)
        expects(i >= 0 && i < count, "weights of looks: a block and a head that are there");
    if (!chosen.empty())
        return chosen;
    std::vector<Index> all(static_cast<std::size_t>(count - first));
    std::iota(all.begin(), all.end(), first);
    return all;
}

} // namespace

std::span<const float> GazeWeights::row(Index frame, Index block, Index head) const
{
    const Index at = ((frame * blocks + block) * heads + head) * tokens;
    return std::span(values).subspan(static_cast<std::size_t>(at),
                                     static_cast<std::size_t>(tokens));
}

GazeMaps gazeMaps(const GazeWeights& weights, Index rows, Index columns, const GazeChoice& choice)
{
    constexpr Index kLastBlocks = 4;
    expectsExtents(weights);
    const Index patches = rows * columns, leading = weights.tokens - patches;
    expects(rows > 0 && columns > 0 && leading >= 0,
            "weights of looks: as many tokens as the grid has patches, or more");
    const std::vector<Index> blocks =
        chosenOf(choice.blocks, std::max<Index>(0, weights.blocks - kLastBlocks), weights.blocks);
    const std::vector<Index> heads = chosenOf(choice.heads, 0, weights.heads);
    GazeMaps maps{weights.frames, rows, columns, {}, {}};
    maps.values.assign(static_cast<std::size_t>(weights.frames * patches), 0.0F);
    std::vector<double> sum(static_cast<std::size_t>(weights.tokens));
    for (Index t = 0; t < weights.frames; ++t) {
        std::ranges::fill(sum, 0.0);
        for (const Index b : blocks)
            for (const Index h : heads) {
                const std::span<const float> row = weights.row(t, b, h);
                for (std::size_t i = 0; i < row.size(); ++i)
                    sum[i] += row[i];
            }
        const double all = std::accumulate(sum.begin(), sum.end(), 0.0);
        const double seen = std::accumulate(sum.begin() + leading, sum.end(), 0.0);
        maps.removed.push_back(static_cast<float>(all > 0 ? 1 - seen / all : 0));
        for (Index i = 0; i < patches && seen > 0; ++i)
            maps.values[static_cast<std::size_t>(t * patches + i)] =
                static_cast<float>(sum[static_cast<std::size_t>(leading + i)] / seen);
    }
    return maps;
}

double cosine(std::span<const float> a, std::span<const float> b)
{
    expects(a.size() == b.size(), "cosine: vectors of one length");
    double product = 0, squareA = 0, squareB = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        product += double(a[i]) * b[i];
        squareA += double(a[i]) * a[i];
        squareB += double(b[i]) * b[i];
    }
    return squareA > 0 && squareB > 0 ? product / std::sqrt(squareA * squareB) : 0;
}

double meanCosine(std::span<const float> a, std::span<const float> b, Index width)
{
    expects(width > 0 && a.size() == b.size() && a.size() % static_cast<std::size_t>(width) == 0,
            "mean cosine: equal numbers of whole rows");
    const std::size_t step = static_cast<std::size_t>(width), rows = a.size() / step;
    double sum = 0;
    for (std::size_t r = 0; r < rows; ++r)
        sum += cosine(a.subspan(r * step, step), b.subspan(r * step, step));
    return rows > 0 ? sum / static_cast<double>(rows) : 0;
}

} // namespace vergence::fvlm
