#pragma once

#include <GL/gl.h>
#include <GL/glext.h>
#include <cuda_gl_interop.h>

#include "core/view/frame.h"
#include "cuda/interop/check.h"

namespace vergence {

/// An OpenGL texture registered with CUDA for writing. Lives on the thread of the GL context, which
/// is current.
class RegisteredTexture {
public:
    RegisteredTexture(GLuint texture, GLenum target)
    {
        checkInterop(cudaGraphicsGLRegisterImage(&m_resource, texture, target,
                                                 cudaGraphicsRegisterFlagsWriteDiscard),
                     "Registering a texture");
    }
    ~RegisteredTexture()
    {
        if (m_resource)
            cudaGraphicsUnregisterResource(m_resource);
    }
    RegisteredTexture(const RegisteredTexture&) = delete;
    RegisteredTexture& operator=(const RegisteredTexture&) = delete;

    /// Copies `layers` images of `rows` rows of `rowBytes` bytes, dense in device memory, into the
    /// texture.
    void write(const std::byte* pixels, std::size_t rowBytes, std::size_t rows, unsigned layers,
               cudaStream_t stream)
    {
        checkInterop(cudaGraphicsMapResources(1, &m_resource, stream), "Mapping a texture");
        cudaError_t error = cudaSuccess;
        for (unsigned layer = 0; layer < layers && error == cudaSuccess; ++layer) {
            cudaArray_t array = nullptr;
            error = cudaGraphicsSubResourceGetMappedArray(&array, m_resource, layer, 0);
            if (error == cudaSuccess)
                error = cudaMemcpy2DToArrayAsync(array, 0, 0, pixels + layer * rowBytes * rows,
                                                 rowBytes, rowBytes, rows, cudaMemcpyDeviceToDevice,
                                                 stream);
        }
        const cudaError_t unmapped = cudaGraphicsUnmapResources(1, &m_resource, stream);
        checkInterop(error, "Copying a preview into a texture");
        checkInterop(unmapped, "Unmapping a texture");
    }

private:
    cudaGraphicsResource_t m_resource = nullptr;
};

} // namespace vergence
