#pragma once

#include <memory>

#include <cudnn_backend.h>

struct CUstream_st;

namespace vergence::emulation::convolutions {

/// What cudnnCreate() makes.
struct LibraryHandle {
    int device = 0;
    CUstream_st* stream = nullptr; ///< the default stream of the device where null
};

cudnnHandle_t addHandle(int device);
void removeHandle(cudnnHandle_t handle);
/// Throws where it is null or none that lives.
std::shared_ptr<LibraryHandle> findHandle(cudnnHandle_t handle, const char* function);
/// Throws where the stream is not live or of another device.
void setStream(LibraryHandle& handle, CUstream_st* stream, const char* function);

} // namespace vergence::emulation::convolutions
