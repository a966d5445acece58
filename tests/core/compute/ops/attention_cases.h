#pragma once

#include <vector>

#include "tests/core/compute/ops/attention_reference.h"

namespace vergence::test {

/// Sizes around every block border, all masks, groups of 1 and 3.
inline std::vector<AttentionCase> attentionCases()
{
    std::vector<AttentionCase> list;
    const auto add = [&](const char* name, Index b, Index sq, Index sk, Index h, Index hkv,
                         Index d) -> AttentionCase& {
        AttentionCase c;
        c.name = name;
        c.batches = b, c.queries = sq, c.keys = sk, c.heads = h, c.keyHeads = hkv, c.size = d;
        list.push_back(c);
        return list.back();
    };
    add("one of all", 1, 1, 1, 1, 1, 4);
    add("N 5, d 4", 2, 5, 5, 2, 2, 4);
    add("N 65, d 64", 1, 65, 65, 3, 1, 64);
    add("N 325, d 64", 1, 325, 325, 1, 1, 64);
    add("N 31, d 72", 1, 31, 31, 2, 1, 72);
    add("N 33, d 128", 1, 33, 33, 2, 2, 128);
    add("d 7", 1, 20, 40, 3, 3, 7);
    add("d 24, 257 keys", 1, 32, 257, 2, 2, 24);
    add("one query", 2, 1, 700, 6, 2, 64);
    add("one query, d 20", 1, 1, 37, 3, 1, 20);
    add("two queries, 1030 keys", 1, 2, 1030, 1, 1, 32);
    add("1030 keys", 1, 17, 1030, 1, 1, 8);
    add("no key", 2, 3, 0, 2, 1, 8);
    add("no query", 1, 0, 3, 2, 1, 8);
    add("causal 130", 1, 130, 130, 3, 1, 16).causal = true;
    add("causal 325, d 64", 1, 325, 325, 1, 1, 64).causal = true;
    AttentionCase& cached = add("causal with cache", 2, 40, 103, 3, 3, 32);
    cached.causal = true, cached.cacheOffset = 63;
    AttentionCase& token = add("causal single with cache", 1, 1, 103, 9, 3, 64);
    token.causal = true, token.cacheOffset = 60;
    AttentionCase& tall = add("causal, more queries than keys", 1, 90, 30, 2, 2, 16);
    tall.causal = true;
    add("padding", 3, 37, 70, 2, 2, 32).keyCounts = {70, 0, 33};
    AttentionCase& padded = add("causal and padding", 2, 70, 70, 2, 1, 16);
    padded.causal = true, padded.keyCounts = {64, 5};
    add("segments", 1, 150, 150, 2, 1, 16).segmentStarts = {0, 1, 1, 40, 129, 140};
    AttentionCase& packed = add("causal segments", 1, 150, 150, 2, 2, 32);
    packed.causal = true, packed.segmentStarts = {0, 60, 64, 150};
    add("bias of all", 2, 20, 33, 3, 1, 16).biasShape = {2, 3, 20, 33};
    add("bias per key", 2, 40, 100, 4, 2, 16).biasShape = {1, 1, 1, 100};
    add("bias per head and key, one query", 2, 1, 100, 4, 4, 16).biasShape = {1, 4, 1, 100};
    AttentionCase& hidden = add("bias that hides", 1, 20, 33, 2, 2, 16);
    hidden.biasShape = {1, 2, 20, 33}, hidden.hidesByBias = true;
    AttentionCase& dark = add("causal with bias", 1, 70, 70, 1, 1, 64);
    dark.causal = true, dark.biasShape = {1, 1, 70, 70};
    add("large scores", 1, 40, 90, 1, 1, 32).spread = 20;
    add("own scale", 1, 20, 20, 1, 1, 8).scale = 0.7;
    for (AttentionCase& c : list)
        c.fill();
    return list;
}

} // namespace vergence::test
