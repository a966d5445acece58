#pragma once

#include "core/compute/dense/cpu_dense.h"

namespace vergence {

/// A product in F32, cut into tiles of y that the project's own kernel makes from rows of a and
/// panels of b. Operands that are transposed or of 16 bits are put in order first: by the tile,
/// where no other reads them, else before all tiles. Long sums go in steps, always of the same
/// numbers, so that results do not depend on the tiles.
class PanelledProduct {
public:
    /// `problem` is of F32, F16 or BF16 and must live as long as this.
    PanelledProduct(CpuDenseMath& dense, const MatmulProblem& problem);

    void run(Stream& stream);

private:
    struct Tile {
        Index batch = 0, row = 0, column = 0; ///< of its first number
        Index m = 0, n = 0;
    };
    /// A step of a tile's sum.
    struct Step {
        Index first = 0, depth = 0;
    };

    void chooseTiles();
    bool readsAInPlace() const { return m_p.type == DType::F32 && !m_p.transposeA; }
    bool usesSlot() const;
    Tile tileOf(Index piece) const;
    void orderA(Stream& stream);
    void orderB(Stream& stream);
    void runTile(Stream& stream, const Tile& tile, float* space) const;
    const float* stepOfA(Stream& stream, const Tile& tile, Step step, float* space) const;
    void packStepOfB(Stream& stream, const Tile& tile, Step step, float* space) const;
    std::byte* place(const MatrixBatch& matrix, const Tile& tile) const;
    void finish(Stream& stream, const Tile& tile, const float* product, Index stride) const;

    CpuDenseMath& m_dense;
    MatmulProblem m_p; ///< a is what tiles read
    const CpuPackedLinear* m_packed;
    CpuPackedLinear m_ownPanels;
    std::shared_ptr<void> m_memoryOfA;
    Index m_tileRows = 0, m_tileColumns = 0; ///< extents of a tile
    Index m_rows = 0, m_columns = 0;         ///< numbers of tiles
    Index m_depth = 0;                       ///< of a step
};

} // namespace vergence
