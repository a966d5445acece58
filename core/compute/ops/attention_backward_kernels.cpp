#include "core/compute/ops/attention_kernels.h"
#include "core/compute/ops/attention_plain.h"
#if defined(__CUDACC__)
#include "core/compute/ops/attention_backward_tiles.cuh"
#else
#include "core/compute/ops/attention_backward_cpu.h"
#endif
#include "core/compute/ops/attention_types.h"

namespace vergence {

namespace {

void backwardBody(Stream& stream, const AttentionProblem& problem)
{
    withElementType(problem.type, [&](auto element) {
        using T = decltype(element);
#if defined(__CUDACC__)
        if constexpr (sizeof(T) == sizeof(double))
            attention_plain::backward<T>(stream, problem);
        else
            attention_tiles::backward<T>(stream, problem);
#else
        attention_cpu::backwardBySlices<T>(stream, problem);
#endif
    });
}

void backwardPlainBody(Stream& stream, const AttentionProblem& problem)
{
    withElementType(problem.type, [&](auto element) {
        attention_plain::backward<decltype(element)>(stream, problem);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(attentionBackwardKernel, backwardBody)
VERGENCE_REGISTER_KERNEL(attentionBackwardPlain, backwardPlainBody)

} // namespace vergence
