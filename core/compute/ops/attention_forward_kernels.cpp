#include "core/compute/ops/attention_kernels.h"
#include "core/compute/ops/attention_plain.h"
#if defined(__CUDACC__)
#include "core/compute/ops/attention_forward_tiles.cuh"
#else
#include "core/compute/ops/attention_decode_cpu.h"
#include "core/compute/ops/attention_forward_cpu.h"
#endif
#include "core/compute/ops/attention_types.h"

namespace vergence {

namespace {

void forwardBody(Stream& stream, const AttentionProblem& problem)
{
    withElementType(problem.type, [&](auto element) {
        using T = decltype(element);
#if defined(__CUDACC__)
        if constexpr (sizeof(T) == sizeof(double))
            attention_plain::forward<T>(stream, problem);
        else
            attention_tiles::forward<T>(stream, problem);
#else
        if (attention_cpu::suitsDecoding<T>(problem))
            attention_cpu::decode<T>(stream, problem);
        else
            attention_cpu::forwardByBlocks<T>(stream, problem);
#endif
    });
}

void forwardPlainBody(Stream& stream, const AttentionProblem& problem)
{
    withElementType(problem.type, [&](auto element) {
        attention_plain::forward<decltype(element)>(stream, problem);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(attentionForwardKernel, forwardBody)
VERGENCE_REGISTER_KERNEL(attentionForwardPlain, forwardPlainBody)

} // namespace vergence
