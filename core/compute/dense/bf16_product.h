#pragma once

#include "core/compute/dense/cpu_dense.h"
#include "core/compute/dense/matrix_registers.h"

namespace vergence {

/// A product of BF16 in matrix registers. Both operands are put into tiles, then parts of y are
/// made strip by strip: operands that one part alone reads by that part, so that they stay in its
/// thread's cache; all others before, by all threads.
class Bf16Product {
public:
    /// Whether `problem` is one that this class computes, and large enough to be worth it.
    static bool suits(const CpuDenseMath& dense, const MatmulProblem& problem);

    /// `problem` must live as long as this.
    Bf16Product(CpuDenseMath& dense, const MatmulProblem& problem);

    void run(Stream& stream);

private:
    struct Operand {
        MatrixBatch matrix;
        bool isAlongDepth = false, isLeft = false;
        Index lines = 0;        ///< rows of a, columns of b
        Index tiles = 0;        ///< that they take, side by side
        Index copies = 0;       ///< 1 where all batches share the matrix
        bool isInOrder = false; ///< read as it is
        bool isOfPart = false;
        std::uint16_t* target = nullptr; ///< [copies, tiles, steps, 512], if it is neither
        bool isShared() const { return !isInOrder && !isOfPart; }
    };
    /// Part of y, in tiles.
    struct Part {
        Index batch, row, rows, column, columns;
    };

    /// A number of y.
    struct Place {
        Index batch, row, column;
    };

    Operand operandOf(const MatrixBatch& matrix, bool isLeft, bool isTransposed) const;
    void chooseParts();
    Part partOf(Index piece) const;
    std::shared_ptr<void> putInTilesBefore(Stream& stream);
    void putInTiles(const Operand& operand, Index copy, Index tile, Index tiles,
                    std::uint16_t* target) const;
    const std::uint16_t* sourceOf(const Operand& operand, Index batch, Index tile) const;
    const std::uint16_t* tilesOf(const Operand& operand, Index batch, Index tile, Index tiles,
                                 std::uint16_t* space) const;
    void makePart(Stream& stream, const Part& part, float* product) const;
    void makeStrip(Stream& stream, MatrixRegisters& registers, TileStrip& strip,
                   const Place& at) const;
    Index numbersOf(Index tiles) const { return tiles * m_steps * kTileNumbers; }

    CpuDenseMath& m_dense;
    const MatmulProblem& m_p;
    Index m_steps; ///< tiles along the depth
    Operand m_left, m_right;
    bool m_isPlain;          ///< nothing but rounding follows the product
    Index m_rows, m_columns; ///< parts above one another, and beside one another
    Index m_panel;           ///< tiles of b that are put in order at once, within a part
};

} // namespace vergence
