#pragma once

#include <cstdint>

#include "core/compute/tensor.h"

namespace vergence {

/// Whether the processor multiplies BF16 in matrix registers (AMX) and the system lets this process
/// use them. They hold tiles of 16 × 32 (left) and 32 × 16 (right) numbers of an operand and of
/// 16 × 16 sums in F32. The rest of this file must not be called where this is false.
/// Source: Intel Architecture Instruction Set Extensions Programming Reference (2023), chapter 3.
bool hasMatrixRegisters();

inline constexpr Index kTileLines = 16; ///< rows of a left tile, columns of a right one
inline constexpr Index kTileDepth = 32; ///< numbers of each line
inline constexpr Index kTileNumbers = kTileLines * kTileDepth;

/// Lines of an operand of BF16 that are put into tiles: rows of a or columns of b.
struct TilePacking {
    const std::uint16_t* source = nullptr;
    Index stride = 0; ///< in numbers
    bool isAlongDepth =
        true; ///< whether a line is contiguous in memory; else its numbers are apart
    bool isLeft = true;
    Index lines = 0, depth = 0;
    std::uint16_t* target = nullptr; ///< [⌈lines/16⌉, ⌈depth/32⌉, 512], zeros beyond the operand
};
void packTiles(const TilePacking& packing);

/// product = left · right, of at most 32 rows.
struct TileStrip {
    const std::uint16_t* left = nullptr;
    Index leftLine = 0, leftStep = 0, leftTile = 0; ///< numbers from one to the next of each
    const std::uint16_t* right = nullptr;           ///< [columnTiles, steps, 512]
    Index steps = 0, rows = 0, columnTiles = 0;
    float* product = nullptr; ///< [rows, 16 columnTiles]
    /// [rows, columns] where there is such: receives the product, rounded to nearest even.
    std::uint16_t* rounded = nullptr;
    Index roundedStride = 0, columns = 0;
};

/// The shape of the calling thread's matrix registers, as long as this lives.
class MatrixRegisters {
public:
    MatrixRegisters() = default;
    ~MatrixRegisters();
    MatrixRegisters(const MatrixRegisters&) = delete;
    MatrixRegisters& operator=(const MatrixRegisters&) = delete;

    void multiply(const TileStrip& strip);

private:
    Index m_rows = 0; ///< that they are set for
};

} // namespace vergence
