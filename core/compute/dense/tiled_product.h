#pragma once

#include "core/compute/dense/cpu_dense.h"

namespace vergence {

/// One product cut into tiles, and how each is made.
class TiledProduct {
public:
    /// How the tiles' operands are read. Both ordered ways want F32 as the problem's type; the
    /// operands may have 16 bits where they are put in order.
    enum class Order {
        AsTheyAre, ///< but for a packed b
        Columns,   ///< narrow tiles of b, dense in themselves
        Rows       ///< wide tiles: whole rows of y, all of b as it is
    };

    /// `problem` must live as long as this; its operands may move until run().
    TiledProduct(CpuDenseMath& dense, const MatmulProblem& problem, Order order = Order::AsTheyAre);

    Index rows() const { return m_rows; }       ///< tiles above one another
    Index columns() const { return m_columns; } ///< tiles beside one another
    /// Many rows in BF16: a tile is whole rows of y.
    bool isWholeRows() const { return m_p.type == DType::BF16 && m_p.m >= kManyRows; }

    /// Each tile puts its part of the operand in order itself: for operands that no other tile
    /// reads. `type` is what they have. In BF16 only a.
    void orderA(DType type) { m_orderedA = true, m_typeA = type; }
    void orderB(DType type) { m_orderedB = true, m_typeB = type; }
    /// All of b, put in order before run(). False where oneDNN has nothing fast for it: b is then
    /// read as it is. After orderA.
    bool setPacked(const CpuPackedLinear& packed);

    void run(Stream& stream);

private:
    /// Whether oneDNN can do all that follows the product, writing y.
    static bool isDirect(const MatmulProblem& p);
    /// Where the product of a tile goes if not straight to y by oneDNN with all extras.
    enum class Target { Y, PreActivation, Slot };
    Target target() const;

    struct Tile {
        Index batch, row, column; ///< of its first number
        Index m, n;               ///< extents
        bool isLastRow, isLastColumn;
    };
    Tile tileOf(Index piece) const;

    static constexpr Index kManyRows = 128;

    void chooseTiles();
    void chooseFewRows();
    void chooseColumnsFirst();
    void chooseRowsFirst();
    void chooseWholeRows();
    bool findPlans();
    void findPlansOrUnpacked();
    std::shared_ptr<const Plan> planOf(Index m, Index n) const;
    std::shared_ptr<const Plan> makePlan(Index m, Index n) const;
    Index productStride(Index n) const;
    void runTile(Stream& stream, Index piece, int slot, const SlotMemory& memory) const;
    void multiply(Stream& stream, const Tile& tile, void* product, int slot,
                  const SlotMemory& memory) const;
    const std::byte* operandA(Stream& stream, const Tile& tile, float* space) const;
    const std::byte* operandB(Stream& stream, const Tile& tile, float* space) const;
    std::byte* place(const MatrixBatch& result, const Tile& tile) const;
    void finish(Stream& stream, const Tile& tile, const void* product, Index stride) const;

    CpuDenseMath& m_dense;
    const MatmulProblem& m_p;
    Order m_order;
    bool m_isFewRows; ///< of a against rows of b: no work for oneDNN
    const CpuPackedLinear* m_packed;
    bool m_isDirect;
    bool m_orderedA = false, m_orderedB = false;
    DType m_typeA = DType::F32, m_typeB = DType::F32;
    bool m_writesDense = false; ///< tiles go through the slot, where rows lie one after another
    Index m_tileRows = 0, m_tileColumns = 0;   ///< extents of a tile
    Index m_rows = 0, m_columns = 0;           ///< numbers of tiles
    std::shared_ptr<const Plan> m_plans[2][2]; ///< inner and last tile of each direction
    std::size_t m_scratchBytes = 0;            ///< of any of them
};

} // namespace vergence
