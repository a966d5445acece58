#pragma once

#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/engine/handles.h"
#include "tests/support/cuda_emulation/engine/streams.h"
#include "tests/support/cuda_emulation/runtime/shared_counter.h"

namespace vergence::emulation {

/// One cudaEventRecord: what comes later to the same event does not change it.
struct Recorded {
    Mark mark;
    double seconds = 0; ///< when the stream came to it
};

struct Event {
    int device = 0;
    unsigned flags = 0;
    std::shared_ptr<Recorded> recorded;     ///< null: never, or in a capture
    std::shared_ptr<Recording> recording;   ///< of the capture in which it was recorded last
    std::vector<std::size_t> tail;          ///< steps of that which it stands for
    std::shared_ptr<SharedCounter> counter; ///< of an event between processes
};

Handles<Event>& events();

} // namespace vergence::emulation
