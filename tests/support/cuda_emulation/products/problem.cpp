#include "tests/support/cuda_emulation/products/problem.h"

namespace vergence::emulation {

EpilogueParts partsOf(std::uint32_t epilogue)
{
    EpilogueParts parts;
    parts.isKnown = true;
    switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
        return parts;
    case CUBLASLT_EPILOGUE_BGRADA:
        parts.sumsA = true;
        return parts;
    case CUBLASLT_EPILOGUE_BGRADB:
        parts.sumsB = true;
        return parts;
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_RELU_AUX:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DRELU:
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
        break;
    default:
        parts.isKnown = false;
        return parts;
    }
    // All others are sums of these bits.
    parts.isRelu = epilogue & 2;
    parts.addsBias = epilogue & 4;
    parts.isReluGradient = epilogue & 8;
    parts.sumsColumns = epilogue & 16;
    parts.isGelu = epilogue & 32;
    parts.isGeluGradient = epilogue & 64;
    parts.hasAux = epilogue & 128;
    return parts;
}

Matrix auxOf(const Problem& p)
{
    Matrix aux = p.d;
    const bool isMask = partsOf(p.operation.epilogue).hasMask();
    const std::int64_t unit = isMask ? 8 : 1;
    if (isMask)
        aux.type = CUDA_R_8U;
    aux.rows = (p.d.rows + unit - 1) / unit;
    aux.stride = p.operation.auxStride / unit;
    aux.distance = p.operation.auxDistance / unit;
    return aux;
}

bool isEpilogueAligned(const Problem& p)
{
    // The heuristic sees the pointers, and yet kernels that it names have been seen to fault below
    // this (https://github.com/pytorch/pytorch/pull/194497).
    constexpr std::uintptr_t alignment = 16;
    const EpilogueParts parts = partsOf(p.operation.epilogue);
    const auto isAligned = [](const void* pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
    };
    return (!parts.usesBias() || isAligned(p.operation.bias)) &&
           (!parts.hasAux || isAligned(p.operation.aux));
}

double scalarOf(const Problem& p, const void* value)
{
    return p.isDouble() ? *static_cast<const double*>(value)
                        : static_cast<double>(*static_cast<const float*>(value));
}

std::size_t sizeOf(cudaDataType_t type)
{
    switch (type) {
    case CUDA_R_64F:
        return 8;
    case CUDA_R_32F:
        return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return 2;
    case CUDA_R_8U:
        return 1;
    default:
        return 0;
    }
}

std::size_t bytesOf(const Matrix& matrix)
{
    const std::int64_t last =
        (matrix.batches - 1) * matrix.distance + (matrix.columns - 1) * matrix.stride;
    return static_cast<std::size_t>(last + matrix.rows) * sizeOf(matrix.type);
}

} // namespace vergence::emulation
