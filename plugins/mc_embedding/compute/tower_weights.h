#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/compute/dense.h"
#include "core/compute/graph/parameter.h"
#include "plugins/mc_embedding/compute/model_zoo.h"
#include "plugins/mc_embedding/compute/row_kernels.h"

namespace vergence {
class ClipVisionTower;
class SiglipVisionTower;
class TransformerBlock;
struct LinearLayer;
struct NormLayer;
} // namespace vergence

namespace vergence::mc_embedding {

/// y = x Wᵀ + b of a tower.
struct LinearWeights {
    Tensor weight; ///< [N, K]
    Tensor bias;   ///< [N] F32; empty: none
    std::shared_ptr<const PackedWeight> packed;

    void operator()(Stream& stream, const Tensor& x, const Tensor& y) const;
};

struct BlockWeights {
    RowNormWeights norm1, norm2;
    LinearWeights qkv, output, fc1, fc2; ///< of the head: qkv holds k and v alone, no norm1
};

/// The parameters of an image tower and how its steps read them.
class TowerWeights {
public:
    /// Declares and allocates the parameters, all 0.
    TowerWeights(Stream& stream, std::shared_ptr<Device> device, const TowerShape& tower,
                 DType compute);

    ParameterSet& parameters() { return m_parameters; }
    const ParameterSet& parameters() const { return m_parameters; }
    /// Puts the weights in order for products; after they changed. `rows`, `tailRows`: of products
    /// over all tokens and over one token per sequence. False where `isStopped`, asked before every
    /// block, said yes; part of the weights is then in order.
    bool pack(Stream& stream, Index rows, Index tailRows,
              const std::function<bool()>& isStopped = {});

    LinearWeights patches;
    const float* classToken = nullptr;
    const float* positions = nullptr;
    RowNormWeights pre, post;
    std::vector<BlockWeights> blocks; ///< SigLIP: and the head
    LinearWeights projection;         ///< CLIP, in F32
    Tensor headQuery;                 ///< SigLIP: [1, w], what every image asks

private:
    void findClip(const ClipVisionTower& parts);
    /// Names of the head's query, and of its keys and values, for files that keep them apart.
    void nameHeadParts(const SiglipVisionTower& parts, Index width);
    void findSiglip(const SiglipVisionTower& parts);
    LinearWeights linear(const LinearLayer& layer) const;
    RowNormWeights norm(const NormLayer& layer) const;
    BlockWeights block(const TransformerBlock& block) const;
    const float* values(int parameter) const;

    ParameterSet m_parameters;
    LinearWeights m_query; ///< SigLIP's head
    Tensor m_probe;
};

} // namespace vergence::mc_embedding
