#pragma once

#include "core/compute/stream.h"

namespace vergence::live {

/// body(first, last) over [0, n) in pieces of at least `grain`, on the pool of a CPU stream; at
/// once where there is none. The body must not throw, lock, allocate or log.
template <class Body>
void inPieces(Stream* stream, Index n, Index grain, const Body& body)
{
    if (!stream || n <= grain) {
        body(Index{0}, n);
        return;
    }
    stream->parallelFor(
        n, grain,
        [](const void* context, Index first, Index last) {
            (*static_cast<const Body*>(context))(first, last);
        },
        &body);
}

} // namespace vergence::live
