#include "tests/cuda/primitives_under_test.h"

#include "cuda/primitives/block_reduce.cuh"
#include "cuda/primitives/sort_scan.cuh"

namespace vergence::test {

namespace {

/// Device copy of a vector for the length of a test.
template <class T>
class DeviceArray {
public:
    DeviceArray(Stream& stream, std::size_t count) : m_stream(stream), m_count(count)
    {
        m_data = static_cast<T*>(stream.device().allocate(bytes()));
    }
    DeviceArray(Stream& stream, const std::vector<T>& values) : DeviceArray(stream, values.size())
    {
        stream.copy(m_data, values.data(), values.size() * sizeof(T));
    }
    ~DeviceArray() { m_stream.device().deallocate(m_data, bytes()); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    T* data() const { return m_data; }
    std::vector<T> toHost() const
    {
        std::vector<T> values(m_count);
        m_stream.copy(values.data(), m_data, m_count * sizeof(T));
        m_stream.synchronize();
        return values;
    }

private:
    std::size_t bytes() const { return (m_count + 1) * sizeof(T); }

    Stream& m_stream;
    std::size_t m_count;
    T* m_data;
};

constexpr int kThreads = 256;

__global__ void sumBlocks(const double* values, Index n, double* sums)
{
    __shared__ double shared[kThreads / 32];
    const Index i = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x;
    const double sum = blockSum<kThreads>(i < n ? values[i] : 0.0, shared);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

} // namespace

std::vector<std::int32_t> scanned(Stream& stream, const std::vector<std::int32_t>& values)
{
    const DeviceArray<std::int32_t> in(stream, values), out(stream, values.size());
    exclusiveScan(stream, in.data(), out.data(), static_cast<Index>(values.size()));
    return out.toHost();
}

std::vector<std::int32_t> sortedByKey(Stream& stream, const std::vector<std::uint64_t>& keys,
                                      const std::vector<std::int32_t>& values)
{
    const DeviceArray<std::uint64_t> keysIn(stream, keys), keysOut(stream, keys.size());
    const DeviceArray<std::int32_t> valuesIn(stream, values), valuesOut(stream, values.size());
    sortPairs(stream, keysIn.data(), keysOut.data(), valuesIn.data(), valuesOut.data(),
              static_cast<Index>(keys.size()));
    return valuesOut.toHost();
}

std::vector<double> blockSums(Stream& stream, const std::vector<double>& values)
{
    const std::size_t blocks = (values.size() + kThreads - 1) / kThreads;
    const DeviceArray<double> in(stream, values), out(stream, blocks);
    if (blocks > 0)
        sumBlocks<<<static_cast<unsigned>(blocks), kThreads, 0,
                    static_cast<cudaStream_t>(stream.native())>>>(
            in.data(), static_cast<Index>(values.size()), out.data());
    return out.toHost();
}

} // namespace vergence::test
