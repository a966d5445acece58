#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/compute/dense/plan_cache.h"
#include "core/compute/dense/product_policy.h"
#include "core/compute/dense/workspace.h"
#include "core/compute/stream.h"
#include "core/compute/tensor.h"
#include "cuda/backend/cublas_lt.h"
#include "cuda/backend/tuning_file.h"

namespace vergence {

/// d = epilogue(alpha · op(a) · op(b) + beta · c + bias), row-major, for `batches` matrices at
/// equal distances. Strides in elements.
struct LtProduct {
    ProductPolicy policy;
    Index m = 0, n = 0, k = 0, batches = 1;
    DType type = DType::F32;       ///< of a and b
    DType resultType = DType::F32; ///< of c, d and bias
    bool transposeA = false, transposeB = false;
    const void* a = nullptr;
    const void* b = nullptr;
    const void* c = nullptr; ///< null: d
    void* d = nullptr;
    Index aStride = 0, bStride = 0, cStride = 0, dStride = 0; ///< of rows
    Index aBatch = 0, bBatch = 0, cBatch = 0, dBatch = 0;     ///< of matrices
    double alpha = 1, beta = 0;
    const void* bias = nullptr; ///< [n]
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
};

/// Products by cuBLASLt. The algorithm of a shape is the fastest of the eight that the library
/// thinks of first, timed once and kept for later processes (TuningFile); it stays the first one
/// where none is clearly faster, and where the shape is first met while a launch graph is recorded
/// or the policy is not to time. Algorithms that add with atomics are not used. Thread-safe.
class LtProducts {
public:
    LtProducts(Device& device, std::unique_ptr<CublasLt> lt);

    struct Plan; ///< layouts and algorithm of one shape

    /// Null where the library has no algorithm for the product. `workspace` is memory of this
    /// stream; `temporaries` lends memory to time with.
    std::shared_ptr<const Plan> plan(Stream& stream, const LtProduct& product, void* workspace,
                                     Workspace& temporaries);
    /// Queues the product that plan() was asked for.
    void run(Stream& stream, const LtProduct& product, const Plan& plan, void* workspace) const;

    /// Bytes that plan() and run() want as `workspace`.
    std::size_t workspaceBytes() const { return m_workspaceBytes; }

private:
    class Operation;

    std::shared_ptr<Plan> describe(const LtProduct& product) const;
    std::vector<cublasLtMatmulHeuristicResult_t> candidates(const LtProduct& product,
                                                            const Plan& plan) const;
    void choose(Stream& stream, const LtProduct& product, Plan& plan, void* workspace,
                Workspace& temporaries);
    void chooseFastest(Stream& stream, const LtProduct& product, Plan& plan,
                       const std::vector<cublasLtMatmulHeuristicResult_t>& candidates,
                       void* workspace, Workspace& temporaries) const;
    /// False where `word` names no algorithm for the product.
    bool takeKept(const LtProduct& product, Plan& plan, const std::string& word) const;
    float time(Stream& stream, const LtProduct& product, const Plan& plan, void* workspace) const;
    cublasStatus_t enqueue(Stream& stream, const LtProduct& product, const Plan& plan,
                           void* workspace) const;

    std::unique_ptr<CublasLt> m_lt;
    TuningFile m_kept;
    std::size_t m_workspaceBytes;
    std::mutex m_tuning; ///< one shape is timed at a time
    PlanCache<Plan> m_plans;
};

/// Whether `stream` is recording a launch graph.
bool isRecording(Stream& stream);

} // namespace vergence
