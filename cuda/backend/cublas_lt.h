#pragma once

#include <memory>
#include <string>

#include <cublasLt.h>

#include "cuda/backend/library.h"

namespace vergence {

/// The functions of cuBLASLt that the studio uses, and a handle. Thread-safe as the library is.
class CublasLt {
public:
    /// Null, with a sentence, where the library is missing or refuses. The device is current.
    static std::unique_ptr<CublasLt> open(std::string& reason);
    ~CublasLt();
    CublasLt(const CublasLt&) = delete;
    CublasLt& operator=(const CublasLt&) = delete;

    cublasLtHandle_t handle() const { return m_handle; }
    /// "cuBLASLt 130100"
    std::string version() const;
    /// Throws DeviceError that names `what`.
    void check(cublasStatus_t status, const char* what) const;

    decltype(&cublasLtMatmul) matmul;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
    decltype(&cublasLtMatmulAlgoCheck) checkAlgorithm;
    decltype(&cublasLtMatmulDescCreate) createOperation;
    decltype(&cublasLtMatmulDescDestroy) destroyOperation;
    decltype(&cublasLtMatmulDescSetAttribute) setOperation;
    decltype(&cublasLtMatrixLayoutCreate) createLayout;
    decltype(&cublasLtMatrixLayoutDestroy) destroyLayout;
    decltype(&cublasLtMatrixLayoutSetAttribute) setLayout;
    decltype(&cublasLtMatmulPreferenceCreate) createPreference;
    decltype(&cublasLtMatmulPreferenceDestroy) destroyPreference;
    decltype(&cublasLtMatmulPreferenceSetAttribute) setPreference;

private:
    CublasLt();

    Library m_library;
    decltype(&cublasLtCreate) m_create;
    decltype(&cublasLtDestroy) m_destroy;
    decltype(&cublasLtGetStatusString) m_statusText;
    decltype(&cublasLtGetVersion) m_version;
    cublasLtHandle_t m_handle = nullptr;
};

} // namespace vergence
