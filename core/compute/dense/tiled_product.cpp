#include "core/compute/dense/tiled_product.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/compute/dense/double_product_kernels.h"
#include "core/compute/dense/onednn.h"
#include "core/compute/dense/pair_kernels.h"
#include "core/compute/dense/pieces.h"
#include "core/compute/dense/tile_kernels.h"

namespace vergence {

namespace {

dnnl::memory::data_type dnnlType(DType type)
{
    return type == DType::BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory::desc matrixLayout(Index rows, Index columns, Index stride, bool transposed,
                                DType type)
{
    const dnnl::memory::dims strides =
        transposed ? dnnl::memory::dims{1, stride} : dnnl::memory::dims{stride, 1};
    return {dnnl::memory::dims{rows, columns}, dnnlType(type), strides};
}

/// Rows of a that stay in the second cache while tiles of b pass.
Index rowsToKeep(Index depth)
{
    return std::clamp<Index>((Index{1} << 18) / std::max<Index>(depth, 1), 128, 512);
}

} // namespace

TiledProduct::TiledProduct(CpuDenseMath& dense, const MatmulProblem& problem, Order order)
    : m_dense(dense),
      m_p(problem),
      m_order(order),
      m_isFewRows(order == Order::AsTheyAre && problem.m <= kFewRows && problem.transposeB &&
                  problem.type != DType::F64),
      m_packed(m_isFewRows ? nullptr : static_cast<const CpuPackedLinear*>(problem.packedB)),
      m_isDirect(isDirect(problem) && !m_isFewRows)
{
    chooseTiles();
}

bool TiledProduct::isDirect(const MatmulProblem& p)
{
    const bool extrasFit = (p.alpha != 0 || !p.addsY()) && p.activation == Activation::None &&
                           !p.preActivation && !p.biasPerRow && (!p.bias || p.alpha == 1) &&
                           (!p.residual || (p.beta == 0 && p.residual.rowStride == p.y.rowStride));
    if (p.type == DType::F64)
        return extrasFit && !p.bias && !p.residual && p.alpha == 1 && p.beta == 0;
    return extrasFit && (p.outType == DType::F32 || p.type == p.outType);
}

TiledProduct::Target TiledProduct::target() const
{
    if (m_writesDense || (m_p.outType != DType::F32 && m_p.outType != DType::F64))
        return Target::Slot;
    if (m_p.preActivation)
        return Target::PreActivation;
    return m_p.addsY() ? Target::Slot : Target::Y;
}

void TiledProduct::chooseFewRows()
{
    // A pass over b: cut where its memory is worth a thread's while.
    const Index bytes = m_p.n * m_p.k * static_cast<Index>(sizeOf(m_p.type));
    const Index most = m_dense.threads() == 1 ? 1 : 4 * Index{m_dense.threads()};
    const Index pieces = std::clamp<Index>(bytes >> 17, 1, most);
    m_tileRows = m_p.m;
    m_tileColumns = ceilDiv(ceilDiv(m_p.n, pieces), 16) * 16;
}

void TiledProduct::chooseColumnsFirst()
{
    const Index wanted = ceilDiv(m_dense.piecesOf(m_p.flops()), m_p.batches);
    const Index rows = ceilDiv(m_p.m, rowsToKeep(m_p.k));
    if (m_order == Order::Columns) {
        m_tileColumns = CpuPackedLinear::panelColumns(m_p.n, m_dense.threads());
    } else {
        const Index columns = std::clamp<Index>(ceilDiv(wanted, rows), 1, ceilDiv(m_p.n, 128));
        m_tileColumns = ceilDiv(ceilDiv(m_p.n, columns), 64) * 64;
    }
    const Index columns = ceilDiv(m_p.n, m_tileColumns);
    const Index cut =
        2 * rows * columns <= wanted ? std::min(ceilDiv(wanted, columns), ceilDiv(m_p.m, 128)) : 1;
    m_tileRows = ceilDiv(ceilDiv(m_p.m, std::max(rows, cut)), 16) * 16;
}

void TiledProduct::chooseRowsFirst()
{
    const Index wanted = ceilDiv(m_dense.piecesOf(m_p.flops()), m_p.batches);
    const Index rows =
        std::max(ceilDiv(m_p.m, rowsToKeep(m_p.k)), std::min(wanted, ceilDiv(m_p.m, 128)));
    m_tileRows = ceilDiv(ceilDiv(m_p.m, rows), 16) * 16;
    const Index columns =
        m_order == Order::Rows
            ? 1
            : std::clamp<Index>(wanted / ceilDiv(m_p.m, m_tileRows), 1, ceilDiv(m_p.n, 256));
    m_tileColumns = ceilDiv(ceilDiv(m_p.n, columns), 64) * 64;
}

void TiledProduct::chooseWholeRows()
{
    // Every tile puts all of b in pairs first: few tiles, but one for each thread.
    constexpr Index kWorthIt = 256, kMost = 512, kLeast = 64;
    const Index wanted = ceilDiv(m_dense.piecesOf(m_p.flops()), m_p.batches);
    const Index shared = std::min<Index>(m_dense.threads(), ceilDiv(m_p.m, kLeast));
    const Index rows = std::max(ceilDiv(m_p.m, kMost),
                                std::min(wanted, std::max(ceilDiv(m_p.m, kWorthIt), shared)));
    m_tileRows = ceilDiv(ceilDiv(m_p.m, rows), 4) * 4;
    m_tileColumns = m_p.n;
}

void TiledProduct::chooseTiles()
{
    if (m_isFewRows)
        chooseFewRows();
    else if (isWholeRows())
        chooseWholeRows(); // oneDNN's faster product of BF16 writes dense tiles only
    else if (m_order == Order::Columns || (m_order == Order::AsTheyAre && m_p.transposeB))
        chooseColumnsFirst(); // a is read as it is; every tile of b is put in order once
    else
        chooseRowsFirst(); // whole rows of y are what oneDNN writes fastest
    m_tileRows = std::min(m_p.m, m_tileRows);
    m_tileColumns = std::min(m_p.n, m_tileColumns);
    m_rows = ceilDiv(m_p.m, m_tileRows);
    m_columns = ceilDiv(m_p.n, m_tileColumns);
    // oneDNN's faster product writes dense tiles only; where sums are long, a copy of the tile
    // costs less than the slower product.
    if (m_p.type == DType::BF16 && (m_packed || isWholeRows()))
        m_writesDense = m_columns > 1 || m_p.y.rowStride != m_p.n ||
                        (m_p.preActivation && m_p.preActivation.rowStride != m_p.n);
    else
        m_writesDense = m_columns > 1 && m_p.type == DType::F32 && m_p.k >= 768;
    m_isDirect = m_isDirect && !m_writesDense;
}

Index TiledProduct::productStride(Index n) const
{
    if (m_isDirect)
        return m_p.y.rowStride;
    switch (target()) {
    case Target::Y:
        return m_p.y.rowStride;
    case Target::PreActivation:
        return m_p.preActivation.rowStride;
    case Target::Slot:
        break;
    }
    return n;
}

std::shared_ptr<const Plan> TiledProduct::makePlan(Index m, Index n) const
{
    const OnThisThread single;
    const DType productType = m_isDirect ? m_p.outType : DType::F32;
    const auto a = m_orderedA ? matrixLayout(m, m_p.k, m_p.k, false, m_p.type)
                              : matrixLayout(m, m_p.k, m_p.a.rowStride, m_p.transposeA, m_p.type);
    const auto b = m_packed     ? m_packed->layout(n)
                   : m_orderedB ? matrixLayout(m_p.k, n, n, false, m_p.type)
                                : matrixLayout(m_p.k, n, m_p.b.rowStride, m_p.transposeB, m_p.type);
    const auto y = matrixLayout(m, n, productStride(n), false, productType);
    const dnnl::memory::desc bias({1, n}, dnnlType(m_p.biasType), dnnl::memory::format_tag::ab);

    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    std::vector<Plan::Argument> arguments = {
        {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, y}};
    const bool hasBias = m_isDirect && m_p.bias;
    if (hasBias)
        arguments.push_back({DNNL_ARG_BIAS, bias});
    if (m_isDirect) {
        dnnl::post_ops after;
        const double kept = m_p.residualIsY() ? 1 : m_p.beta;
        onednn::scaleAndAdd(attributes, after, static_cast<float>(m_p.alpha),
                            static_cast<float>(kept));
        if (m_p.residual && !m_p.addsY()) {
            after.append_binary(dnnl::algorithm::binary_add, y);
            arguments.push_back(
                {DNNL_ARG_ATTR_MULTIPLE_POST_OP(after.len() - 1) | DNNL_ARG_SRC_1, y});
        }
        attributes.set_post_ops(after);
    }
    const auto primitive =
        onednn::product(a, b, hasBias ? bias : dnnl::memory::desc(), y, attributes);
    if (m_packed && isReference(primitive.get()))
        return nullptr;
    return std::make_shared<Plan>(dnnl::matmul(primitive), arguments,
                                  primitive.scratchpad_desc().get_size());
}

std::shared_ptr<const Plan> TiledProduct::planOf(Index m, Index n) const
{
    enum { kProduct = 1 };
    const bool isTightB = m_packed || m_orderedB;
    const auto flag = [](bool set, int bit) { return std::int64_t{set} << bit; };
    const DType productType = m_isDirect ? m_p.outType : DType::F32;
    PlanKey key;
    auto& v = key.values;
    v[0] =
        kProduct | flag(m_p.transposeA && !m_orderedA, 8) | flag(m_p.transposeB && !isTightB, 9) |
        flag(m_isDirect, 10) | flag(m_isDirect && m_p.bias, 11) | flag(m_p.residualIsY(), 12) |
        flag(static_cast<bool>(m_p.residual), 13) | flag(m_packed, 14) |
        static_cast<std::int64_t>(m_p.type) << 16 | static_cast<std::int64_t>(productType) << 24 |
        static_cast<std::int64_t>(m_p.biasType) << 32;
    v[1] = m;
    v[2] = n;
    v[3] = m_p.k;
    v[4] = m_orderedA ? m_p.k : m_p.a.rowStride;
    v[5] = isTightB ? n : m_p.b.rowStride;
    v[6] = productStride(n);
    if (m_isDirect) {
        v[7] = std::bit_cast<std::int64_t>(m_p.alpha);
        v[8] = std::bit_cast<std::int64_t>(m_p.beta);
    }
    return m_dense.plans().find(key, [&] { return makePlan(m, n); });
}

std::byte* TiledProduct::place(const MatrixBatch& result, const Tile& tile) const
{
    return advanced(result.data,
                    m_p.offsetOf(result, tile.batch) + tile.row * result.rowStride + tile.column,
                    m_p.outType);
}

void TiledProduct::finish(Stream& stream, const Tile& tile, const void* product, Index stride) const
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

TiledProduct::Tile TiledProduct::tileOf(Index piece) const
{
    Tile tile;
    const Index columnIndex = piece % m_columns, rowIndex = piece / m_columns % m_rows;
    tile.batch = piece / m_columns / m_rows;
    tile.row = rowIndex * m_tileRows;
    tile.column = columnIndex * m_tileColumns;
    tile.m = std::min(m_tileRows, m_p.m - tile.row);
    tile.n = std::min(m_tileColumns, m_p.n - tile.column);
    tile.isLastRow = rowIndex == m_rows - 1;
    tile.isLastColumn = columnIndex == m_columns - 1;
    return tile;
}

const std::byte* TiledProduct::operandA(Stream& stream, const Tile& tile, float* space) const
{
    const DType type = m_orderedA ? m_typeA : m_p.type;
    const Index first = m_p.transposeA ? tile.row : tile.row * m_p.a.rowStride;
    const std::byte* a = advanced(m_p.a.data, m_p.offsetOf(m_p.a, tile.batch) + first, type);
    if (!m_orderedA)
        return a;
    if (m_p.type == DType::BF16 && !m_p.transposeA) {
        const std::size_t bytes = static_cast<std::size_t>(m_p.k) * sizeOf(m_p.type);
        for (Index row = 0; row < tile.m; ++row)
            std::memcpy(advanced(space, row * m_p.k, m_p.type),
                        advanced(a, row * m_p.a.rowStride, m_p.type), bytes);
    } else if (m_p.type == DType::BF16) {
        turnPairs(stream, {reinterpret_cast<const std::uint16_t*>(a), m_p.a.rowStride, m_p.k,
                           tile.m, reinterpret_cast<std::uint16_t*>(space), m_p.k});
    } else {
        copyTile(stream, {a, m_p.a.rowStride, type, m_p.transposeA ? m_p.k : tile.m,
                          m_p.transposeA ? tile.m : m_p.k, space, m_p.k, m_p.transposeA});
    }
    return reinterpret_cast<const std::byte*>(space);
}

const std::byte* TiledProduct::operandB(Stream& stream, const Tile& tile, float* space) const
{
    if (m_packed)
        return m_packed->panel(tile.column / m_packed->panelColumns());
    const DType type = m_orderedB ? m_typeB : m_p.type;
    const Index first = m_p.transposeB ? tile.column * m_p.b.rowStride : tile.column;
    const std::byte* b = advanced(m_p.b.data, m_p.offsetOf(m_p.b, tile.batch) + first, type);
    if (!m_orderedB)
        return b;
    copyTile(stream, {b, m_p.b.rowStride, type, m_p.transposeB ? tile.n : m_p.k,
                      m_p.transposeB ? m_p.k : tile.n, space, tile.n, m_p.transposeB});
    return reinterpret_cast<const std::byte*>(space);
}

void TiledProduct::multiply(Stream& stream, const Tile& tile, void* product, int slot,
                            const SlotMemory& memory) const
{
    float* space = memory.tile(slot) + m_tileRows * m_tileColumns;
    const std::byte* b = operandB(stream, tile, space);
    const std::byte* a = operandA(stream, tile, m_orderedB ? space + m_p.k * m_tileColumns : space);
    const Index stride = productStride(tile.n);
    if (m_p.type == DType::F64) {
        doubleProduct(stream, {reinterpret_cast<const double*>(a), m_p.a.rowStride, m_p.transposeA,
                               reinterpret_cast<const double*>(b), m_p.b.rowStride, m_p.transposeB,
                               tile.m, tile.n, m_p.k, static_cast<double*>(product), stride});
        return;
    }
    if (m_isFewRows) {
        rowProduct(stream, {a, m_p.a.rowStride, b, m_p.b.rowStride, m_p.type, tile.m, tile.n, m_p.k,
                            static_cast<float*>(product), stride});
        return;
    }
    std::array<void*, Plan::kMostArguments> pointers = {const_cast<std::byte*>(a),
                                                        const_cast<std::byte*>(b), product};
    std::size_t count = 3;
    if (m_isDirect && m_p.bias)
        pointers[count++] = advanced(m_p.bias, tile.column, m_p.biasType);
    if (m_isDirect && m_p.residual && !m_p.residualIsY())
        pointers[count++] = place(m_p.residual, tile);
    m_plans[tile.isLastRow][tile.isLastColumn]->run(std::span<void* const>(pointers.data(), count),
                                                    memory.scratch(slot));
}

void TiledProduct::runTile(Stream& stream, Index piece, int slot, const SlotMemory& memory) const
{
    const Tile tile = tileOf(piece);
    if (m_p.k == 0) {
        finish(stream, tile, nullptr, 0);
        return;
    }
    void* product = place(m_p.y, tile);
    if (!m_isDirect && target() == Target::PreActivation)
        product = place(m_p.preActivation, tile);
    else if (!m_isDirect && target() == Target::Slot)
        product = memory.tile(slot);
    multiply(stream, tile, product, slot, memory);
    if (!m_isDirect)
        finish(stream, tile, product, productStride(tile.n));
}

/// False where oneDNN has only its slow reference code for a packed b.
bool TiledProduct::findPlans()
{
    m_scratchBytes = 0;
    for (const bool lastRow : {false, true}) {
        for (const bool lastColumn : {false, true}) {
            if ((!lastRow && m_rows == 1) || (!lastColumn && m_columns == 1))
                continue;
            const Index m = lastRow ? m_p.m - (m_rows - 1) * m_tileRows : m_tileRows;
            const Index n = lastColumn ? m_p.n - (m_columns - 1) * m_tileColumns : m_tileColumns;
            auto& plan = m_plans[lastRow][lastColumn];
            plan = planOf(m, n);
            if (!plan)
                return false;
            m_scratchBytes = std::max(m_scratchBytes, plan->scratchBytes());
        }
    }
    return true;
}

void TiledProduct::findPlansOrUnpacked()
{
    if (findPlans())
        return;
    m_packed = nullptr;
    findPlans();
}

bool TiledProduct::setPacked(const CpuPackedLinear& packed)
{
    m_packed = &packed;
    findPlansOrUnpacked();
    return m_packed != nullptr;
}

void TiledProduct::run(Stream& stream)
{
    const bool usesPlans = m_p.type != DType::F64 && m_p.k > 0 && !m_isFewRows;
    if (usesPlans)
        findPlansOrUnpacked();
    const bool usesSlot = !m_isDirect && target() == Target::Slot;
    const Index elements = (usesSlot || m_orderedA || m_orderedB ? m_tileRows * m_tileColumns : 0) +
                           (m_orderedA ? m_tileRows * m_p.k : 0) +
                           (m_orderedB ? m_p.k * m_tileColumns : 0);
    const Index pieces = m_p.batches * m_rows * m_columns;
    const SlotMemory memory(m_dense, stream, pieces, m_scratchBytes,
                            static_cast<std::size_t>(elements) *
                                sizeOf(m_p.outType == DType::F64 ? DType::F64 : DType::F32));
    // Small products of a batch are done several at a time.
    const Index tasks = m_isFewRows ? pieces : std::min(pieces, m_dense.piecesOf(m_p.flops()));
    m_dense.forPieces(tasks, [&](Index task, int slot) {
        for (Index piece = task * pieces / tasks; piece < (task + 1) * pieces / tasks; ++piece)
            runTile(stream, piece, slot, memory);
    });
}

} // namespace vergence
