#include "plugins/mc_embedding/compute/tower_weights.h"

#include "core/compute/nn/clip.h"
#include "core/compute/nn/siglip.h"

namespace vergence::mc_embedding {

namespace {

vergence::TowerConfig configOf(const TowerShape& tower)
{
    return {tower.width, tower.layers, tower.heads, tower.hidden, tower.activation, tower.epsilon};
}

void pack(Stream& stream, LinearWeights& linear, Index rows)
{
    if (!linear.weight.isEmpty())
        linear.packed = stream.device().dense().packLinear(stream, linear.weight, rows);
}

} // namespace

void LinearWeights::operator()(Stream& stream, const Tensor& x, const Tensor& y) const
{
    MatmulOptions options;
    options.transposeB = true;
    options.bias = bias.isEmpty() ? nullptr : &bias;
    options.packedB = packed.get();
    stream.device().dense().matmul(stream, x, weight, y, options);
}

TowerWeights::TowerWeights(Stream& stream, std::shared_ptr<Device> device, const TowerShape& tower,
                           DType compute)
    : m_parameters(device, DType::F32, compute)
{
    // Evaluated only, so there are no gradients.
    const int group = m_parameters.addGroup({"all", 0, true});
    const Declaration where(m_parameters, {group, group, group});
    if (tower.family == Family::ToyLinear) {
        const int weight = where.matrix("toy.weight", {tower.feature, 3, tower.patch, tower.patch});
        const int bias = where.other("toy.bias", {tower.feature});
        m_parameters.allocate(stream);
        patches = linear(LinearLayer{weight, bias});
    } else if (tower.family == Family::Clip) {
        const ClipVisionTower parts(where, configOf(tower), tower.patch, tower.patches(),
                                    tower.feature);
        m_parameters.allocate(stream);
        findClip(parts);
    } else {
        const SiglipVisionTower parts(where, configOf(tower), tower.patch, tower.patches());
        nameHeadParts(parts, tower.width);
        m_parameters.allocate(stream);
        findSiglip(parts);
    }
}

const float* TowerWeights::values(int parameter) const
{
    return static_cast<const float*>(m_parameters[parameter].value.data());
}

LinearWeights TowerWeights::linear(const LinearLayer& layer) const
{
    const Tensor& weight = m_parameters[layer.weight].computed();
    LinearWeights result;
    result.weight = weight.reshaped({weight.extent(0), weight.size() / weight.extent(0)});
    if (layer.bias >= 0)
        result.bias = m_parameters[layer.bias].value;
    return result;
}

RowNormWeights TowerWeights::norm(const NormLayer& layer) const
{
    return {values(layer.weight), values(layer.bias), static_cast<float>(layer.epsilon)};
}

BlockWeights TowerWeights::block(const TransformerBlock& block) const
{
    return {norm(block.norm1()),    norm(block.norm2()), linear(block.qkv()),
            linear(block.output()), linear(block.fc1()), linear(block.fc2())};
}

void TowerWeights::findClip(const ClipVisionTower& parts)
{
    patches = linear(parts.patches());
    classToken = values(parts.classEmbedding());
    positions = values(parts.positions());
    pre = norm(parts.preNorm());
    post = norm(parts.postNorm());
    for (const TransformerBlock& each : parts.blocks())
        blocks.push_back(block(each));
    // Small, and the last step before features are compared: always in the masters' type.
    projection.weight = m_parameters[parts.projection().weight].value;
}

void TowerWeights::nameHeadParts(const SiglipVisionTower& parts, Index width)
{
    const std::string attention = "vision_model.head.attention.";
    for (const auto& [parameter, suffix] :
         {std::pair(parts.headQkv().weight, ".weight"), std::pair(parts.headQkv().bias, ".bias")}) {
        m_parameters.addWindow(attention + "q" + suffix, parameter, 0, width);
        m_parameters.addWindow(attention + "kv" + suffix, parameter, width, 2 * width);
    }
}

void TowerWeights::findSiglip(const SiglipVisionTower& parts)
{
    patches = linear(parts.patches());
    positions = values(parts.positions());
    post = norm(parts.postNorm());
    for (const TransformerBlock& each : parts.blocks())
        blocks.push_back(block(each));
    const LinearWeights all = linear(parts.headQkv());
    const Index width = all.weight.extent(1);
    m_query = {all.weight.narrow(0, 0, width), all.bias.narrow(0, 0, width), nullptr};
    BlockWeights head;
    head.norm2 = norm(parts.headNorm());
    head.qkv = {all.weight.narrow(0, width, 2 * width), all.bias.narrow(0, width, 2 * width),
                nullptr};
    head.output = linear(parts.headOut());
    head.fc1 = linear(parts.headFc1());
    head.fc2 = linear(parts.headFc2());
    blocks.push_back(head);
    m_probe = m_parameters[parts.probe()].computed().reshaped({1, width});
    headQuery = Tensor::empty(m_probe.device(), {1, width}, m_probe.dtype());
}

bool TowerWeights::pack(Stream& stream, Index rows, Index tailRows,
                        const std::function<bool()>& isStopped)
{
    const bool hasHead = !m_probe.isEmpty();
    mc_embedding::pack(stream, patches, rows);
    for (BlockWeights& each : blocks) {
        if (isStopped && isStopped())
            return false;
        const Index left = hasHead && &each == &blocks.back() ? tailRows : rows;
        mc_embedding::pack(stream, each.qkv, rows);
        mc_embedding::pack(stream, each.output, left);
        mc_embedding::pack(stream, each.fc1, left);
        mc_embedding::pack(stream, each.fc2, left);
    }
    mc_embedding::pack(stream, projection, tailRows);
    if (hasHead)
        m_query(stream, m_probe, headQuery);
    return true;
}

} // namespace vergence::mc_embedding
