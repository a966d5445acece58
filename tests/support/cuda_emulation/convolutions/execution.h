#pragma once

#include "tests/support/cuda_emulation/convolutions/handle.h"
#include "tests/support/cuda_emulation/convolutions/plan.h"

namespace vergence::emulation::convolutions {

/// Queues the plan of a descriptor on the handle's stream, or records it. What was recorded needs
/// the descriptor at each replay.
void execute(const LibraryHandle& handle, const std::shared_ptr<Descriptor>& plan,
             const std::shared_ptr<const VariantPack>& pack);

} // namespace vergence::emulation::convolutions
