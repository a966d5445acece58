#include "cuda/backend/cudnn_library.h"

#include <fmt/format.h>

namespace vergence {

Cudnn::Cudnn() : m_library("libcudnn.so.9")
{
    m_library.load(m_createHandle, "cudnnCreate");
    m_library.load(m_destroyHandle, "cudnnDestroy");
    m_library.load(m_statusText, "cudnnGetErrorString");
    m_library.load(m_version, "cudnnGetVersion");
    m_library.load(setStream, "cudnnSetStream");
    m_library.load(create, "cudnnBackendCreateDescriptor");
    m_library.load(destroy, "cudnnBackendDestroyDescriptor");
    m_library.load(set, "cudnnBackendSetAttribute");
    m_library.load(get, "cudnnBackendGetAttribute");
    m_library.load(finalize, "cudnnBackendFinalize");
    m_library.load(execute, "cudnnBackendExecute");
}

std::unique_ptr<Cudnn> Cudnn::open(std::string& reason)
{
    std::unique_ptr<Cudnn> library(new Cudnn);
    if (!library->m_library.isComplete()) {
        reason = fmt::format("cuDNN 9 cannot be used ({}).", library->m_library.reason());
        return nullptr;
    }
    const cudnnStatus_t status = library->m_createHandle(&library->m_handle);
    if (status != CUDNN_STATUS_SUCCESS) {
        library->m_handle = nullptr;
        reason = fmt::format("cuDNN 9 cannot be used ({}).", library->text(status));
        return nullptr;
    }
    return library;
}

std::string Cudnn::version() const
{
    return fmt::format("cuDNN {}", m_version());
}

Cudnn::~Cudnn()
{
    if (m_handle)
        m_destroyHandle(m_handle);
}

} // namespace vergence
