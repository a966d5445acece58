#include "cuda/backend/lt_products.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "cuda/backend/check.h"
#include "cuda/backend/gpu_stopwatch.h"

namespace vergence {

namespace {

cudaDataType_t cudaType(DType type)
{
    switch (type) {
    case DType::F64:
        return CUDA_R_64F;
    case DType::F16:
        return CUDA_R_16F;
    case DType::BF16:
        return CUDA_R_16BF;
    default:
        return CUDA_R_32F;
    }
}

cublasComputeType_t computeType(const LtProduct& p)
{
    if (p.type == DType::F64)
        return CUBLAS_COMPUTE_64F;
    return p.type == DType::F32 && p.policy.usesTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                     : CUBLAS_COMPUTE_32F;
}

/// The largest power of two, at most 256, that divides an address and the distance of its batches.
std::uint32_t alignmentOf(const void* pointer, Index batchStride, DType type)
{
    const auto bits = reinterpret_cast<std::uintptr_t>(pointer) |
                      (static_cast<std::uintptr_t>(batchStride) * sizeOf(type)) | 256u;
    return std::uint32_t{1} << std::countr_zero(bits);
}

struct Alignments {
    std::uint32_t a, b, c, d;
};

Alignments alignmentsOf(const LtProduct& p)
{
    const void* c = p.c ? p.c : p.d;
    const Index cBatch = p.c ? p.cBatch : p.dBatch;
    return {alignmentOf(p.a, p.aBatch, p.type), alignmentOf(p.b, p.bBatch, p.type),
            alignmentOf(c, cBatch, p.resultType), alignmentOf(p.d, p.dBatch, p.resultType)};
}

PlanKey keyOf(const LtProduct& p)
{
    const Alignments at = alignmentsOf(p);
    const auto flag = [](bool set, int bit) { return std::int64_t{set} << bit; };
    PlanKey key;
    key.values = {p.m,
                  p.n,
                  p.k,
                  p.batches,
                  p.aStride,
                  p.bStride,
                  p.c ? p.cStride : p.dStride,
                  p.dStride,
                  p.aBatch,
                  p.bBatch,
                  p.c ? p.cBatch : p.dBatch,
                  p.dBatch,
                  static_cast<std::int64_t>(p.type),
                  static_cast<std::int64_t>(p.resultType),
                  flag(p.transposeA, 0) | flag(p.transposeB, 1) | flag(p.beta != 0, 2) |
                      flag(p.c && p.c != p.d, 3) | flag(p.bias != nullptr, 4) |
                      flag(p.policy.usesTf32, 5) | flag(p.policy.isTimed, 6),
                  static_cast<std::int64_t>(p.epilogue),
                  static_cast<std::int64_t>(at.a) << 32 | at.b,
                  static_cast<std::int64_t>(at.c) << 32 | at.d,
                  p.bias ? alignmentOf(p.bias, 0, p.resultType) : 0};
    return key;
}

/// The bytes of an algorithm, which cuBLASLt lets be kept for the same version of the library
/// (cuBLAS, cublasLtMatmulAlgo_t).
std::string wordOf(const cublasLtMatmulAlgo_t& algorithm)
{
    std::string word;
    for (const std::uint64_t part : algorithm.data)
        word += fmt::format("{:016x}", part);
    return word;
}

bool readWord(const std::string& word, cublasLtMatmulAlgo_t& algorithm)
{
    constexpr std::size_t kDigits = 16;
    if (word.size() != std::size(algorithm.data) * kDigits)
        return false;
    const char* at = word.data();
    for (auto& part : algorithm.data) {
        const char* const end = at + kDigits;
        if (std::from_chars(at, end, part, 16).ptr != end)
            return false;
        at = end;
    }
    return true;
}

/// Elements from the first to the last of the result's matrices.
std::size_t resultElements(const LtProduct& p)
{
    return static_cast<std::size_t>((p.batches - 1) * p.dBatch + (p.m - 1) * p.dStride + p.n);
}

} // namespace

bool isRecording(Stream& stream)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    checkCuda(cudaStreamIsCapturing(static_cast<cudaStream_t>(stream.native()), &status),
              "Asking whether a launch graph is recorded");
    return status != cudaStreamCaptureStatusNone;
}

struct LtProducts::Plan {
    explicit Plan(const CublasLt& owner) : lt(owner) {}
    ~Plan()
    {
        for (cublasLtMatrixLayout_t layout : {a, b, c, d}) {
            if (layout)
                lt.destroyLayout(layout);
        }
    }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    const CublasLt& lt;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr, d = nullptr;
    bool isSupported = false;
    cublasLtMatmulAlgo_t algorithm{};
};

/// The description of one product; it holds the address of the bias, so each call makes its own.
class LtProducts::Operation {
public:
    Operation(const CublasLt& lt, const LtProduct& p) : m_lt(lt)
    {
        const bool isDouble = p.type == DType::F64;
        lt.check(
            lt.createOperation(&m_operation, computeType(p), isDouble ? CUDA_R_64F : CUDA_R_32F),
            "Describing a matrix product");
        try {
            // Row-major y = op(a) op(b) is column-major yᵀ = op(b)ᵀ op(a)ᵀ: b comes first.
            set(CUBLASLT_MATMUL_DESC_TRANSA, p.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N);
            set(CUBLASLT_MATMUL_DESC_TRANSB, p.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N);
            set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.epilogue);
            if (p.bias) {
                set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
                set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
                    static_cast<std::int32_t>(cudaType(p.resultType)));
            }
        } catch (...) {
            lt.destroyOperation(m_operation);
            throw;
        }
    }
    ~Operation() { m_lt.destroyOperation(m_operation); }
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    cublasLtMatmulDesc_t get() const { return m_operation; }

private:
    template <class T>
    void set(cublasLtMatmulDescAttributes_t attribute, const T& value)
    {
        m_lt.check(m_lt.setOperation(m_operation, attribute, &value, sizeof(value)),
                   "Describing a matrix product");
    }

    const CublasLt& m_lt;
    cublasLtMatmulDesc_t m_operation = nullptr;
};

LtProducts::LtProducts(Device& device, std::unique_ptr<CublasLt> lt)
    : m_lt(std::move(lt)),
      m_kept(device.info(), m_lt->version()),
      m_workspaceBytes((device.info().computeCapability >= "9" ||
                                device.info().computeCapability.size() > 3 // "10.0" and later
                            ? std::size_t{32}
                            : std::size_t{4})
                       << 20)
{
}

std::shared_ptr<LtProducts::Plan> LtProducts::describe(const LtProduct& p) const
{
    auto plan = std::make_shared<Plan>(*m_lt);
    const auto layout = [&](cublasLtMatrixLayout_t& made, DType type, Index rows, Index columns,
                            Index stride, Index batchStride) {
        m_lt->check(m_lt->createLayout(&made, cudaType(type), static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(columns), stride),
                    "Describing a matrix");
        const auto count = static_cast<std::int32_t>(p.batches);
        const auto distance = static_cast<std::int64_t>(batchStride);
        m_lt->check(
            m_lt->setLayout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
            "Describing a matrix");
        m_lt->check(m_lt->setLayout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &distance,
                                    sizeof(distance)),
                    "Describing a matrix");
    };
    // Column-major extents: what is [rows, columns] to us is columns × rows there.
    layout(plan->a, p.type, p.transposeB ? p.k : p.n, p.transposeB ? p.n : p.k, p.bStride,
           p.bBatch);
    layout(plan->b, p.type, p.transposeA ? p.m : p.k, p.transposeA ? p.k : p.m, p.aStride,
           p.aBatch);
    layout(plan->c, p.resultType, p.n, p.m, p.c ? p.cStride : p.dStride, p.c ? p.cBatch : p.dBatch);
    layout(plan->d, p.resultType, p.n, p.m, p.dStride, p.dBatch);
    return plan;
}

std::vector<cublasLtMatmulHeuristicResult_t> LtProducts::candidates(const LtProduct& p,
                                                                    const Plan& plan) const
{
    const Operation operation(*m_lt, p);
    cublasLtMatmulPreference_t preference = nullptr;
    m_lt->check(m_lt->createPreference(&preference), "Describing wishes for a matrix product");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
        return m_lt->setPreference(preference, attribute, &value, sizeof(value)) ==
               CUBLAS_STATUS_SUCCESS;
    };
    // Sums in a fixed order: no adding in place by whoever comes first.
    const std::uint32_t schemes =
        CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    const Alignments at = alignmentsOf(p);
    bool isSet = set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, m_workspaceBytes);
    isSet = set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes) && isSet;
    isSet = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, at.b) && isSet;
    isSet = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, at.a) && isSet;
    isSet = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, at.c) && isSet;
    isSet = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, at.d) && isSet;
    std::vector<cublasLtMatmulHeuristicResult_t> found(kTimedCandidates);
    int count = 0;
    const cublasStatus_t status =
        m_lt->heuristic(m_lt->handle(), operation.get(), plan.a, plan.b, plan.c, plan.d, preference,
                        kTimedCandidates, found.data(), &count);
    m_lt->destroyPreference(preference);
    expects(isSet, "matmul: cuBLASLt refuses a wish");
    found.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(count) : 0);
    std::erase_if(found, [](const auto& one) { return one.state != CUBLAS_STATUS_SUCCESS; });
    return found;
}

cublasStatus_t LtProducts::enqueue(Stream& stream, const LtProduct& p, const Plan& plan,
                                   void* workspace) const
{
    const Operation operation(*m_lt, p);
    const float alpha = static_cast<float>(p.alpha), beta = static_cast<float>(p.beta);
    const bool isDouble = p.type == DType::F64;
    return m_lt->matmul(m_lt->handle(), operation.get(),
                        isDouble ? static_cast<const void*>(&p.alpha) : &alpha, p.b, plan.a, p.a,
                        plan.b, isDouble ? static_cast<const void*>(&p.beta) : &beta,
                        p.c ? p.c : p.d, plan.c, p.d, plan.d, &plan.algorithm, workspace,
                        m_workspaceBytes, static_cast<cudaStream_t>(stream.native()));
}

float LtProducts::time(Stream& stream, const LtProduct& p, const Plan& plan, void* workspace) const
{
    constexpr float kNever = 1e30f;
    if (enqueue(stream, p, plan, workspace) != CUBLAS_STATUS_SUCCESS)
        return kNever;
    GpuStopwatch watch(stream);
    watch.start();
    bool isQueued = true;
    for (int i = 0; i < kTimedRepetitions && isQueued; ++i)
        isQueued = enqueue(stream, p, plan, workspace) == CUBLAS_STATUS_SUCCESS;
    const float milliseconds = watch.stop();
    return isQueued ? milliseconds : kNever;
}

void LtProducts::choose(Stream& stream, const LtProduct& p, Plan& plan, void* workspace,
                        Workspace& temporaries)
{
    const PlanKey key = keyOf(p);
    const bool mayTime = p.policy.isTimed && !isRecording(stream);
    const auto kept = mayTime ? m_kept.find(key) : std::nullopt;
    if (kept && takeKept(p, plan, *kept))
        return;
    const auto found = candidates(p, plan);
    plan.isSupported = !found.empty();
    if (found.empty())
        return;
    plan.algorithm = found.front().algo;
    if (found.size() == 1 || !mayTime)
        return;
    chooseFastest(stream, p, plan, found, workspace, temporaries);
    const std::string mine = wordOf(plan.algorithm);
    const std::string counts = m_kept.keep(key, mine, kept.value_or(""));
    if (counts != mine) // another process was first
        takeKept(p, plan, counts);
}

bool LtProducts::takeKept(const LtProduct& p, Plan& plan, const std::string& word) const
{
    cublasLtMatmulAlgo_t algorithm{};
    if (!readWord(word, algorithm))
        return false;
    const Operation operation(*m_lt, p);
    cublasLtMatmulHeuristicResult_t result{};
    if (m_lt->checkAlgorithm(m_lt->handle(), operation.get(), plan.a, plan.b, plan.c, plan.d,
                             &algorithm, &result) != CUBLAS_STATUS_SUCCESS ||
        result.workspaceSize > m_workspaceBytes)
        return false;
    plan.isSupported = true;
    plan.algorithm = algorithm;
    return true;
}

void LtProducts::chooseFastest(Stream& stream, const LtProduct& p, Plan& plan,
                               const std::vector<cublasLtMatmulHeuristicResult_t>& found,
                               void* workspace, Workspace& temporaries) const
{
    // Results go elsewhere meanwhile: y may be read by this very product.
    const std::size_t bytes = resultElements(p) * sizeOf(p.resultType);
    LtProduct trial = p;
    const auto memory = temporaries.take(bytes);
    trial.d = memory.get();
    float best = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const cublasLtMatmulAlgo_t kept = plan.algorithm;
        plan.algorithm = found[i].algo;
        const float taken = time(stream, trial, plan, workspace);
        if (i == 0 || taken < kClearlyFaster * best)
            best = taken;
        else
            plan.algorithm = kept;
    }
}

std::shared_ptr<const LtProducts::Plan> LtProducts::plan(Stream& stream, const LtProduct& p,
                                                         void* workspace, Workspace& temporaries)
{
    const PlanKey key = keyOf(p);
    std::shared_ptr<const Plan> plan;
    if (!m_plans.lookUp(key, plan)) {
        const std::lock_guard lock(m_tuning);
        if (!m_plans.lookUp(key, plan)) {
            auto made = describe(p);
            choose(stream, p, *made, workspace, temporaries);
            plan = isRecording(stream) ? made : m_plans.keep(key, made);
        }
    }
    return plan->isSupported ? plan : nullptr;
}

void LtProducts::run(Stream& stream, const LtProduct& p, const Plan& plan, void* workspace) const
{
    m_lt->check(enqueue(stream, p, plan, workspace), "Multiplying matrices");
}

} // namespace vergence
