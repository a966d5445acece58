#include "plugins/live_diffusion/model/memory_bank.h"

#include <fmt/format.h>

#include "core/compute/dense.h"

namespace vergence::live {

MemoryBank::MemoryBank(Stream& stream, std::vector<Tensor> projections, const Tensor& nullToken)
    : m_projections(std::move(projections)),
      m_nullToken(nullToken.reshaped({1, nullToken.size()}))
{
    const Index width = m_nullToken.size();
    const auto& device = m_nullToken.device();
    for (const Tensor& weight : m_projections) {
        expects(weight.rank() == 2 && weight.extent(1) == width && weight.extent(0) % 2 == 0 &&
                    weight.dtype() == m_nullToken.dtype(),
                fmt::format("MemoryBank: a projection {} {} does not fit tokens of {} in {}",
                            nameOf(weight.dtype()), toString(weight.shape()), width,
                            nameOf(m_nullToken.dtype())));
        m_cache.push_back(Tensor::empty(device, {kMemoryTokens, weight.extent(0)}, weight.dtype()));
    }
    m_tokens = Tensor::empty(device, {kMemoryTokens, width}, m_nullToken.dtype());
    m_bias = Tensor::empty(device, {kMemoryTokens});
    reset(stream);
}

void MemoryBank::reset(Stream& stream)
{
    m_ring.reset();
    stream.fillBytes(m_tokens.data(), 0, m_tokens.bytes());
    for (const Tensor& cache : m_cache)
        stream.fillBytes(cache.data(), 0, cache.bytes());
    const Tensor place = m_tokens.narrow(0, kNullToken, 1);
    stream.copy(place.data(), m_nullToken.data(), m_nullToken.bytes());
    projectTo(stream, place, kNullToken);
    uploadBias(stream);
}

void MemoryBank::write(Stream& stream, const Tensor& tokens)
{
    expects(tokens.shape() == Shape({kSlotTokens, m_tokens.extent(1)}) &&
                tokens.dtype() == m_tokens.dtype(),
            fmt::format("MemoryBank: {} {} are not the tokens of one slot", nameOf(tokens.dtype()),
                        toString(tokens.shape())));
    const Index firstRow = m_ring.nextSlot() * kSlotTokens;
    const Tensor place = m_tokens.narrow(0, firstRow, kSlotTokens);
    stream.copy(place.data(), tokens.data(), tokens.bytes());
    projectTo(stream, place, firstRow);
    countWrite(stream);
}

void MemoryBank::countWrite(Stream& stream)
{
    m_ring.write();
    uploadBias(stream);
}

void MemoryBank::projectTo(Stream& stream, const Tensor& tokens, Index firstRow) const
{
    std::vector<Tensor> rows;
    for (const Tensor& cache : m_cache)
        rows.push_back(cache.narrow(0, firstRow, tokens.extent(0)));
    project(stream, tokens, rows);
}

void MemoryBank::project(Stream& stream, const Tensor& tokens, std::span<const Tensor> rows) const
{
    MatmulOptions options;
    options.transposeB = true;
    for (std::size_t i = 0; i < m_projections.size(); ++i)
        tokens.device()->dense().matmul(stream, tokens, m_projections[i], rows[i], options);
}

void MemoryBank::uploadBias(Stream& stream)
{
    const auto bias = m_ring.bias();
    stream.copy(m_bias.data(), bias.data(), m_bias.bytes());
}

std::size_t MemoryBank::cacheBytes() const
{
    std::size_t bytes = 0;
    for (const Tensor& cache : m_cache)
        bytes += cache.bytes();
    return bytes;
}

CrossAttentionLayers crossAttentionLayers(const Program& program)
{
    CrossAttentionLayers layers;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        if (program.ops[i].kind != OpKind::CrossAttention)
            continue;
        layers.attentions.push_back(static_cast<int>(i));
        layers.projections.push_back(program.value(program.ops[i].inputs[1]).producer);
    }
    return layers;
}

} // namespace vergence::live
