#pragma once

#include <cstdint>
#include <vector>

#include "core/compute/view.h"

namespace vergence::fvlm {

/// A permutation of 0 … count − 1 that is computed instead of stored: four rounds of a Feistel
/// network over the next power of 4, walked until it is back in range.
/// Source: Ciphers with Arbitrary Finite Domains (2002), method 2 and 3.
class KeyedPermutation {
public:
    KeyedPermutation(Index count, std::uint64_t seed, std::uint64_t stream);

    Index operator()(Index i) const; ///< i in [0, count)

private:
    std::uint64_t once(std::uint64_t i) const;

    std::uint64_t m_count, m_seed, m_stream;
    int m_halfBits = 1;
};

/// Which sample comes when: every epoch is another permutation of all samples, a function of seed
/// and epoch alone, so that a continued run needs the number of samples drawn and nothing else.
class SampleOrder {
public:
    struct Settings {
        std::uint64_t seed = 42;
        std::uint32_t purpose = 0;   ///< orders of equal seed and other purpose differ
        std::vector<Index> shards{}; ///< samples of every shard, in order; empty: one shard
        Index window = 4096;         ///< with several shards, see below
    };
    /// One shard: all samples are permuted. Several: the shards are, then the samples inside
    /// windows of that many neighbours, so that files are read nearly in sequence. Specification,
    /// section 7.5. Throws ContractError unless the shards add up to `count`.
    SampleOrder(Index count, Settings settings);

    /// The sample that is drawn as number `drawn` = 0, 1, … of the run.
    Index sample(std::int64_t drawn) const;
    std::int64_t epoch(std::int64_t drawn) const { return drawn / m_count; }
    Index count() const { return m_count; }

private:
    Index throughShards(std::int64_t epoch, Index position) const;

    Index m_count;
    Settings m_settings;
    std::vector<Index> m_firsts; ///< of every shard
};

} // namespace vergence::fvlm
