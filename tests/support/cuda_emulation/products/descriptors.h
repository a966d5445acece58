#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tests/support/cuda_emulation/products/calls.h"

namespace vergence::emulation {

/// What a layout descriptor says.
struct Matrix {
    cudaDataType_t type;
    int order;
    std::int64_t rows, columns;
    std::int64_t stride; ///< of columns, in elements
    int batches;
    std::int64_t distance; ///< of the matrices of a batch, in elements; 0 for a single one
    std::int64_t planeOffset;
    int batchMode;

    bool operator==(const Matrix&) const = default;
};

/// What an operation descriptor says.
struct Operation {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    int pointerMode;
    int transposeA, transposeB, transposeC;
    int fillMode;
    std::uint32_t epilogue;
    const void* bias;
    std::int64_t biasDistance;
    int biasType; ///< −1: that of the result
    void* aux;
    std::int64_t auxStride, auxDistance; ///< elements, or bits of a mask
    int auxType;                         ///< −1: that of the result
    bool scalesOrMeasures;               ///< with pointers that are for numbers of 8 bits alone
    bool hasRareWishes;                  ///< what the emulation does not know
};

/// What a preference descriptor says.
struct Preference {
    int searchMode;
    std::uint64_t workspaceBytes;
    std::uint32_t reductionMask;
    std::array<std::uint32_t, 4> alignments; ///< of A, B, C, D in bytes
    bool hasRareWishes;                      ///< a limit of waves, or of implementations
};

/// Null where the handle is none of a live descriptor, which is reported.
std::optional<Matrix> matrixOf(cublasLtMatrixLayout_t layout, const Call& call);
std::optional<Operation> operationOf(cublasLtMatmulDesc_t operation, const Call& call);
std::optional<Preference> preferenceOf(cublasLtMatmulPreference_t preference, const Call& call);

} // namespace vergence::emulation
