#pragma once

#include <cstddef>
#include <string>

#include "core/compute/dtype.h"
#include "core/compute/view.h"

namespace vergence {

/// What a GPU offers to a block of threads.
struct BlockOffer {
    std::size_t sharedBytes = 0; ///< of shared memory, at most
    int capabilityMajor = 0;
};

/// What one kernel of attention works on.
struct AttentionTiles {
    const char* what = ""; ///< "attention", "the derivative of attention"
    DType type = DType::F32;
    Index size = 0;              ///< numbers of a head
    std::size_t sharedBytes = 0; ///< that its tiles take
};

/// Whether tiles of products run there; else every query has one thread, which is right and slow.
bool suitsTiles(const AttentionTiles& tiles, const BlockOffer& offer);

/// Why it is slow, for the user; only where suitsTiles() says no.
std::string whySlow(const AttentionTiles& tiles, const BlockOffer& offer);

/// suitsTiles(); logs whySlow() once for every kind, type and size in a process.
bool usesTiles(const AttentionTiles& tiles, const BlockOffer& offer);

} // namespace vergence
