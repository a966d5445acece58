#pragma once

#include <string>

#include "tests/support/cuda_emulation/rewriter/text.h"

namespace vergence::emulation {

/// What CUDA adds to C++, as plain C++ over language/device_language.h. Lines keep their numbers,
/// and findings, messages of the compiler and debug information name the source: its path should be
/// absolute. Throws RewriteError.
std::string rewriteKernels(Source source);

// One part each; what they leave alone does not change.

/// kernel<<<shape>>>(arguments) → launch(site, "kernel", shape, body, arguments)
std::string rewriteLaunches(Source source);
/// __shared__ T x[3]; → a reference into the memory of the block that runs
std::string rewriteSharedVariables(Source source);
/// asm("mma.sync …" : … : …) → ptx::mma_sync_…(site, operands in the order of the text). Without an
/// instruction it is a hint to the compiler, and stays.
std::string rewriteInstructions(Source source);

} // namespace vergence::emulation
