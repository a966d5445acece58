#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "core/compute/half.h"
#include "tests/support/cuda_emulation/engine/findings.h"

namespace vergence::test {

/// Memory of the device, full of bytes 0xff.
class MatrixMemory {
public:
    explicit MatrixMemory(std::size_t bytes) : m_bytes(bytes) { cudaMalloc(&m_data, bytes); }
    ~MatrixMemory() { cudaFree(m_data); }
    MatrixMemory(const MatrixMemory&) = delete;
    MatrixMemory& operator=(const MatrixMemory&) = delete;

    std::byte* at(std::size_t offset = 0) const { return static_cast<std::byte*>(m_data) + offset; }
    void upload(const std::vector<std::byte>& bytes) const
    {
        cudaMemcpy(m_data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice);
        cudaDeviceSynchronize(); // a copy from pageable memory may return before it has arrived
    }
    std::vector<std::byte> download() const
    {
        std::vector<std::byte> bytes(m_bytes);
        cudaMemcpy(bytes.data(), m_data, m_bytes, cudaMemcpyDeviceToHost);
        return bytes;
    }

private:
    std::size_t m_bytes;
    void* m_data = nullptr;
};

inline std::size_t bytesOf(cudaDataType_t type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : type == CUDA_R_8U ? 1 : 2;
}

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t index, T value)
{
    std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}
inline void put(cudaDataType_t type, std::vector<std::byte>& bytes, std::size_t i, double value)
{
    const float narrow = static_cast<float>(value);
    if (type == CUDA_R_64F)
        put(bytes, i, value);
    else if (type == CUDA_R_32F)
        put(bytes, i, narrow);
    else if (type == CUDA_R_16F)
        put(bytes, i, Float16(narrow));
    else
        put(bytes, i, BFloat16(narrow));
}

template <class T>
T numberAt(const std::vector<std::byte>& bytes, std::size_t index)
{
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}
inline double numberAt(cudaDataType_t type, const std::vector<std::byte>& bytes, std::size_t i)
{
    if (type == CUDA_R_64F)
        return numberAt<double>(bytes, i);
    if (type == CUDA_R_32F)
        return static_cast<double>(numberAt<float>(bytes, i));
    if (type == CUDA_R_16F)
        return static_cast<double>(static_cast<float>(numberAt<Float16>(bytes, i)));
    return static_cast<double>(static_cast<float>(numberAt<BFloat16>(bytes, i)));
}

/// Numbers on the device in one of its types.
class DeviceNumbers {
public:
    DeviceNumbers(cudaDataType_t type, const std::vector<double>& numbers)
        : m_type(type),
          m_count(numbers.size()),
          m_bytes(m_count * bytesOf(type))
    {
        std::vector<std::byte> bytes(m_count * bytesOf(type));
        for (std::size_t i = 0; i < m_count; ++i)
            put(type, bytes, i, numbers[i]);
        m_bytes.upload(bytes);
    }
    std::byte* at(std::size_t index = 0) const { return m_bytes.at(index * bytesOf(m_type)); }
    std::vector<double> numbers() const
    {
        const auto bytes = m_bytes.download();
        std::vector<double> read(m_count);
        for (std::size_t i = 0; i < m_count; ++i)
            read[i] = numberAt(m_type, bytes, i);
        return read;
    }

private:
    cudaDataType_t m_type;
    std::size_t m_count;
    MatrixMemory m_bytes;
};

/// One matrix of a product.
struct MatrixShape {
    cudaDataType_t type = CUDA_R_32F;
    int rows = 0, columns = 0, stride = 0, distance = 0;
};

/// Numbers of matrices so far apart; `number` is a function of batch, row and column.
template <class Number>
std::vector<double> laidOut(const MatrixShape& m, int batches, const Number& number)
{
    const int last = (batches - 1) * m.distance + (m.columns - 1) * m.stride + m.rows;
    std::vector<double> numbers(static_cast<std::size_t>(last), -77);
    for (int batch = 0; batch < batches; ++batch) {
        for (int column = 0; column < m.columns; ++column) {
            for (int row = 0; row < m.rows; ++row)
                numbers[static_cast<std::size_t>(batch * m.distance + column * m.stride + row)] =
                    number(batch, row, column);
        }
    }
    return numbers;
}

/// The descriptors of a product, by the functions of the library. Public, so that a test can make
/// any of them wrong.
struct ProductBench {
    ProductBench(int m, int n, int k, cudaDataType_t type = CUDA_R_32F,
                 cudaDataType_t resultType = CUDA_R_32F, int count = 1, bool turnsA = false,
                 bool turnsB = false, int padding = 0);
    ~ProductBench();
    ProductBench(const ProductBench&) = delete;
    ProductBench& operator=(const ProductBench&) = delete;

    template <class T>
    cublasStatus_t set(cublasLtMatmulDescAttributes_t attribute, T value) const
    {
        return cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value));
    }
    template <class T>
    static cublasStatus_t set(cublasLtMatrixLayout_t layout,
                              cublasLtMatrixLayoutAttribute_t attribute, T value)
    {
        return cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof(value));
    }
    template <class T>
    cublasStatus_t wish(cublasLtMatmulPreferenceAttributes_t attribute, T value) const
    {
        return cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value));
    }
    void setBias(cublasLtEpilogue_t epilogue, const void* bias) const
    {
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    void setAux(cublasLtEpilogue_t epilogue, void* aux, std::int64_t stride) const
    {
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
        set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
        set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, stride);
    }

    cublasStatus_t ask();                         ///< fills `found`
    cublasStatus_t call(int algorithm = 0) const; ///< of `found`
    cublasStatus_t callWith(const cublasLtMatmulAlgo_t* algorithm) const;

    MatrixShape a, b, d;
    int batches;
    bool isDouble;
    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulDesc_t operation = nullptr;
    std::array<cublasLtMatrixLayout_t, 4> layouts{}; ///< of A, B, C, D
    cublasLtMatmulPreference_t preference = nullptr;
    int wanted = 8;
    std::vector<cublasLtMatmulHeuristicResult_t> found;
    const void* placeA = nullptr;
    const void* placeB = nullptr;
    const void* placeC = nullptr;
    void* placeD = nullptr;
    double alpha = 1, beta = 0;
    bool hasAlpha = true, hasBeta = true;
    MatrixMemory memory{256 << 10};
    void* workspace = memory.at();
    std::size_t workspaceBytes = 256 << 10;
    cudaStream_t stream = nullptr;
};

inline ProductBench::ProductBench(int m, int n, int k, cudaDataType_t type,
                                  cudaDataType_t resultType, int count, bool turnsA, bool turnsB,
                                  int padding)
    : batches(count),
      isDouble(type == CUDA_R_64F)
{
    const auto shape = [&](cudaDataType_t of, int rows, int columns) {
        const int stride = rows + padding;
        return MatrixShape{of, rows, columns, stride, count > 1 ? stride * columns + padding : 0};
    };
    a = turnsA ? shape(type, k, m) : shape(type, m, k);
    b = turnsB ? shape(type, n, k) : shape(type, k, n);
    d = shape(resultType, m, n);
    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&operation, isDouble ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                             isDouble ? CUDA_R_64F : CUDA_R_32F);
    set(CUBLASLT_MATMUL_DESC_TRANSA, turnsA ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, turnsB ? CUBLAS_OP_T : CUBLAS_OP_N);
    const MatrixShape* const shapes[] = {&a, &b, &d, &d};
    for (std::size_t i = 0; i < 4; ++i) {
        const MatrixShape& s = *shapes[i];
        cublasLtMatrixLayoutCreate(&layouts[i], s.type, static_cast<std::uint64_t>(s.rows),
                                   static_cast<std::uint64_t>(s.columns), s.stride);
        set(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{count});
        set(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{s.distance});
    }
    cublasLtMatmulPreferenceCreate(&preference);
    wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{256 << 10});
}

inline ProductBench::~ProductBench()
{
    // What a test has destroyed already is refused here; whoever does so takes the findings.
    cublasLtMatmulPreferenceDestroy(preference);
    for (const cublasLtMatrixLayout_t layout : layouts)
        cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(operation);
    if (handle)
        cublasLtDestroy(handle);
}

inline cublasStatus_t ProductBench::ask()
{
    int count = 0;
    found.resize(static_cast<std::size_t>(std::max(wanted, 1)));
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, operation, layouts[0], layouts[1], layouts[2],
                                       layouts[3], preference, wanted, found.data(), &count);
    found.resize(static_cast<std::size_t>(count));
    return status;
}

inline cublasStatus_t ProductBench::call(int algorithm) const
{
    return callWith(&found.at(static_cast<std::size_t>(algorithm)).algo);
}

inline cublasStatus_t ProductBench::callWith(const cublasLtMatmulAlgo_t* algorithm) const
{
    const float narrowAlpha = static_cast<float>(alpha), narrowBeta = static_cast<float>(beta);
    const void* const alphaPlace = isDouble ? static_cast<const void*>(&alpha) : &narrowAlpha;
    const void* const betaPlace = isDouble ? static_cast<const void*>(&beta) : &narrowBeta;
    return cublasLtMatmul(handle, operation, hasAlpha ? alphaPlace : nullptr, placeA, layouts[0],
                          placeB, layouts[1], hasBeta ? betaPlace : nullptr, placeC, layouts[2],
                          placeD, layouts[3], algorithm, workspace, workspaceBytes, stream);
}

/// Small whole numbers, so that all types hold all sums of products exactly.
inline double numberOfA(int batch, int row, int column)
{
    return (3 * batch + 5 * row + 7 * column) % 4 - 1;
}
inline double numberOfB(int batch, int row, int column)
{
    return (2 * batch + 3 * row + 11 * column) % 5 - 2;
}

/// A product of such numbers, with the memory it works on.
struct WholeNumbers {
    explicit WholeNumbers(ProductBench& of)
        : bench(of),
          a(bench.a.type, laidOut(bench.a, bench.batches, numberOfA)),
          b(bench.b.type, laidOut(bench.b, bench.batches, numberOfB)),
          d(bench.d.type, laidOut(bench.d, bench.batches, [](int, int, int) { return -55; }))
    {
        bench.placeA = a.at();
        bench.placeB = b.at();
        bench.placeC = bench.placeD = d.at();
    }

    bool turns(const MatrixShape& m, int rows) const { return m.rows != rows; }
    /// By the definition. Only for op(A) and op(B) whose extents tell whether they are turned.
    double sum(int batch, int row, int column) const
    {
        const bool turnsA = turns(bench.a, bench.d.rows);
        const int k = turnsA ? bench.a.rows : bench.a.columns;
        const bool turnsB = turns(bench.b, k);
        double total = 0;
        for (int i = 0; i < k; ++i)
            total += (turnsA ? numberOfA(batch, i, row) : numberOfA(batch, row, i)) *
                     (turnsB ? numberOfB(batch, column, i) : numberOfB(batch, i, column));
        return total;
    }

    ProductBench& bench;
    DeviceNumbers a, b, d;
};

/// 16 × 8 × 32 in F32, ready to be asked for algorithms and called.
struct SmallProduct {
    SmallProduct() : numbers(bench) {}
    ProductBench bench{16, 8, 32};
    WholeNumbers numbers;
    DeviceNumbers bias{CUDA_R_32F, std::vector<double>(64, 1.5)};
    MatrixMemory aux{16 * 8 * 4};
};

} // namespace vergence::test
