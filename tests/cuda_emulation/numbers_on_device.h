#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

// For files of kernels, which know the runtime's functions.

namespace vergence::emulation::fixtures {

constexpr int kThreads = 256, kLanes = 32;

/// Numbers in an allocation of exactly their bytes.
template <class T>
class OnDevice {
public:
    explicit OnDevice(const std::vector<T>& values) : m_count(values.size())
    {
        cudaMalloc(&m_first, m_count * sizeof(T));
        cudaMemcpy(m_first, values.data(), m_count * sizeof(T), cudaMemcpyHostToDevice);
    }
    explicit OnDevice(std::size_t count) : OnDevice(std::vector<T>(count)) {}
    ~OnDevice() { cudaFree(m_first); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

    T* first() const { return m_first; }
    std::vector<T> values() const
    {
        std::vector<T> host(m_count);
        cudaMemcpy(host.data(), m_first, m_count * sizeof(T), cudaMemcpyDeviceToHost);
        return host;
    }

private:
    T* m_first = nullptr;
    std::size_t m_count;
};

inline std::vector<float> counting(int count, float first = 0)
{
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), first);
    return values;
}

inline std::vector<float> reversed(std::vector<float> values)
{
    std::reverse(values.begin(), values.end());
    return values;
}

} // namespace vergence::emulation::fixtures
