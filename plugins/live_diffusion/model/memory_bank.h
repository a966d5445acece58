#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/compute/device.h"
#include "plugins/live_diffusion/model/memory_ring.h"
#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

/// Tokens of earlier frames, and their keys and values for every cross-attention, all at fixed
/// addresses. Keys and values are made when tokens are written, sixteen rows at a time, so that a
/// slot's are the same bits whatever else is in the bank.
class MemoryBank {
public:
    /// `projections`: weight [2C, D] of each cross-attention in the order of the program, F32, F64,
    /// F16 or BF16, all of one type; kept by reference to their storage. `nullToken` [D] of the
    /// same type.
    MemoryBank(Stream& stream, std::vector<Tensor> projections, const Tensor& nullToken);

    /// Forgets all slots; the null token stays. Its keys and values are made anew, so call it after
    /// the weights changed.
    void reset(Stream& stream);
    /// tokens [16, D] in the type of the weights → the next slot.
    void write(Stream& stream, const Tensor& tokens);

    /// write() in parts, for those who copy rows into the slot on the device: keys and values
    /// [16, 2C] of tokens [16, D], one tensor per layer; then the count and the ages.
    void project(Stream& stream, const Tensor& tokens, std::span<const Tensor> rows) const;
    void countWrite(Stream& stream);

    const MemoryRing& ring() const { return m_ring; }
    const Tensor& tokens() const { return m_tokens; } ///< [264, D]
    const Tensor& bias() const { return m_bias; }     ///< [264] F32
    int layers() const { return static_cast<int>(m_projections.size()); }
    /// [264, 2C]: a row holds the keys of all heads, then the values.
    const Tensor& keysAndValues(int layer) const
    {
        return m_cache.at(static_cast<std::size_t>(layer));
    }
    std::size_t cacheBytes() const; ///< of keys and values

private:
    void projectTo(Stream& stream, const Tensor& tokens, Index firstRow) const;
    void uploadBias(Stream& stream);

    std::vector<Tensor> m_projections;
    Tensor m_nullToken;
    Tensor m_tokens, m_bias;
    std::vector<Tensor> m_cache;
    MemoryRing m_ring;
};

/// Numbers of the cross-attention operations of a program, ascending, and of the linear layers that
/// make their keys and values.
struct CrossAttentionLayers {
    std::vector<int> attentions, projections;
};
CrossAttentionLayers crossAttentionLayers(const Program& program);

} // namespace vergence::live
