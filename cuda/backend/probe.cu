#include "cuda/backend/probe.h"

#include <cuda_runtime.h>

namespace vergence {

namespace {

constexpr int kCount = 64;

__global__ void writeSquares(int* values)
{
    const int i = static_cast<int>(threadIdx.x);
    values[i] = i * i;
}

std::string sentence(const char* action, cudaError_t error)
{
    return std::string("The GPU cannot be used: ") + action + " failed (" +
           cudaGetErrorString(error) + ").";
}

} // namespace

std::string probeDevice(int index)
{
    if (const cudaError_t error = cudaSetDevice(index); error != cudaSuccess)
        return sentence("opening it", error);
    int* values = nullptr;
    if (const cudaError_t error = cudaMalloc(&values, kCount * sizeof(int)); error != cudaSuccess)
        return sentence("allocating memory", error);
    writeSquares<<<1, kCount>>>(values);
    int host[kCount] = {};
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost);
    cudaFree(values);
    if (error != cudaSuccess)
        return sentence("running a kernel built for this installation's architectures", error);
    for (int i = 0; i < kCount; ++i) {
        if (host[i] != i * i)
            return "The GPU cannot be used: a test kernel gave wrong numbers.";
    }
    return {};
}

} // namespace vergence
