#include "plugins/foveated_vlm/text/sample_order.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/rng.h"

namespace vergence::fvlm {

namespace {

constexpr int kRounds = 4;

/// What a permutation is of; its stream is made of purpose, level, epoch and window.
enum class Level : std::uint64_t { Samples, Shards, Window };

std::uint64_t streamOf(std::uint32_t purpose, Level level, std::int64_t epoch, Index window = 0)
{
    return (static_cast<std::uint64_t>(purpose) << 56) | (static_cast<std::uint64_t>(level) << 54) |
           (static_cast<std::uint64_t>(epoch) << 30) | static_cast<std::uint64_t>(window);
}

} // namespace

KeyedPermutation::KeyedPermutation(Index count, std::uint64_t seed, std::uint64_t stream)
    : m_count(static_cast<std::uint64_t>(count)),
      m_seed(seed),
      m_stream(stream)
{
    expects(count > 0, "KeyedPermutation: nothing to permute");
    while ((std::uint64_t{1} << (2 * m_halfBits)) < m_count)
        ++m_halfBits;
}

std::uint64_t KeyedPermutation::once(std::uint64_t i) const
{
    const std::uint64_t mask = (std::uint64_t{1} << m_halfBits) - 1;
    std::uint64_t left = i >> m_halfBits, right = i & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::uint64_t word = philox(m_seed, m_stream, (round << 32) | right).word[0];
        left = std::exchange(right, left ^ (word & mask));
    }
    return (left << m_halfBits) | right;
}

Index KeyedPermutation::operator()(Index i) const
{
    auto at = static_cast<std::uint64_t>(i);
    do
        at = once(at);
    while (at >= m_count);
    return static_cast<Index>(at);
}

SampleOrder::SampleOrder(Index count, Settings settings)
    : m_count(count),
      m_settings(std::move(settings))
{
    expects(count > 0, "SampleOrder: there are no samples");
    expects(m_settings.window > 0, "SampleOrder: a window holds at least one sample");
    if (m_settings.shards.empty())
        m_settings.shards = {count};
    Index first = 0;
    for (const Index size : m_settings.shards) {
        m_firsts.push_back(first);
        first += size;
    }
    expects(first == count,
            fmt::format("SampleOrder: shards of {} samples in all, not of {}", first, count));
}

Index SampleOrder::sample(std::int64_t drawn) const
{
    expects(drawn >= 0, "SampleOrder: samples are counted from 0");
    const std::int64_t epoch = drawn / m_count;
    const Index position = drawn % m_count;
    if (m_settings.shards.size() > 1)
        return throughShards(epoch, position);
    return KeyedPermutation(m_count, m_settings.seed,
                            streamOf(m_settings.purpose, Level::Samples, epoch))(position);
}

Index SampleOrder::throughShards(std::int64_t epoch, Index position) const
{
    const Index window = position / m_settings.window, first = window * m_settings.window;
    const KeyedPermutation inside(std::min(m_settings.window, m_count - first), m_settings.seed,
                                  streamOf(m_settings.purpose, Level::Window, epoch, window));
    Index left = first + inside(position - first);
    const auto shards = static_cast<Index>(m_settings.shards.size());
    const KeyedPermutation order(shards, m_settings.seed,
                                 streamOf(m_settings.purpose, Level::Shards, epoch));
    for (Index i = 0; i < shards; ++i) {
        const auto shard = static_cast<std::size_t>(order(i));
        if (left < m_settings.shards[shard])
            return m_firsts[shard] + left;
        left -= m_settings.shards[shard];
    }
    throw ContractError("SampleOrder: shards and samples differ");
}

} // namespace vergence::fvlm
