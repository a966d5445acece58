#include "core/artifact/host_tensors.h"

#include "core/base/error.h"

namespace vergence {

HostTensor toHostTensor(Stream& stream, const std::string& name, const Tensor& tensor)
{
    HostTensor stored;
    stored.name = name;
    stored.dtype = tensor.dtype();
    stored.shape = tensor.shape();
    stored.bytes.resize(tensor.bytes());
    stream.copy(stored.bytes.data(), tensor.data(), tensor.bytes());
    stream.synchronize();
    return stored;
}

Tensor fromHostTensor(Stream& stream, const std::shared_ptr<Device>& device,
                      const HostTensor& stored)
{
    const Tensor tensor = Tensor::empty(device, stored.shape, stored.dtype);
    expects(tensor.bytes() == stored.bytes.size(),
            "checkpoint tensor " + stored.name + ": bytes differ from its shape");
    stream.copy(tensor.data(), stored.bytes.data(), stored.bytes.size());
    stream.synchronize();
    return tensor;
}

} // namespace vergence
