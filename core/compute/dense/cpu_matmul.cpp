#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/compute/dense/cpu_dense.h"
#include "core/compute/dense/cpu_packed.h"
#include "core/compute/dense/double_product_kernels.h"
#include "core/compute/dense/tile_kernels.h"

namespace vergence {

namespace {

Index ceilDiv(Index a, Index b)
{
    return (a + b - 1) / b;
}

std::byte* advanced(const void* data, Index elements, DType type)
{
    auto* bytes = static_cast<std::byte*>(const_cast<void*>(data));
    return bytes ? bytes + elements * static_cast<Index>(sizeOf(type)) : nullptr;
}

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

/// One product cut into tiles, and how each is made.
class TiledProduct {
public:
    TiledProduct(CpuDenseMath& dense, const MatmulProblem& problem)
        : m_dense(dense),
          m_p(problem),
          m_isFewRows(problem.m <= kFewRows && problem.transposeB && problem.type != DType::F64),
          m_packed(m_isFewRows ? nullptr : static_cast<const CpuPackedLinear*>(problem.packedB)),
          m_isDirect(isDirect(problem) && !m_isFewRows)
    {
        chooseTiles();
    }

    void run(Stream& stream);

private:
    /// Whether oneDNN can do all that follows the product, writing y.
    static bool isDirect(const MatmulProblem& p);
    /// Where the product of a tile goes if not straight to y by oneDNN with all extras.
    enum class Target { Y, PreActivation, Slot };
    Target target() const;

    void chooseTiles();
    std::shared_ptr<const Plan> planOf(Index m, Index n) const;
    std::shared_ptr<const Plan> makePlan(Index m, Index n) const;
    Index productStride(Index n) const;
    void runTile(Stream& stream, Index piece, int slot, const SlotMemory& memory) const;
    void finish(Stream& stream, Index batch, Index row, Index column, Index m, Index n,
                const void* product, Index stride) const;

    CpuDenseMath& m_dense;
    const MatmulProblem& m_p;
    bool m_isFewRows; ///< of a against rows of b: no work for oneDNN
    const CpuPackedLinear* m_packed;
    bool m_isDirect;
    bool m_writesDense = false; ///< tiles go through the slot, where rows lie one after another
    Index m_tileRows = 0, m_tileColumns = 0;   ///< extents of a tile
    Index m_rows = 0, m_columns = 0;           ///< numbers of tiles
    std::shared_ptr<const Plan> m_plans[2][2]; ///< inner and last tile of each direction
};

bool TiledProduct::isDirect(const MatmulProblem& p)
{
    const bool extrasFit = p.activation == Activation::None && !p.preActivation && !p.biasPerRow &&
                           (!p.bias || p.alpha == 1) &&
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
    return m_p.beta == 0 && !m_p.residualIsY() ? Target::Y : Target::Slot;
}

void TiledProduct::chooseTiles()
{
    const Index wanted = ceilDiv(m_dense.piecesOf(m_p.flops()), m_p.batches);
    if (m_isFewRows) {
        // A pass over b: cut where its memory is worth a thread's while.
        const Index bytes = m_p.n * m_p.k * static_cast<Index>(sizeOf(m_p.type));
        const Index pieces = m_dense.threads() == 1
                                 ? 1
                                 : std::clamp<Index>(bytes >> 17, 1, 4 * Index{m_dense.threads()});
        m_tileRows = m_p.m;
        m_tileColumns = std::min(m_p.n, ceilDiv(ceilDiv(m_p.n, pieces), 16) * 16);
    } else if (m_packed || m_p.transposeB) {
        // Columns first: a is read as it is, and every tile of b is put in order once.
        // Rows of a that stay in the second cache meanwhile.
        m_rows = ceilDiv(m_p.m,
                         std::clamp<Index>((Index{1} << 18) / std::max<Index>(m_p.k, 1), 128, 512));
        const Index most = ceilDiv(m_p.n, 128);
        const Index columns = std::clamp<Index>(ceilDiv(wanted, m_rows), 1, most);
        m_tileColumns = m_packed ? m_packed->tileColumns()
                                 : std::min(m_p.n, ceilDiv(ceilDiv(m_p.n, columns), 64) * 64);
        if (2 * m_rows * ceilDiv(m_p.n, m_tileColumns) <= wanted)
            m_rows = std::max(m_rows, std::min(ceilDiv(wanted, ceilDiv(m_p.n, m_tileColumns)),
                                               ceilDiv(m_p.m, 128)));
        m_tileRows = std::min(m_p.m, ceilDiv(ceilDiv(m_p.m, m_rows), 16) * 16);
    } else {
        // Rows first: whole rows of y are what oneDNN writes fastest.
        m_rows = std::max(ceilDiv(m_p.m, 512), std::min(wanted, ceilDiv(m_p.m, 128)));
        m_tileRows = std::min(m_p.m, ceilDiv(ceilDiv(m_p.m, m_rows), 16) * 16);
        const Index columns =
            std::clamp<Index>(wanted / ceilDiv(m_p.m, m_tileRows), 1, ceilDiv(m_p.n, 256));
        m_tileColumns = std::min(m_p.n, ceilDiv(ceilDiv(m_p.n, columns), 64) * 64);
    }
    m_rows = ceilDiv(m_p.m, m_tileRows);
    m_columns = ceilDiv(m_p.n, m_tileColumns);
    // oneDNN's faster product writes dense tiles only; a copy of the tile costs less than the
    // slower product where sums are long. (Its packed operands it reads nowhere else.)
    m_writesDense = m_columns > 1 && m_p.type == DType::F32 && (m_packed || m_p.k >= 768);
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
    const auto a = matrixLayout(m, m_p.k, m_p.a.rowStride, m_p.transposeA, m_p.type);
    const auto b = m_packed ? matrixLayout(m_p.k, n, n, false, m_p.type)
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
        if (m_p.alpha != 1)
            attributes.set_output_scales(0, {static_cast<float>(m_p.alpha)});
        if (m_p.residualIsY() || m_p.beta != 0) {
            after.append_sum(m_p.residual ? 1.0f : static_cast<float>(m_p.beta));
        } else if (m_p.residual) {
            after.append_binary(dnnl::algorithm::binary_add, y);
            arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, y});
        }
        attributes.set_post_ops(after);
    }
    const dnnl::matmul::desc description =
        hasBias ? dnnl::matmul::desc(a, b, bias, y) : dnnl::matmul::desc(a, b, y);
    const dnnl::matmul::primitive_desc primitive(description, attributes, cpuEngine());
    return std::make_shared<Plan>(dnnl::matmul(primitive), arguments,
                                  primitive.scratchpad_desc().get_size());
}

std::shared_ptr<const Plan> TiledProduct::planOf(Index m, Index n) const
{
    enum { kProduct = 1 };
    const auto flag = [](bool set, int bit) { return std::int64_t{set} << bit; };
    const DType productType = m_isDirect ? m_p.outType : DType::F32;
    PlanKey key;
    auto& v = key.values;
    v[0] = kProduct | flag(m_p.transposeA, 8) | flag(m_p.transposeB && !m_packed, 9) |
           flag(m_isDirect, 10) | flag(m_isDirect && m_p.bias, 11) | flag(m_p.residualIsY(), 12) |
           flag(static_cast<bool>(m_p.residual), 13) | static_cast<std::int64_t>(m_p.type) << 16 |
           static_cast<std::int64_t>(productType) << 24 |
           static_cast<std::int64_t>(m_p.biasType) << 32;
    v[1] = m;
    v[2] = n;
    v[3] = m_p.k;
    v[4] = m_p.a.rowStride;
    v[5] = m_packed ? n : m_p.b.rowStride;
    v[6] = productStride(n);
    if (m_isDirect) {
        v[7] = std::bit_cast<std::int64_t>(m_p.alpha);
        v[8] = std::bit_cast<std::int64_t>(m_p.beta);
    }
    return m_dense.plans().find(key, [&] { return makePlan(m, n); });
}

void TiledProduct::finish(Stream& stream, Index batch, Index row, Index column, Index m, Index n,
                          const void* product, Index stride) const
{
    const auto place = [&](const MatrixBatch& matrix) -> void* {
        return advanced(matrix.data, m_p.offsetOf(matrix, batch) + row * matrix.rowStride + column,
                        m_p.outType);
    };
    TileFinish tile;
    tile.product = product;
    tile.productStride = stride;
    tile.rows = m;
    tile.columns = n;
    tile.type = m_p.outType;
    tile.y = place(m_p.y);
    tile.yStride = m_p.y.rowStride;
    tile.residual = place(m_p.residual);
    tile.residualStride = m_p.residual.rowStride;
    if (product != place(m_p.preActivation) || m_p.alpha != 1 || m_p.bias)
        tile.preActivation = place(m_p.preActivation);
    tile.preActivationStride = m_p.preActivation.rowStride;
    tile.bias = advanced(m_p.bias, m_p.biasPerRow ? row : column, m_p.biasType);
    tile.biasType = m_p.biasType;
    tile.biasPerRow = m_p.biasPerRow;
    tile.activation = m_p.activation;
    tile.alpha = m_p.alpha;
    tile.beta = m_p.beta;
    finishTile(stream, tile);
}

void TiledProduct::runTile(Stream& stream, Index piece, int slot, const SlotMemory& memory) const
{
    const Index tileColumn = piece % m_columns, tileRow = piece / m_columns % m_rows;
    const Index batch = piece / m_columns / m_rows;
    const Index row = tileRow * m_tileRows, column = tileColumn * m_tileColumns;
    const Index m = std::min(m_tileRows, m_p.m - row), n = std::min(m_tileColumns, m_p.n - column);
    const auto result = [&](const MatrixBatch& matrix) {
        return advanced(matrix.data, m_p.offsetOf(matrix, batch) + row * matrix.rowStride + column,
                        m_p.outType);
    };
    std::byte* a = advanced(
        m_p.a.data, m_p.offsetOf(m_p.a, batch) + (m_p.transposeA ? row : row * m_p.a.rowStride),
        m_p.type);
    std::byte* b = m_packed ? reinterpret_cast<std::byte*>(m_packed->tile(tileColumn))
                            : advanced(m_p.b.data,
                                       m_p.offsetOf(m_p.b, batch) +
                                           (m_p.transposeB ? column * m_p.b.rowStride : column),
                                       m_p.type);
    void* product = result(m_p.y);
    if (!m_isDirect && target() == Target::PreActivation)
        product = result(m_p.preActivation);
    else if (!m_isDirect && target() == Target::Slot)
        product = memory.tile(slot);

    if (m_p.k == 0) {
        finish(stream, batch, row, column, m, n, nullptr, 0);
        return;
    }
    if (m_p.type == DType::F64) {
        doubleProduct(stream, {reinterpret_cast<const double*>(a), m_p.a.rowStride, m_p.transposeA,
                               reinterpret_cast<const double*>(b), m_p.b.rowStride, m_p.transposeB,
                               m, n, m_p.k, static_cast<double*>(product), productStride(n)});
    } else if (m_isFewRows) {
        rowProduct(stream, {a, m_p.a.rowStride, b, m_p.b.rowStride, m_p.type, m, n, m_p.k,
                            static_cast<float*>(product), productStride(n)});
    } else {
        const Plan& plan = *m_plans[tileRow == m_rows - 1][tileColumn == m_columns - 1];
        std::array<void*, Plan::kMostArguments> pointers = {a, b, product};
        std::size_t count = 3;
        if (m_isDirect && m_p.bias)
            pointers[count++] = advanced(m_p.bias, column, m_p.biasType);
        if (m_isDirect && m_p.residual && !m_p.residualIsY())
            pointers[count++] = result(m_p.residual);
        plan.run(std::span<void* const>(pointers.data(), count), memory.scratch(slot));
    }
    if (!m_isDirect)
        finish(stream, batch, row, column, m, n, product, productStride(n));
}

void TiledProduct::run(Stream& stream)
{
    std::size_t scratchBytes = 0;
    if (m_p.type != DType::F64 && m_p.k > 0 && !m_isFewRows) {
        for (const bool lastRow : {false, true}) {
            for (const bool lastColumn : {false, true}) {
                if ((!lastRow && m_rows == 1) || (!lastColumn && m_columns == 1))
                    continue;
                const Index m = lastRow ? m_p.m - (m_rows - 1) * m_tileRows : m_tileRows;
                const Index n =
                    lastColumn ? m_p.n - (m_columns - 1) * m_tileColumns : m_tileColumns;
                auto& plan = m_plans[lastRow][lastColumn];
                plan = planOf(m, n);
                scratchBytes = std::max(scratchBytes, plan->scratchBytes());
            }
        }
    }
    const bool usesSlot = !m_isDirect && target() == Target::Slot;
    const std::size_t tileBytes =
        usesSlot ? static_cast<std::size_t>(m_tileRows * m_tileColumns) *
                       sizeOf(m_p.outType == DType::F64 ? DType::F64 : DType::F32)
                 : 0;
    const Index pieces = m_p.batches * m_rows * m_columns;
    const SlotMemory memory(m_dense, stream, pieces, scratchBytes, tileBytes);
    // Small products of a batch are done several at a time.
    const Index tasks = m_isFewRows ? pieces : std::min(pieces, m_dense.piecesOf(m_p.flops()));
    m_dense.forPieces(tasks, [&](Index task, int slot) {
        for (Index piece = task * pieces / tasks; piece < (task + 1) * pieces / tasks; ++piece)
            runTile(stream, piece, slot, memory);
    });
}

void checkPacked(const MatmulProblem& p)
{
    const auto* packed = dynamic_cast<const CpuPackedLinear*>(p.packedB);
    if (!packed || !p.transposeB || packed->columns() != p.n || packed->depth() != p.k)
        throw ContractError(fmt::format(
            "matmul: the packed weight is not the one of [{}, {}] used with transposeB", p.n, p.k));
}

} // namespace

void CpuDenseMath::matmul(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y,
                          const MatmulOptions& options)
{
    product(stream, describeMatmul(stream, a, b, y, options));
}

void CpuDenseMath::product(Stream& stream, const MatmulProblem& problem)
{
    if (problem.m == 0 || problem.n == 0 || problem.batches == 0)
        return;
    if (problem.packedB)
        checkPacked(problem);
    const bool is16 = problem.type == DType::F16 || problem.type == DType::BF16;
    const bool isNative =
        problem.type == DType::F64 || (problem.type == DType::BF16 && m_multipliesBf16);
    const bool isFewRows = problem.m <= kFewRows && problem.transposeB;
    if (problem.k == 0 || isFewRows || isNative)
        TiledProduct(*this, problem).run(stream);
    else if (problem.batches == 1 && problem.m >= 96 && problem.n >= 64 && problem.k >= 64)
        productInOrder(stream, problem);
    else if (is16)
        productOfWidened(stream, problem);
    else
        TiledProduct(*this, problem).run(stream);
}

/// Puts the operands into the order that oneDNN reads fastest, which costs a few percent of a large
/// product and gains more.
void CpuDenseMath::productInOrder(Stream& stream, const MatmulProblem& problem)
{
    MatmulProblem p = problem;
    p.type = DType::F32;
    std::shared_ptr<void> rows;
    const std::size_t bytes = static_cast<std::size_t>(p.m * p.k) * sizeof(float);
    if (p.transposeA) {
        rows = workspace(stream, bytes);
        turn(stream, p.a, problem.type, p.m, p.k, static_cast<float*>(rows.get()));
    } else if (problem.type != DType::F32) {
        rows = workspace(stream, bytes);
        widen(stream, p.a.data, problem.type, p.m, p.k, p.a.rowStride,
              static_cast<float*>(rows.get()));
    }
    if (rows)
        p.a = {rows.get(), p.k, {}};
    p.transposeA = false;
    CpuPackedLinear packed(p.n, p.k);
    if (!p.packedB) {
        packed.setMemory(workspace(stream, packed.bytes()));
        pack(stream, p.b, problem.type, p.transposeB, packed);
        p.packedB = &packed;
    }
    TiledProduct(*this, p).run(stream);
}

void CpuDenseMath::productOfWidened(Stream& stream, const MatmulProblem& problem)
{
    MatmulProblem p = problem;
    p.type = DType::F32;
    std::shared_ptr<void> copies[2];
    int next = 0;
    const auto copy = [&](MatrixBatch& matrix, Index rows, Index columns) {
        bool isShared = true; // one matrix for all batches
        for (int d = 0; d < p.batchRank; ++d)
            isShared = isShared && matrix.batchStrides[static_cast<std::size_t>(d)] == 0;
        const Index count = isShared ? 1 : p.batches, elements = rows * columns;
        auto& memory = copies[next++];
        memory = workspace(stream, static_cast<std::size_t>(count * elements) * sizeof(float));
        auto* target = static_cast<float*>(memory.get());
        for (Index i = 0; i < count; ++i)
            widen(stream, advanced(matrix.data, p.offsetOf(matrix, i), problem.type), problem.type,
                  rows, columns, matrix.rowStride, target + i * elements);
        matrix.data = target;
        matrix.rowStride = columns;
        Index stride = isShared ? 0 : elements;
        for (int d = p.batchRank; d-- > 0;) {
            matrix.batchStrides[static_cast<std::size_t>(d)] = stride;
            stride *= p.batch[static_cast<std::size_t>(d)];
        }
    };
    copy(p.a, p.transposeA ? p.k : p.m, p.transposeA ? p.m : p.k);
    if (!p.packedB)
        copy(p.b, p.transposeB ? p.n : p.k, p.transposeB ? p.k : p.n);
    TiledProduct(*this, p).run(stream);
}

} // namespace vergence
