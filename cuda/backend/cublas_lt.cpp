#include "cuda/backend/cublas_lt.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

CublasLt::CublasLt() : m_library(fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR))
{
    m_library.load(m_create, "cublasLtCreate");
    m_library.load(m_destroy, "cublasLtDestroy");
    m_library.load(m_statusText, "cublasLtGetStatusString");
    m_library.load(m_version, "cublasLtGetVersion");
    m_library.load(matmul, "cublasLtMatmul");
    m_library.load(heuristic, "cublasLtMatmulAlgoGetHeuristic");
    m_library.load(checkAlgorithm, "cublasLtMatmulAlgoCheck");
    m_library.load(createOperation, "cublasLtMatmulDescCreate");
    m_library.load(destroyOperation, "cublasLtMatmulDescDestroy");
    m_library.load(setOperation, "cublasLtMatmulDescSetAttribute");
    m_library.load(createLayout, "cublasLtMatrixLayoutCreate");
    m_library.load(destroyLayout, "cublasLtMatrixLayoutDestroy");
    m_library.load(setLayout, "cublasLtMatrixLayoutSetAttribute");
    m_library.load(createPreference, "cublasLtMatmulPreferenceCreate");
    m_library.load(destroyPreference, "cublasLtMatmulPreferenceDestroy");
    m_library.load(setPreference, "cublasLtMatmulPreferenceSetAttribute");
}

std::unique_ptr<CublasLt> CublasLt::open(std::string& reason)
{
    std::unique_ptr<CublasLt> lt(new CublasLt);
    if (!lt->m_library.isComplete()) {
        reason = fmt::format("cuBLASLt cannot be used ({}).", lt->m_library.reason());
        return nullptr;
    }
    const cublasStatus_t status = lt->m_create(&lt->m_handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
        reason = fmt::format("cuBLASLt cannot be used ({}).", lt->m_statusText(status));
        return nullptr;
    }
    return lt;
}

CublasLt::~CublasLt()
{
    if (m_handle)
        m_destroy(m_handle);
}

std::string CublasLt::version() const
{
    return fmt::format("cuBLASLt {}", m_version());
}

void CublasLt::check(cublasStatus_t status, const char* what) const
{
    if (status != CUBLAS_STATUS_SUCCESS)
        throw DeviceError(fmt::format("{}: {} (cuBLASLt).", what, m_statusText(status)));
}

} // namespace vergence
