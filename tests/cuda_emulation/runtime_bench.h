#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include <QTest>

#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/engine/streams.h"

// What tests of the emulated runtime share. They call its functions as programs do.

#define VERGENCE_EXPECT_SUCCESS(expression) QCOMPARE(expression, cudaSuccess)

namespace vergence::test {

using Bytes = std::vector<unsigned char>;

inline Bytes filled(std::size_t count, int value)
{
    return Bytes(count, static_cast<unsigned char>(value));
}

/// A block of device memory.
class DeviceBytes {
public:
    explicit DeviceBytes(std::size_t bytes) : m_bytes(bytes) { cudaMalloc(&m_first, bytes); }
    DeviceBytes(std::size_t bytes, int value) : DeviceBytes(bytes)
    {
        cudaMemset(m_first, value, bytes);
        cudaDeviceSynchronize();
    }
    ~DeviceBytes() { cudaFree(m_first); }
    DeviceBytes(const DeviceBytes&) = delete;
    DeviceBytes& operator=(const DeviceBytes&) = delete;

    unsigned char* at(std::size_t byte = 0) const
    {
        return static_cast<unsigned char*>(m_first) + byte;
    }
    std::size_t bytes() const { return m_bytes; }
    /// After all that is queued anywhere.
    Bytes read() const
    {
        emulation::finishAll();
        Bytes host(m_bytes);
        cudaMemcpy(host.data(), m_first, m_bytes, cudaMemcpyDeviceToHost);
        return host;
    }

private:
    void* m_first = nullptr;
    std::size_t m_bytes;
};

class StreamHandle {
public:
    explicit StreamHandle(unsigned flags = cudaStreamNonBlocking)
    {
        cudaStreamCreateWithFlags(&m_stream, flags);
    }
    ~StreamHandle()
    {
        if (m_stream)
            cudaStreamDestroy(m_stream);
    }
    StreamHandle(const StreamHandle&) = delete;
    StreamHandle& operator=(const StreamHandle&) = delete;
    operator cudaStream_t() const { return m_stream; }
    cudaStream_t release() { return std::exchange(m_stream, nullptr); }

private:
    cudaStream_t m_stream = nullptr;
};

class EventHandle {
public:
    explicit EventHandle(unsigned flags = cudaEventDisableTiming)
    {
        cudaEventCreateWithFlags(&m_event, flags);
    }
    ~EventHandle()
    {
        if (m_event)
            cudaEventDestroy(m_event);
    }
    EventHandle(const EventHandle&) = delete;
    EventHandle& operator=(const EventHandle&) = delete;
    operator cudaEvent_t() const { return m_event; }
    cudaEvent_t release() { return std::exchange(m_event, nullptr); }

private:
    cudaEvent_t m_event = nullptr;
};

/// Takes all findings; whether one of this kind was among them.
inline bool tookFinding(const std::string& kind)
{
    const auto findings = emulation::takeFindings();
    return std::any_of(findings.begin(), findings.end(),
                       [&](const emulation::Finding& finding) { return finding.kind == kind; });
}

/// For each test the emulated computer as a new process finds it.
class RuntimeBench {
public:
    void begin()
    {
        m_settings = emulation::settings();
        emulation::settings() = {};
    }
    bool endsWell()
    {
        emulation::finishAll();
        emulation::setStickyError(0);
        emulation::settings() = m_settings;
        emulation::setCurrentDevice(0);
        cudaGetLastError();
        return emulation::takeFindings().empty();
    }

private:
    emulation::Settings m_settings;
};

} // namespace vergence::test
