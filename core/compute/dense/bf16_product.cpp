#include "core/compute/dense/bf16_product.h"

#include <algorithm>

#include "core/compute/dense/pieces.h"
#include "core/compute/dense/tile_kernels.h"

namespace vergence {

namespace {

constexpr Index kStripTiles = 8;     ///< columns of a strip: its sums stay in the first cache
constexpr Index kPairedTiles = 2;    ///< of an operand, which share its cache lines
constexpr Index kCachedTiles = 1024; ///< 1 MB: what a part reads again stays in the second cache
constexpr Index kStripNumbers = 2 * kTileLines * kStripTiles * kTileLines;

} // namespace

bool Bf16Product::suits(const CpuDenseMath& dense, const MatmulProblem& p)
{
    return p.type == DType::BF16 && dense.multipliesBf16() && hasMatrixRegisters() &&
           std::min(p.n, p.k) >= 16 && p.m >= (p.transposeB ? kFewRows + 1 : 16);
}

Bf16Product::Bf16Product(CpuDenseMath& dense, const MatmulProblem& problem)
    : m_dense(dense),
      m_p(problem),
      m_steps(ceilDiv(problem.k, kTileDepth)),
      m_left(operandOf(problem.a, true, problem.transposeA)),
      m_right(operandOf(problem.b, false, problem.transposeB)),
      m_isPlain(problem.outType == DType::BF16 && problem.alpha == 1 && problem.beta == 0 &&
                !problem.bias && !problem.residual && !problem.preActivation &&
                problem.activation == Activation::None)
{
    chooseParts();
}

Bf16Product::Operand Bf16Product::operandOf(const MatrixBatch& matrix, bool isLeft,
                                            bool isTransposed) const
{
    Operand operand;
    operand.matrix = matrix;
    operand.isLeft = isLeft;
    operand.isAlongDepth = isLeft != isTransposed;
    operand.lines = isLeft ? m_p.m : m_p.n;
    operand.tiles = ceilDiv(operand.lines, kTileLines);
    const auto strides = matrix.batchStrides.begin();
    const bool isShared =
        std::all_of(strides, strides + m_p.batchRank, [](Index stride) { return stride == 0; });
    operand.copies = isShared ? 1 : m_p.batches;
    // Rows far apart by a power of two fight for the same lines of the first cache.
    operand.isInOrder =
        isLeft && operand.isAlongDepth && m_p.k % kTileDepth == 0 && matrix.rowStride % 512 != 0;
    return operand;
}

void Bf16Product::chooseParts()
{
    // Parts are whole rows or columns of y where one operand is small: the other is then read once.
    const Index leastRows = ceilDiv(m_left.tiles * m_steps, kCachedTiles);
    const Index leastColumns = ceilDiv(m_right.tiles * m_steps, kCachedTiles);
    const Index mostRows = std::max(leastRows, ceilDiv(m_left.tiles, 4));
    const Index mostColumns = std::max(leastColumns, ceilDiv(m_right.tiles, kStripTiles));
    const Index wanted = m_p.batches >= 2 * m_dense.threads()
                             ? 1
                             : ceilDiv(m_dense.piecesOf(m_p.flops()), m_p.batches);
    m_rows = m_columns = 1;
    if (leastRows == 1 && mostColumns >= wanted) {
        m_columns = std::max(leastColumns, wanted);
    } else if (leastColumns == 1 && mostRows >= wanted) {
        m_rows = std::max(leastRows, wanted);
    } else {
        m_rows = std::clamp(ceilDiv(wanted, leastColumns), leastRows, mostRows);
        m_columns = std::clamp(ceilDiv(wanted, m_rows), leastColumns, mostColumns);
    }
    m_left.isOfPart = !m_left.isInOrder && m_columns == 1 && m_left.copies == m_p.batches;
    m_right.isOfPart = m_rows == 1 && m_right.copies == m_p.batches;
}

Bf16Product::Part Bf16Product::partOf(Index piece) const
{
    // Cut between pairs of rows of tiles, which the registers hold, and between strips.
    const Index row = piece % m_rows, column = piece / m_rows % m_columns;
    const auto cut = [](Index index, Index count, Index tiles, Index unit) {
        return std::min(tiles, index * ceilDiv(tiles, unit) / count * unit);
    };
    Part part;
    part.batch = piece / m_rows / m_columns;
    part.row = cut(row, m_rows, m_left.tiles, 2);
    part.rows = cut(row + 1, m_rows, m_left.tiles, 2) - part.row;
    part.column = cut(column, m_columns, m_right.tiles, kStripTiles);
    part.columns = cut(column + 1, m_columns, m_right.tiles, kStripTiles) - part.column;
    return part;
}

const std::uint16_t* Bf16Product::sourceOf(const Operand& operand, Index copy, Index tile) const
{
    const Index line = tile * kTileLines;
    return static_cast<const std::uint16_t*>(operand.matrix.data) +
           m_p.offsetOf(operand.matrix, copy) +
           (operand.isAlongDepth ? line * operand.matrix.rowStride : line);
}

void Bf16Product::putInTiles(const Operand& operand, Index copy, Index tile, Index tiles,
                             std::uint16_t* target) const
{
    TilePacking packing;
    packing.source = sourceOf(operand, copy, tile);
    packing.stride = operand.matrix.rowStride;
    packing.isAlongDepth = operand.isAlongDepth;
    packing.isLeft = operand.isLeft;
    packing.lines = std::min(tiles * kTileLines, operand.lines - tile * kTileLines);
    packing.depth = m_p.k;
    packing.target = target;
    packTiles(packing);
}

std::shared_ptr<void> Bf16Product::putInTilesBefore(Stream& stream)
{
    Operand* const operands[] = {&m_left, &m_right};
    Index numbers[2] = {}, units[2] = {};
    for (const int i : {0, 1}) {
        const Operand& operand = *operands[i];
        if (!operand.isShared())
            continue;
        numbers[i] = operand.copies * numbersOf(operand.tiles);
        units[i] = operand.copies * ceilDiv(operand.tiles, kPairedTiles);
    }
    auto memory = m_dense.workspace(stream, static_cast<std::size_t>(numbers[0] + numbers[1]) *
                                                sizeof(std::uint16_t));
    m_left.target = static_cast<std::uint16_t*>(memory.get());
    m_right.target = m_left.target + numbers[0];

    constexpr Index kLeastNumbers = 32768; // worth a task
    const Index atOnce = std::max<Index>(1, kLeastNumbers / numbersOf(kPairedTiles));
    const Index all = units[0] + units[1];
    m_dense.forPieces(ceilDiv(all, atOnce), [&](Index piece, int) {
        for (Index i = piece * atOnce; i < std::min(all, (piece + 1) * atOnce); ++i) {
            const bool isLeft = i < units[0];
            const Operand& operand = isLeft ? m_left : m_right;
            const Index unit = isLeft ? i : i - units[0];
            const Index each = ceilDiv(operand.tiles, kPairedTiles);
            const Index copy = unit / each, tile = unit % each * kPairedTiles;
            putInTiles(operand, copy, tile, kPairedTiles,
                       operand.target + numbersOf(copy * operand.tiles + tile));
        }
    });
    return memory;
}

const std::uint16_t* Bf16Product::tilesOf(const Operand& operand, Index batch, Index tile,
                                          Index tiles, std::uint16_t* space) const
{
    const Index copy = operand.copies == 1 ? 0 : batch;
    if (operand.isInOrder)
        return sourceOf(operand, copy, tile);
    if (!operand.isOfPart)
        return operand.target + numbersOf(copy * operand.tiles + tile);
    putInTiles(operand, copy, tile, tiles, space);
    return space;
}

void Bf16Product::makePart(Stream& stream, const Part& part, float* product) const
{
    auto* space = reinterpret_cast<std::uint16_t*>(product + kStripNumbers);
    const auto* left = tilesOf(m_left, part.batch, part.row, part.rows, space);
    space += m_left.isOfPart ? numbersOf(part.rows) : 0;
    TileStrip strip;
    strip.leftLine = m_left.isInOrder ? m_left.matrix.rowStride : kTileDepth;
    strip.leftStep = m_left.isInOrder ? kTileDepth : kTileNumbers;
    strip.leftTile = m_left.isInOrder ? kTileLines * strip.leftLine : numbersOf(1);
    strip.steps = m_steps;
    strip.product = product;
    MatrixRegisters registers;
    const Index panel = m_right.isOfPart ? kStripTiles : part.columns;
    for (Index first = 0; first < part.columns; first += panel) {
        const Index columns = std::min(panel, part.columns - first);
        const auto* right = tilesOf(m_right, part.batch, part.column + first, columns, space);
        for (Index row = 0; row < part.rows; row += 2) {
            for (Index column = 0; column < columns; column += kStripTiles) {
                strip.left = left + row * strip.leftTile;
                strip.right = right + numbersOf(column);
                strip.columnTiles = std::min(kStripTiles, columns - column);
                makeStrip(stream, registers, strip,
                          {part.batch, (part.row + row) * kTileLines,
                           (part.column + first + column) * kTileLines});
            }
        }
    }
}

void Bf16Product::makeStrip(Stream& stream, MatrixRegisters& registers, TileStrip& strip,
                            const Place& at) const
{
    const auto place = [&](const MatrixBatch& matrix) {
        return advanced(matrix.data,
                        m_p.offsetOf(matrix, at.batch) + at.row * matrix.rowStride + at.column,
                        m_p.outType);
    };
    TileFinish rest;
    rest.product = strip.product;
    rest.productStride = strip.columnTiles * kTileLines;
    rest.rows = strip.rows = std::min(2 * kTileLines, m_p.m - at.row);
    rest.columns = strip.columns = std::min(rest.productStride, m_p.n - at.column);
    rest.type = m_p.outType;
    rest.y = place(m_p.y);
    rest.yStride = strip.roundedStride = m_p.y.rowStride;
    strip.rounded = m_isPlain ? static_cast<std::uint16_t*>(rest.y) : nullptr;
    registers.multiply(strip);
    if (m_isPlain)
        return;
    rest.residual = place(m_p.residual);
    rest.residualStride = m_p.residual.rowStride;
    rest.preActivation = place(m_p.preActivation);
    rest.preActivationStride = m_p.preActivation.rowStride;
    rest.bias = advanced(m_p.bias, m_p.biasPerRow ? at.row : at.column, m_p.biasType);
    rest.biasType = m_p.biasType;
    rest.biasPerRow = m_p.biasPerRow;
    rest.activation = m_p.activation;
    rest.alpha = m_p.alpha;
    rest.beta = m_p.beta;
    finishTile(stream, rest);
}

void Bf16Product::run(Stream& stream)
{
    std::shared_ptr<void> tiles;
    if (m_left.isShared() || m_right.isShared())
        tiles = putInTilesBefore(stream);
    const Index parts = m_p.batches * m_rows * m_columns;
    const Index mostRows = std::min(m_left.tiles, 2 * ceilDiv(ceilDiv(m_left.tiles, 2), m_rows));
    const Index numbers = (m_left.isOfPart ? numbersOf(mostRows) : 0) +
                          (m_right.isOfPart ? numbersOf(kStripTiles) : 0);
    const SlotMemory memory(m_dense, stream, parts, 0,
                            kStripNumbers * sizeof(float) +
                                static_cast<std::size_t>(numbers) * sizeof(std::uint16_t));
    const Index tasks = std::min(parts, m_dense.piecesOf(m_p.flops()));
    m_dense.forPieces(tasks, [&](Index task, int slot) {
        for (Index part = task * parts / tasks; part < (task + 1) * parts / tasks; ++part)
            makePart(stream, partOf(part), memory.tile(slot));
    });
}

} // namespace vergence
