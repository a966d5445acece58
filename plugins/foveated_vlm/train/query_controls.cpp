#include "plugins/foveated_vlm/train/query_controls.h"

#include <cmath>
#include <numeric>

#include "core/compute/ops/host_numbers.h"
#include "core/compute/ops/random.h"
#include "plugins/foveated_vlm/text/sample_order.h"

namespace vergence::fvlm {

namespace {

constexpr std::uint64_t kRandomStream = std::uint64_t{5} << 56;
constexpr std::uint64_t kShuffleStream = std::uint64_t{6} << 56;

Tensor zeroRows(Stream& stream, const Tensor& queries, Index rows)
{
    expects(queries.rank() == 2 && queries.extent(0) > 0 && rows >= queries.extent(0),
            "controls of queries: [slots, Q] and room for all of them");
    return Tensor::zeros(stream, queries.device(), {rows, queries.extent(1)}, queries.dtype());
}

} // namespace

Tensor randomQueries(Stream& stream, const Tensor& queries, Index rows, std::uint64_t seed,
                     std::uint64_t batch)
{
    const Tensor result = zeroRows(stream, queries, rows);
    const std::vector<double> numbers = toDoubles(stream, queries);
    const auto count = static_cast<double>(numbers.size());
    const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
    double squares = 0;
    for (const double number : numbers)
        squares += (number - mean) * (number - mean);
    fillNormal(stream, result.narrow(0, 0, queries.extent(0)), mean, std::sqrt(squares / count),
               seed, kRandomStream + batch);
    return result;
}

Tensor shuffledQueries(Stream& stream, const Tensor& queries, Index rows, std::uint64_t seed,
                       std::uint64_t batch)
{
    const Tensor result = zeroRows(stream, queries, rows);
    const KeyedPermutation permutation(queries.extent(0), seed, kShuffleStream + batch);
    for (Index i = 0; i < queries.extent(0); ++i) {
        const Tensor target = result.slice(i);
        stream.copy(target.data(), queries.slice(permutation(i)).data(), target.bytes());
    }
    return result;
}

} // namespace vergence::fvlm
