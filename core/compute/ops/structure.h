#pragma once

#include "core/compute/arena.h"
#include "core/compute/tensor.h"

namespace vergence {

/// Copies between tensors of one shape and type with any strides; the engine's concat, slice and
/// transpose. source and target must not overlap.
void copyStrided(Stream& stream, const Tensor& source, const Tensor& target);
/// target += source, any strides.
void addStrided(Stream& stream, const Tensor& source, const Tensor& target);
/// x itself where it is dense, else a dense copy in the arena.
Tensor contiguous(Stream& stream, Arena& arena, const Tensor& x);

/// y[i] = table[ids[i]]. table: [V, ..row], ids: [n] I32, y: [n, ..row]. An id outside the table
/// gives a row of zeros (checked at the caller's side).
void gatherRows(Stream& stream, const Tensor& table, const Tensor& ids, const Tensor& y);
/// gradTable[ids[i]] += gradY[i] in the order of i, so that repeated ids repeat bit for bit.
/// gradTable may be F32 (F64) while gradY has 16 bits.
void scatterAddRows(Stream& stream, const Tensor& gradY, const Tensor& ids,
                    const Tensor& gradTable);

/// y[b, ..] = x for every b; the sum over b is its derivative (addColumnSums on [B, size]).
void broadcastLeading(Stream& stream, const Tensor& x, const Tensor& y);

} // namespace vergence
