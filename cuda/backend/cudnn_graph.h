#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/compute/dense/problem.h"
#include "cuda/backend/cudnn_library.h"

namespace vergence {

enum class CudnnPass { Forward, BackwardData, BackwardWeight };

/// Of all addresses, bytes.
inline constexpr std::int64_t kCudnnAlignment = 16;

/// One convolution as a graph of cuDNN: y = conv(x, w) (+ bias) (+ residual), or one of its
/// derivatives. The tensor that the pass writes is the result.
struct CudnnConvolution {
    CudnnPass pass = CudnnPass::Forward;
    ConvProblem problem; ///< problem.type: of the operands
    DType resultType = DType::F32;
    bool hasBias = false, hasResidual = false; ///< of the result's type; Forward only
    bool usesTf32 = false;                     ///< operands of F32 may be rounded
    bool isTimed = true;                       ///< whether its plan is the fastest of several
};

/// Names of tensors in graphs and executions.
enum CudnnTensor : std::int64_t { kTensorX = 1, kTensorW, kTensorY, kTensorBias, kTensorResidual };

/// Something that cuDNN can run, with all that it refers to.
struct CudnnPlan {
    std::vector<std::shared_ptr<CudnnDescriptor>> parts;
    std::unique_ptr<CudnnDescriptor> plan;
    std::int64_t workspaceBytes = 0;
    std::string name; ///< its engine and knobs, "7 2=4 14=1"; among the plans of a graph its own
};

struct CudnnWishes {
    std::size_t most = 1; ///< plans
    std::int64_t workspaceBytes = 0;
    std::string name{}; ///< the plan of this name alone; empty: any
};

/// The first plans of cuDNN's own preference that are as wished and whose results repeat; for F32
/// without TF32 only those that multiply F32.
std::vector<std::shared_ptr<CudnnPlan>>
cudnnPlans(const Cudnn& library, const CudnnConvolution& convolution, const CudnnWishes& wishes);

} // namespace vergence
