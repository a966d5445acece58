#pragma once

#include "core/artifact/checkpoint.h"
#include "core/compute/tensor.h"

namespace vergence::light_field {

/// Host copy with a name, for checkpoints; waits for the stream.
HostTensor toHostTensor(Stream& stream, const std::string& name, const Tensor& tensor);
Tensor fromHostTensor(Stream& stream, const std::shared_ptr<Device>& device,
                      const HostTensor& stored);

} // namespace vergence::light_field
