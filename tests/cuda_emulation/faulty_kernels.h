#pragma once

#include <vector>

struct CUstream_st;

// Small kernels, each right or with one fault, for the emulated device to find.

namespace vergence::emulation::fixtures {

struct FaultyKernel {
    /// The line of faulty_kernels.cu that ends with "// fault: <name>" is to be found; empty: any.
    const char* name;
    const char* kind;
    /// Launches it and waits; whether its numbers are right.
    bool (*run)(bool isFaulty);
};
const std::vector<FaultyKernel>& faultyKernels();

/// Path of faulty_kernels.cu.
const char* faultyKernelsFile();

/// Right ones that a checker might take for wrong ones; in right_kernels.cu, as all below.
struct RightKernel {
    const char* name;
    bool (*run)();
};
const std::vector<RightKernel>& rightKernels();

// For tests that do the rest themselves.

struct Shape {
    unsigned blocks[3] = {1, 1, 1}, threads[3] = {1, 1, 1};
    unsigned sharedBytes = 0;
};
/// A kernel that does nothing; returns what cudaGetLastError says.
int launchEmpty(const Shape& shape, CUstream_st* stream = nullptr);
/// The same with so many bytes of parameters: 4000, 5000 or 40000.
int launchWithParameters(int bytes);
/// With variables of 40 or 60 KiB in shared memory beside what the launch asks for.
int launchWithShared(int fixedKibibytes, int dynamicBytes);
/// cudaFuncSetAttribute of the kernel of launchWithShared().
int allowDynamicShared(int bytes);

/// x[i] += 1 for i < count.
void launchIncrement(float* x, int count, CUstream_st* stream);
/// After a barrier each thread writes its number to the next free place; *taken is 0 before.
void launchOrder(int* order, int* taken, unsigned blocks, unsigned threads);
/// 128 threads of a block: thread i reads x[i * stride], writes it to word i * stride of shared
/// memory and reads it from there after a barrier.
void launchStrided(const float* x, float* sum, int stride);

} // namespace vergence::emulation::fixtures
