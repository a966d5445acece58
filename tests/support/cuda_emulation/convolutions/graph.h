#pragma once

#include <map>
#include <vector>

#include "tests/support/cuda_emulation/convolutions/operations.h"

namespace vergence::emulation::convolutions {

/// CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR.
struct Graph : Meaning {
    int device = 0;                                ///< of the handle
    std::vector<OperationPointer> operations;      ///< each after those that it reads from
    std::map<std::int64_t, TensorPointer> tensors; ///< by unique id

    /// The one convolution, where all else is pointwise work on its result; else null.
    std::shared_ptr<const ConvolutionOperation> convolution() const;
    std::vector<std::shared_ptr<const PointwiseOperation>> pointwise() const;
    /// What the last operation writes.
    TensorPointer result() const { return operations.back()->output(); }

    bool answer(cudnnBackendAttributeName_t name, Answer& answer) const override;
};

extern const Kind kGraphKind;

} // namespace vergence::emulation::convolutions
