#pragma once

#include <cstdint>

#include "core/compute/kernel.h"
#include "core/compute/view.h"
#include "plugins/mc_embedding/compute/mask_math.h"

namespace vergence::mc_embedding {

/// A dropout site whose masks are wanted, and where its bits go.
struct MaskSite {
    int number = 0;
    Index blocks = 0; ///< of 16 elements, per sequence
    Index first = 0;  ///< in `bits`
    DropRate rate;
};

/// Bits of several sites for some sequences; set: dropped. Those of one site are
/// [sequences, blocks], element 16j + i being bit i of entry j.
struct MaskArguments {
    static constexpr int kMostSites = 16;

    std::uint64_t seed = 42;
    const SequenceKey* keys = nullptr; ///< [sequences], on the device
    Index sequences = 0;
    MaskSite sites[kMostSites];
    int siteCount = 0;
    std::uint16_t* bits = nullptr; ///< on the device

    void add(int number, Index elements, Index first, const DropRate& rate)
    {
        sites[siteCount++] = {number, elements / kMaskBlock, first, rate};
    }
};

inline const Kernel<void(const MaskArguments&)> maskBits{"mc_embedding.mask_bits"};

} // namespace vergence::mc_embedding
