#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <cudnn_backend.h>

#include "cuda/backend/library.h"

namespace vergence {

/// The functions of cuDNN 9 that the studio uses, and a handle, which one thread uses at a time.
class Cudnn {
public:
    /// Null, with a sentence, where the library is missing or refuses. The device is current.
    static std::unique_ptr<Cudnn> open(std::string& reason);
    ~Cudnn();
    Cudnn(const Cudnn&) = delete;
    Cudnn& operator=(const Cudnn&) = delete;

    cudnnHandle_t handle() const { return m_handle; }
    const char* text(cudnnStatus_t status) const { return m_statusText(status); }
    /// "cuDNN 91900"
    std::string version() const;

    decltype(&cudnnSetStream) setStream;
    decltype(&cudnnBackendCreateDescriptor) create;
    decltype(&cudnnBackendDestroyDescriptor) destroy;
    decltype(&cudnnBackendSetAttribute) set;
    decltype(&cudnnBackendGetAttribute) get;
    decltype(&cudnnBackendFinalize) finalize;
    decltype(&cudnnBackendExecute) execute;

private:
    Cudnn();

    Library m_library;
    decltype(&cudnnCreate) m_createHandle;
    decltype(&cudnnDestroy) m_destroyHandle;
    decltype(&cudnnGetErrorString) m_statusText;
    decltype(&cudnnGetVersion) m_version;
    cudnnHandle_t m_handle = nullptr;
};

/// One of cuDNN's descriptors. A refusal is remembered until finalize(), which returns false then:
/// that cuDNN cannot do something is an answer, not an error.
class CudnnDescriptor {
public:
    CudnnDescriptor(const Cudnn& library, cudnnBackendDescriptorType_t type) : m_library(library)
    {
        m_isGood = library.create(type, &m_descriptor) == CUDNN_STATUS_SUCCESS;
    }
    ~CudnnDescriptor()
    {
        if (m_descriptor)
            m_library.destroy(m_descriptor);
    }
    CudnnDescriptor(const CudnnDescriptor&) = delete;
    CudnnDescriptor& operator=(const CudnnDescriptor&) = delete;

    cudnnBackendDescriptor_t get() const { return m_descriptor; }

    template <class T>
    void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value)
    {
        setMany(name, type, 1, &value);
    }
    template <class T, std::size_t N>
    void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
             const std::array<T, N>& values)
    {
        setMany(name, type, static_cast<std::int64_t>(N), values.data());
    }
    template <class T>
    void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
             const std::vector<T>& values)
    {
        setMany(name, type, static_cast<std::int64_t>(values.size()), values.data());
    }
    void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other)
    {
        const cudnnBackendDescriptor_t descriptor = other.get();
        setMany(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
    }
    bool finalize()
    {
        m_isGood = m_isGood && m_library.finalize(m_descriptor) == CUDNN_STATUS_SUCCESS;
        return m_isGood;
    }

private:
    void setMany(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                 std::int64_t count, const void* values)
    {
        m_isGood = m_isGood &&
                   m_library.set(m_descriptor, name, type, count, values) == CUDNN_STATUS_SUCCESS;
    }

    const Cudnn& m_library;
    cudnnBackendDescriptor_t m_descriptor = nullptr;
    bool m_isGood = false;
};

} // namespace vergence
