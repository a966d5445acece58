#include "core/compute/dense/panelled_product.h"

#include <algorithm>

#include "core/compute/dense/panel_kernels.h"
#include "core/compute/dense/pieces.h"
#include "core/compute/dense/tile_kernels.h"

namespace vergence {

namespace {

// A step of a tile of a, 384 × 1,536 numbers, and one of a panel of b stay in the second cache.
constexpr Index kMostRows = 384, kMostDepth = 1536;
constexpr Index kFewestRows = 96;

Index roundedUp(Index value, Index step)
{
    return ceilDiv(value, step) * step;
}

} // namespace

PanelledProduct::PanelledProduct(CpuDenseMath& dense, const MatmulProblem& problem)
    : m_dense(dense),
      m_p(problem),
      m_packed(static_cast<const CpuPackedLinear*>(problem.packedB)),
      m_ownPanels(problem.n, problem.k)
{
    chooseTiles();
}

void PanelledProduct::chooseTiles()
{
    // Cut along the longer side, so that most tiles read numbers that no other reads; along the
    // other one where pieces are too few.
    const Index all = m_dense.piecesOf(m_p.flops());
    const Index wanted = ceilDiv(all, m_p.batches);
    const Index enough = ceilDiv(std::min(all, 2 * Index{m_dense.threads()}), m_p.batches);
    const Index mostRows = ceilDiv(m_p.m, kFewestRows);
    const Index mostColumns = ceilDiv(m_p.n, PanelLayout::kPanelColumns);
    Index rows = ceilDiv(m_p.m, kMostRows), columns = 1;
    if (m_p.m > m_p.n) {
        rows = std::max(rows, std::min(wanted, mostRows));
        columns = std::min(ceilDiv(enough, rows), mostColumns);
    } else {
        columns = std::min(ceilDiv(wanted, rows), mostColumns);
        rows = std::max(rows, std::min(ceilDiv(enough, columns), mostRows));
    }
    m_tileRows = std::min(m_p.m, roundedUp(ceilDiv(m_p.m, rows), 6));
    m_tileColumns = roundedUp(ceilDiv(m_p.n, columns), PanelLayout::kPanelColumns);
    m_rows = ceilDiv(m_p.m, m_tileRows);
    m_columns = ceilDiv(m_p.n, m_tileColumns);
    m_depth = roundedUp(ceilDiv(m_p.k, ceilDiv(m_p.k, kMostDepth)), 16);
}

bool PanelledProduct::usesSlot() const
{
    return m_p.outType != DType::F32 ||
           (!m_p.preActivation && (m_p.beta != 0 || m_p.residualIsY()));
}

PanelledProduct::Tile PanelledProduct::tileOf(Index piece) const
{
    Tile tile;
    tile.column = piece % m_columns * m_tileColumns;
    tile.row = piece / m_columns % m_rows * m_tileRows;
    tile.batch = piece / m_columns / m_rows;
    tile.m = std::min(m_tileRows, m_p.m - tile.row);
    tile.n = std::min(m_tileColumns, m_p.n - tile.column);
    return tile;
}

void PanelledProduct::orderA(Stream& stream)
{
    m_memoryOfA =
        m_dense.workspace(stream, static_cast<std::size_t>(m_p.m * m_p.k) * sizeof(float));
    auto* target = static_cast<float*>(m_memoryOfA.get());
    if (m_p.transposeA)
        m_dense.turn(stream, m_p.a, m_p.type, m_p.m, m_p.k, target);
    else
        m_dense.widen(stream, m_p.a.data, m_p.type, m_p.m, m_p.k, m_p.a.rowStride, target);
}

void PanelledProduct::orderB(Stream& stream)
{
    m_ownPanels.setMemory(m_dense.workspace(stream, m_ownPanels.bytes()));
    m_dense.pack(stream, m_p.b, m_p.type, m_p.transposeB, m_ownPanels);
    m_packed = &m_ownPanels;
}

const float* PanelledProduct::stepOfA(Stream& stream, const Tile& tile, Step step,
                                      float* space) const
{
    if (m_memoryOfA)
        return static_cast<const float*>(m_memoryOfA.get()) + tile.row * m_p.k + step.first;
    const Index first = m_p.transposeA ? step.first * m_p.a.rowStride + tile.row
                                       : tile.row * m_p.a.rowStride + step.first;
    const void* a = advanced(m_p.a.data, m_p.offsetOf(m_p.a, tile.batch) + first, m_p.type);
    if (readsAInPlace())
        return static_cast<const float*>(a);
    copyTile(stream, {a, m_p.a.rowStride, m_p.type, m_p.transposeA ? step.depth : tile.m,
                      m_p.transposeA ? tile.m : step.depth, space, step.depth, m_p.transposeA});
    return space;
}

void PanelledProduct::packStepOfB(Stream& stream, const Tile& tile, Step step, float* space) const
{
    const Index first = m_p.transposeB ? tile.column * m_p.b.rowStride + step.first
                                       : step.first * m_p.b.rowStride + tile.column;
    const void* b = advanced(m_p.b.data, m_p.offsetOf(m_p.b, tile.batch) + first, m_p.type);
    packPanels(stream, {b, m_p.b.rowStride, m_p.type, m_p.transposeB}, {tile.n, step.depth}, space);
}

std::byte* PanelledProduct::place(const MatrixBatch& matrix, const Tile& tile) const
{
    return advanced(matrix.data,
                    m_p.offsetOf(matrix, tile.batch) + tile.row * matrix.rowStride + tile.column,
                    m_p.outType);
}

void PanelledProduct::finish(Stream& stream, const Tile& tile, const float* product,
                             Index stride) const
{
    TileFinish rest;
    rest.product = product;
    rest.productStride = stride;
    rest.rows = tile.m;
    rest.columns = tile.n;
    rest.type = m_p.outType;
    rest.y = place(m_p.y, tile);
    rest.yStride = m_p.y.rowStride;
    rest.residual = place(m_p.residual, tile);
    rest.residualStride = m_p.residual.rowStride;
    rest.preActivation = place(m_p.preActivation, tile);
    rest.preActivationStride = m_p.preActivation.rowStride;
    if (rest.preActivation == product && m_p.alpha == 1 && !m_p.bias)
        rest.preActivation = nullptr; // is there already
    rest.bias = advanced(m_p.bias, m_p.biasPerRow ? tile.row : tile.column, m_p.biasType);
    rest.biasType = m_p.biasType;
    rest.biasPerRow = m_p.biasPerRow;
    rest.activation = m_p.activation;
    rest.alpha = m_p.alpha;
    rest.beta = m_p.beta;
    finishTile(stream, rest);
}

void PanelledProduct::runTile(Stream& stream, const Tile& tile, float* space) const
{
    float* const spaceOfB = space;
    float* const spaceOfA = spaceOfB + (m_packed ? 0 : m_tileColumns * m_depth);
    float* const slot = spaceOfA + (readsAInPlace() || m_memoryOfA ? 0 : m_tileRows * m_depth);

    PanelProduct sum;
    sum.m = tile.m;
    sum.product = slot;
    sum.productStride = tile.n;
    if (!usesSlot()) {
        const MatrixBatch& target = m_p.preActivation ? m_p.preActivation : m_p.y;
        sum.product = reinterpret_cast<float*>(place(target, tile));
        sum.productStride = target.rowStride;
    }
    for (Step step; step.first < m_p.k; step.first += m_depth) {
        step.depth = std::min(m_depth, m_p.k - step.first);
        sum.a = stepOfA(stream, tile, step, spaceOfA);
        sum.aStride = m_memoryOfA ? m_p.k : readsAInPlace() ? m_p.a.rowStride : step.depth;
        if (m_packed) {
            sum.b = m_packed->panel(tile.column);
            sum.layout = {tile.n, m_p.k};
            sum.firstRow = step.first;
        } else {
            packStepOfB(stream, tile, step, spaceOfB);
            sum.b = spaceOfB;
            sum.layout = {tile.n, step.depth};
        }
        sum.k = step.depth;
        sum.accumulate = step.first > 0;
        multiplyPanels(stream, sum);
    }
    const bool isDone = !usesSlot() && !m_p.preActivation && m_p.alpha == 1 && !m_p.bias &&
                        !m_p.residual && m_p.activation == Activation::None;
    if (!isDone)
        finish(stream, tile, sum.product, sum.productStride);
}

void PanelledProduct::run(Stream& stream)
{
    // Of a batch, each product's operands are put in order by its tiles.
    if (m_p.batches == 1 && !readsAInPlace() && m_columns > 1)
        orderA(stream);
    if (m_p.batches == 1 && !m_packed && m_rows > 1)
        orderB(stream);
    const Index numbers = (m_packed ? 0 : m_tileColumns * m_depth) +
                          (readsAInPlace() || m_memoryOfA ? 0 : m_tileRows * m_depth) +
                          (usesSlot() ? m_tileRows * m_tileColumns : 0);
    const Index pieces = m_p.batches * m_rows * m_columns;
    const SlotMemory memory(m_dense, stream, pieces, 0,
                            static_cast<std::size_t>(numbers) * sizeof(float));
    // Small products of a batch are done several at a time.
    const Index tasks = std::min(pieces, m_dense.piecesOf(m_p.flops()));
    m_dense.forPieces(tasks, [&](Index task, int slot) {
        for (Index piece = task * pieces / tasks; piece < (task + 1) * pieces / tasks; ++piece)
            runTile(stream, tileOf(piece), memory.tile(slot));
    });
}

} // namespace vergence
