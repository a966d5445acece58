#pragma once

#include <memory>
#include <string>

#include "core/artifact/safetensors.h"
#include "core/compute/tensor.h"

namespace vergence {

/// Host copy with a name, for checkpoints; waits for the stream.
HostTensor toHostTensor(Stream& stream, const std::string& name, const Tensor& tensor);
/// Waits for the stream. Throws ContractError where bytes and shape disagree.
Tensor fromHostTensor(Stream& stream, const std::shared_ptr<Device>& device,
                      const HostTensor& stored);

} // namespace vergence
