// Any bytes: either tensors whose sizes agree with their shapes, or an InputError.
#include <cstdlib>

#include "core/artifact/safetensors.h"
#include "core/base/error.h"

using namespace vergence;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    try {
        const auto file =
            parseSafetensors(std::as_bytes(std::span(data, size)), "fuzz.safetensors");
        for (const HostTensor& tensor : file.tensors) {
            std::size_t bytes = sizeOf(tensor.dtype);
            for (const Index extent : tensor.shape)
                bytes *= static_cast<std::size_t>(extent);
            if (bytes != tensor.bytes.size())
                std::abort();
        }
    } catch (const InputError&) {
    }
    return 0;
}
