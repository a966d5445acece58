#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/support/cuda_emulation/products/descriptors.h"

namespace vergence::emulation {

/// d = epilogue(alpha · op(a) · op(b) + beta · c), stored by columns; op(a) is [m, k], op(b) [k,
/// n].
struct Problem {
    Operation operation;
    Matrix a, b, c, d;

    std::int64_t m() const { return d.rows; }
    std::int64_t n() const { return d.columns; }
    std::int64_t k() const { return operation.transposeA ? a.rows : a.columns; }
    bool isDouble() const { return operation.scale == CUDA_R_64F; }
    cudaDataType_t biasType() const
    {
        return operation.biasType < 0 ? d.type : static_cast<cudaDataType_t>(operation.biasType);
    }
};

/// What a product works on.
struct Operands {
    const void* a = nullptr;
    const void* b = nullptr;
    const void* c = nullptr;
    void* d = nullptr;
    const void* alpha = nullptr; ///< of the host, of the scale's type
    const void* beta = nullptr;
    void* workspace = nullptr;
    std::size_t workspaceBytes = 0;
};

/// What an epilogue is made of.
struct EpilogueParts {
    bool isKnown = false;
    bool addsBias = false, isRelu = false, isGelu = false;
    bool isReluGradient = false, isGeluGradient = false;
    bool hasAux = false; ///< writes what a gradient reads later, or is a gradient that reads it
    bool sumsColumns = false;          ///< gradient of the bias from the result
    bool sumsA = false, sumsB = false; ///< gradient of the bias from an operand

    bool isGradient() const { return isReluGradient || isGeluGradient; }
    bool hasMask() const { return hasAux && (isRelu || isReluGradient); }
    bool writesBias() const { return sumsColumns || sumsA || sumsB; }
    bool usesBias() const { return addsBias || writesBias(); }
    /// Numbers in the vector of the bias.
    std::int64_t biasLength(const Problem& p) const { return sumsB ? p.n() : p.m(); }
};
EpilogueParts partsOf(std::uint32_t epilogue);

/// The auxiliary matrix; a mask of bits is one of bytes, eight rows each.
Matrix auxOf(const Problem& problem);

/// Whether bias and auxiliary matrix begin where the widest loads may; true for absent ones.
bool isEpilogueAligned(const Problem& problem);

/// Alpha or beta.
double scalarOf(const Problem& problem, const void* value);

/// Bytes of an element; 0 for types that the emulation does not know.
std::size_t sizeOf(cudaDataType_t type);
/// Bytes from the first element to the end of the last, over all matrices of the batch.
std::size_t bytesOf(const Matrix& matrix);

} // namespace vergence::emulation
