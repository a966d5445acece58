#include "plugins/mc_embedding/compute/masked_attention.h"

#include <cmath>

#include "core/compute/ops/loops.h"

namespace vergence::mc_embedding {

namespace {

/// One query of one head, keys in ascending order with a running maximum. Source: Online normalizer
/// calculation for softmax (2018), algorithm 3.
template <class T>
struct MaskedAttention {
    MaskedAttentionArguments p;

    VERGENCE_HD void operator()(Index item) const
    {
        const Index head = item % p.heads, query = item / p.heads % p.queries,
                    sequence = item / p.heads / p.queries, size = p.headSize;
        const T* q = static_cast<const T*>(p.q) + (sequence * p.queries + query) * p.queryStride +
                     head * size;
        const float scale = 1.0f / std::sqrt(static_cast<float>(size));
        float sums[MaskedAttentionArguments::kLargestHead] = {};
        float most = -HUGE_VALF, total = 0;
        for (Index key = 0; key < p.keys; ++key) {
            const Index at = (sequence * p.keys + key) * p.keyStride + head * size;
            const float score = scale * product(q, static_cast<const T*>(p.k) + at);
            const float top = score > most ? score : most;
            const float rescale = std::exp(most - top), weight = std::exp(score - top);
            most = top;
            total = total * rescale + weight;
            const Index element = (head * p.queries + query) * p.keys + key;
            const bool isGone =
                p.sequenceKeys && isDropped(p.rate, p.seed, p.sequenceKeys[sequence], p.site,
                                            Purpose::Dropout, element);
            const float kept = isGone ? 0.0f : weight * p.rate.scale;
            const T* v = static_cast<const T*>(p.v) + at;
            for (Index d = 0; d < size; ++d)
                sums[d] = sums[d] * rescale + kept * static_cast<float>(v[d]);
        }
        T* o = static_cast<T*>(p.o) + item * size;
        for (Index d = 0; d < size; ++d)
            o[d] = static_cast<T>(sums[d] / total);
    }

    VERGENCE_HD float product(const T* a, const T* b) const
    {
        float sum = 0;
        for (Index d = 0; d < p.headSize; ++d)
            sum += static_cast<float>(a[d]) * static_cast<float>(b[d]);
        return sum;
    }
};

void maskedAttentionBody(Stream& stream, const MaskedAttentionArguments& p)
{
    withFloatType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (!std::is_same_v<T, double>)
            forEach(stream, p.sequences * p.queries * p.heads, MaskedAttention<T>{p}, 4);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(maskedAttention, maskedAttentionBody)

} // namespace vergence::mc_embedding
