#include "core/compute/nn/dino.h"

#include <fmt/format.h>

#include "core/compute/nn/patches.h"
#include "core/compute/ops/spatial.h"

namespace vergence {

namespace {
BlockConfig blockConfig(const DinoConfig& config)
{
    BlockConfig block;
    block.width = config.width;
    block.heads = config.heads;
    block.hidden = config.hidden;
    block.layerScale = true;
    block.epsilon = config.epsilon;
    block.deviation = config.deviation;
    return block;
}
} // namespace

DinoTower::DinoTower(const Declaration& where, const DinoConfig& config) : m_config(config)
{
    const Declaration embeddings = where.below("embeddings");
    m_classToken = embeddings.table("cls_token", {1, 1, config.width}, config.deviation);
    if (config.registers > 0)
        m_registerTokens = embeddings.table("register_tokens", {1, config.registers, config.width});
    m_positions = embeddings.table(
        "position_embeddings", {1, firstPositions() + config.grid * config.grid, config.width},
        config.positionDeviation > 0 ? config.positionDeviation : config.deviation);
    m_patches = declarePatches(embeddings.below("patch_embeddings.projection"), config.patch,
                               config.width, true);
    m_blocks =
        declareBlocks(where, "encoder.layer", config.layers, blockConfig(config), kDinoNames);
    m_norm = NormLayer::declare(where.below("layernorm"), config.width, config.epsilon, false);
}

void DinoTower::prepare(Stream& stream, const ParameterSet& parameters, Index rows, Index columns)
{
    for (const Index to : {rows, columns}) {
        if (rows == m_config.grid && columns == m_config.grid)
            return;
        if (m_maps.contains(to))
            continue;
        const auto map =
            cubicResampling(m_config.grid, to, m_config.positionOffset, m_config.registers > 0);
        if (parameters.computeType() == DType::F64) {
            m_maps[to] =
                Tensor::fromHost<double>(stream, parameters.device(), {to, m_config.grid}, map);
        } else {
            const std::vector<float> single(map.begin(), map.end());
            m_maps[to] =
                Tensor::fromHost<float>(stream, parameters.device(), {to, m_config.grid}, single);
        }
    }
}

Value DinoTower::positions(const ForwardPass& pass, Index first, Index count) const
{
    const Index rows = firstPositions() + m_config.grid * m_config.grid;
    const Value all = reshape(pass.graph, pass[m_positions], {rows, m_config.width});
    return narrow(pass.graph, all, 0, first, count);
}

/// Class and registers, with the positions that they have.
Value DinoTower::leadingTokens(const ForwardPass& pass) const
{
    Graph& graph = pass.graph;
    Value tokens = reshape(graph, pass[m_classToken], {1, m_config.width});
    if (!m_config.registersHavePositions)
        tokens = add(graph, tokens, positions(pass, 0, 1));
    if (m_registerTokens >= 0)
        tokens = concat(
            graph,
            {tokens, reshape(graph, pass[m_registerTokens], {m_config.registers, m_config.width})},
            0);
    if (m_config.registersHavePositions)
        tokens = add(graph, tokens, positions(pass, 0, firstTokens()));
    return tokens;
}

Value DinoTower::patchPositions(const ForwardPass& pass, Index rows, Index columns) const
{
    Graph& graph = pass.graph;
    const Value grid = positions(pass, firstPositions(), m_config.grid * m_config.grid);
    if (rows == m_config.grid && columns == m_config.grid)
        return grid;
    const auto rowMap = m_maps.find(rows), columnMap = m_maps.find(columns);
    expects(rowMap != m_maps.end() && columnMap != m_maps.end(),
            fmt::format("DinoTower: call prepare() for a grid of {} by {} patches", rows, columns));
    const DType type = graph.tensor(grid).dtype();
    const Value wide = cast(graph, grid, rowMap->second.dtype());
    return cast(graph,
                resamplePositions(graph, wide, m_config.grid, rowMap->second, columnMap->second),
                type);
}

Value DinoTower::embed(const ForwardPass& pass, Value pixels) const
{
    Graph& graph = pass.graph;
    const Shape image = graph.shape(pixels);
    expects(image.size() == 4 && image[1] == 3,
            fmt::format("DinoTower: {} is not a batch of images [B, 3, H, W]", toString(image)));
    return place(pass, embedPatches(pass, m_patches, pixels, m_config.patch),
                 image[2] / m_config.patch, image[3] / m_config.patch, {});
}

Value DinoTower::embedPatchRows(const ForwardPass& pass, Value patches, Index rows, Index columns,
                                Value last) const
{
    const Shape& shape = pass.graph.shape(patches);
    const Index numbers = 3 * static_cast<Index>(m_config.patch) * m_config.patch;
    expects(shape.size() == 3 && shape[1] == rows * columns && shape[2] == numbers,
            fmt::format("DinoTower: {} is not [B, {} · {}, {}]", toString(shape), rows, columns,
                        numbers));
    return place(pass, pass.at(m_patches(pass, patches), -1, Site::PatchEmbedding), rows, columns,
                 last);
}

/// Class and registers before the patches, everything with its position.
Value DinoTower::place(const ForwardPass& pass, Value patches, Index rows, Index columns,
                       Value last) const
{
    Graph& graph = pass.graph;
    const Index images = graph.shape(patches)[0];
    const Value grid = patchPositions(pass, rows, columns);
    const Value placed = pass.at(addBroadcast(graph, patches, grid), -1, Site::PositionAdd);
    std::vector<Value> tokens{broadcastLeading(graph, leadingTokens(pass), images), placed};
    if (last)
        tokens.push_back(broadcastLeading(graph, last, images));
    return concat(graph, tokens, 1);
}

Value DinoTower::encode(const ForwardPass& pass, Value tokens) const
{
    for (std::size_t i = 0; i < m_blocks.size(); ++i)
        tokens = m_blocks[i](pass, tokens, static_cast<int>(i), m_blocks[i].attention());
    return tokens;
}

Value DinoTower::operator()(const ForwardPass& pass, Value pixels) const
{
    return m_norm(pass, encode(pass, embed(pass, pixels)));
}

} // namespace vergence
