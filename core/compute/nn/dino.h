#pragma once

#include <vector>

#include "core/compute/nn/block.h"

namespace vergence {

/// DINOv2: Learning Robust Visual Features without Supervision (2023); registers: Vision
/// Transformers Need Registers (2024). Defaults are ViT-S/14.
struct DinoConfig {
    Index width = 384;
    int layers = 12;
    int heads = 6;
    Index hidden = 1536;
    int patch = 14;
    Index grid = 37; ///< positions per side
    int registers = 0;
    bool registersHavePositions = false; ///< rows of the positions between class and patches
    double epsilon = 1e-6;
    double deviation = 0.02;      ///< of start values
    double positionDeviation = 0; ///< of those of positions; 0: the same
    /// Resampling of positions to other grids: 0 scales by size (recent Transformers), 0.1 as the
    /// original code did. With registers it is antialiased.
    double positionOffset = 0;
};

/// Vision tower under the tensor names of Hugging Face's Dinov2Model. Tokens: class, registers,
/// patches row by row.
class DinoTower {
public:
    DinoTower(const Declaration& where, const DinoConfig& config);

    /// Makes the maps that resample positions to a grid of rows × columns patches; once before the
    /// first image of a size that is not the native one.
    void prepare(Stream& stream, const ParameterSet& parameters, Index rows, Index columns);

    /// pixels [B, 3, H, W], normalised, any real type → [B, 1 + registers + patches, width] in the
    /// type that the parameters compute in. Rows and columns beyond the last whole patch are
    /// ignored.
    Value embed(const ForwardPass& pass, Value pixels) const;
    /// The same from patches that are cut already: [B, rows · columns, 3 · patch²], elements in the
    /// order channel, row, column, in the type that the parameters compute in. `last` [1, width]
    /// becomes one more token at the end of every image.
    Value embedPatchRows(const ForwardPass& pass, Value patches, Index rows, Index columns,
                         Value last = {}) const;
    /// Through all blocks, without the final norm.
    Value encode(const ForwardPass& pass, Value tokens) const;
    /// last_hidden_state: embed, encode, final norm.
    Value operator()(const ForwardPass& pass, Value pixels) const;

    const DinoConfig& config() const { return m_config; }
    const std::vector<TransformerBlock>& blocks() const { return m_blocks; }
    const NormLayer& norm() const { return m_norm; }

private:
    Index firstTokens() const { return 1 + m_config.registers; }
    /// Of the table of positions: those that stand before the patches.
    Index firstPositions() const { return m_config.registersHavePositions ? firstTokens() : 1; }
    Value positions(const ForwardPass& pass, Index first, Index count) const;
    Value leadingTokens(const ForwardPass& pass) const;
    Value patchPositions(const ForwardPass& pass, Index rows, Index columns) const;
    Value place(const ForwardPass& pass, Value patches, Index rows, Index columns,
                Value last) const;

    DinoConfig m_config;
    int m_classToken = -1, m_registerTokens = -1, m_positions = -1;
    LinearLayer m_patches;
    std::vector<TransformerBlock> m_blocks;
    NormLayer m_norm;
    std::map<Index, Tensor> m_maps; ///< [to, grid] F32 (F64), by target size
};

} // namespace vergence
