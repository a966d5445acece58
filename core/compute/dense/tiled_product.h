#pragma once

#include "core/compute/dense/cpu_dense.h"

namespace vergence {

/// A product of F64 or BF16, or of few rows, cut into tiles, and how each is made.
class TiledProduct {
public:
    /// `problem` must live as long as this.
    TiledProduct(CpuDenseMath& dense, const MatmulProblem& problem);

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
        Index columnIndex;
    };
    Tile tileOf(Index piece) const;

    void chooseTiles();
    void chooseFewRows();
    void chooseColumnsFirst();
    void chooseRowsFirst();
    std::size_t findPlans();
    std::shared_ptr<const Plan> planOf(Index m, Index n) const;
    std::shared_ptr<const Plan> makePlan(Index m, Index n) const;
    Index productStride(Index n) const;
    void runTile(Stream& stream, Index piece, int slot, const SlotMemory& memory) const;
    void multiply(Stream& stream, const Tile& tile, void* product, int slot,
                  const SlotMemory& memory) const;
    const std::byte* operandA(const Tile& tile) const;
    const std::byte* operandB(const Tile& tile) const;
    std::byte* place(const MatrixBatch& result, const Tile& tile) const;
    void finish(Stream& stream, const Tile& tile, const void* product, Index stride) const;

    CpuDenseMath& m_dense;
    const MatmulProblem& m_p;
    bool m_isFewRows; ///< of a against rows of b: no work for oneDNN
    bool m_isDirect;
    Index m_tileRows = 0, m_tileColumns = 0;   ///< extents of a tile
    Index m_rows = 0, m_columns = 0;           ///< numbers of tiles
    std::shared_ptr<const Plan> m_plans[2][2]; ///< inner and last tile of each direction
};

} // namespace vergence
