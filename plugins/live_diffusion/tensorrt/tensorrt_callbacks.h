#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <NvInfer.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/compute/device.h"

namespace vergence::live {

/// What TensorRT says: warnings go to the log, errors are kept for the message of what is thrown.
/// Called from any thread, never throws.
class TensorRtWords final : public nvinfer1::ILogger {
public:
    void log(Severity severity, const char* text) noexcept override
    {
        if (severity == Severity::kWARNING)
            vergence::log("live_diffusion").warn("TensorRT: {}", text);
        if (severity <= Severity::kERROR)
            keep(text);
    }

    void keep(const char* text) noexcept
    {
        const std::lock_guard lock(m_mutex);
        if (m_errors.size() > kEnough)
            return;
        try {
            m_errors += m_errors.empty() ? text : std::string("; ") + text;
        } catch (const std::bad_alloc&) { // a shorter message
        }
    }

    bool isQuiet()
    {
        const std::lock_guard lock(m_mutex);
        return m_errors.empty();
    }

    /// All errors since the last call, in one line.
    std::string take()
    {
        const std::lock_guard lock(m_mutex);
        std::string words = std::exchange(m_errors, {});
        std::ranges::replace(words, '\n', ' ');
        return words.empty() ? "it gives no reason" : words;
    }

private:
    static constexpr std::size_t kEnough = 1000;

    std::mutex m_mutex;
    std::string m_errors;
};

/// Gives TensorRT memory of the device's pool and counts it. Thread-safe.
class TensorRtMemory final : public nvinfer1::IGpuAsyncAllocator {
public:
    TensorRtMemory(Device& device, TensorRtWords& words) : m_device(device), m_words(words) {}

    void* allocateAsync(std::uint64_t size, std::uint64_t, nvinfer1::AllocatorFlags,
                        cudaStream_t) noexcept override
    {
        if (size == 0)
            return nullptr;
        try {
            void* memory = m_device.allocate(size); // aligned as cudaMalloc() does at least
            const std::lock_guard lock(m_mutex);
            m_blocks[memory] = size;
            m_used += size;
            m_peak = std::max(m_peak, m_used);
            return memory;
        } catch (const std::exception& error) {
            m_words.keep(error.what());
            return nullptr;
        }
    }

    bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override
    {
        if (!memory)
            return true;
        cudaStreamSynchronize(stream); // the pool may hand it to another stream at once
        const std::lock_guard lock(m_mutex);
        const auto block = m_blocks.find(memory);
        if (block == m_blocks.end())
            return false;
        m_used -= block->second;
        m_device.deallocate(memory, block->second);
        m_blocks.erase(block);
        return true;
    }

    std::size_t used() const
    {
        const std::lock_guard lock(m_mutex);
        return m_used;
    }
    std::size_t peak() const
    {
        const std::lock_guard lock(m_mutex);
        return m_peak;
    }

private:
    Device& m_device;
    TensorRtWords& m_words;
    mutable std::mutex m_mutex;
    std::map<void*, std::size_t> m_blocks;
    std::size_t m_used = 0, m_peak = 0;
};

} // namespace vergence::live
