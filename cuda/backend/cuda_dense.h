#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "core/compute/dense/product_policy.h"
#include "core/compute/dense/unfolded_conv.h"
#include "core/compute/dense/workspace.h"
#include "cuda/backend/lt_products.h"

namespace vergence {

class CudnnConvolutions;

/// Products of an NVIDIA GPU: cuBLASLt, and cuDNN where it is installed and has a plan; other
/// convolutions are unfolded products. Both libraries are found at run time.
class CudaDenseMath final : public DenseMath, public ProductBackend, public ProductChoice {
public:
    /// Throws DeviceError (exit code 7) where cuBLASLt is missing. The device is current.
    explicit CudaDenseMath(Device& device);
    ~CudaDenseMath() override;

    void matmul(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y,
                const MatmulOptions& options) override;
    void conv2d(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y,
                const Conv2dOptions& options) override;
    void conv2dBackwardData(Stream& stream, const Tensor& gradY, const Tensor& w,
                            const Tensor& gradX, const Conv2dOptions& options) override;
    void conv2dBackwardWeight(Stream& stream, const Tensor& x, const Tensor& gradY,
                              const Tensor& gradW, const Tensor* gradBias, bool accumulate,
                              const Conv2dOptions& options) override;

    void setPolicy(const ProductPolicy& policy) override;
    void product(Stream& stream, const MatmulProblem& problem) override;
    std::shared_ptr<void> workspace(Stream& stream, std::size_t bytes) override;
    /// Gives back the memory of a stream that ends; all its work is done.
    void forget(void* stream) noexcept;

private:
    /// Memory of one stream: work queued there is in order, so blocks go from one use to the next
    /// without waiting; launch graphs that were recorded there keep finding theirs.
    struct StreamMemory {
        explicit StreamMemory(Device& device) : blocks(device) {}
        Workspace blocks;
        std::shared_ptr<void> ltWorkspace;
    };
    StreamMemory& memoryOf(Stream& stream);

    /// Queues the product over all batches; false where cuBLASLt has no algorithm.
    bool multiply(Stream& stream, const MatmulProblem& problem, const MatrixBatch& target,
                  DType targetType, const MatrixBatch& addend, double beta, const void* bias,
                  cublasLtEpilogue_t epilogue);
    bool multiplyFused(Stream& stream, const MatmulProblem& problem);
    void multiplyAndFinish(Stream& stream, const MatmulProblem& problem);
    void finish(Stream& stream, const MatmulProblem& problem, const MatrixBatch& product,
                bool isRounded, bool hasBias);

    Device& m_device;
    LtProducts m_products;
    std::unique_ptr<CudnnConvolutions> m_convolutions; ///< null where cuDNN is missing
    std::atomic<ProductPolicy> m_policy{ProductPolicy{}};
    std::mutex m_mutex;
    std::map<void*, std::unique_ptr<StreamMemory>> m_streams;
};

} // namespace vergence
