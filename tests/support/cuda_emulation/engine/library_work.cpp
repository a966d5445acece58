#include "tests/support/cuda_emulation/language/library_work.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/streams.h"

namespace vergence::emulation {

namespace {

/// The bits of each key that count.
std::vector<std::uint64_t> comparedBits(const PairSort& sort)
{
    const int width = sort.lastBit - sort.firstBit;
    const std::uint64_t mask = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    std::vector<std::uint64_t> bits(sort.count);
    const auto* keys = static_cast<const unsigned char*>(sort.keys);
    for (std::size_t i = 0; i < sort.count && width > 0; ++i) {
        std::uint64_t key = 0; // x86 and ARM: the lowest byte comes first
        std::memcpy(&key, keys + i * sort.keyBytes, sort.keyBytes);
        bits[i] = key >> sort.firstBit & mask;
    }
    return bits;
}

void gather(void* to, const void* from, std::size_t bytes, const std::vector<std::size_t>& order)
{
    const auto* source = static_cast<const unsigned char*>(from);
    std::vector<unsigned char> sorted(order.size() * bytes);
    for (std::size_t i = 0; i < order.size(); ++i)
        std::memcpy(sorted.data() + i * bytes, source + order[i] * bytes, bytes);
    std::memcpy(to, sorted.data(), sorted.size());
}

} // namespace

void queueOnStream(CUstream_st* stream, std::function<void()> work)
{
    issue(streamOf(stream), [work = std::move(work)] {
        const Open open;
        work();
    });
}

bool isDeviceMemory(const void* pointer, std::size_t bytes, const char* what)
{
    return bytes == 0 || isLive(pointer, bytes, what);
}

void expectApart(const WorkRange& a, const WorkRange& b)
{
    const auto firstA = reinterpret_cast<std::uintptr_t>(a.first);
    const auto firstB = reinterpret_cast<std::uintptr_t>(b.first);
    if (firstA < firstB + b.bytes && firstB < firstA + a.bytes)
        report("overlap", a.what, std::string("has memory in common with ") + b.what);
}

void sortOnDevice(const PairSort& sort)
{
    const WorkRange ranges[] = {
        {sort.scratch, sort.scratchBytes(), "sort: scratch"},
        {sort.sortedKeys, sort.count * sort.keyBytes, "sort: sorted keys"},
        {sort.sortedValues, sort.count * sort.valueBytes, "sort: sorted values"},
        {sort.keys, sort.count * sort.keyBytes, "sort: keys"},
        {sort.values, sort.count * sort.valueBytes, "sort: values"}};
    for (const WorkRange& range : ranges) {
        if (!isDeviceMemory(range.first, range.bytes, range.what))
            return;
    }
    for (std::size_t written = 0; written < 3; ++written) {
        for (std::size_t other = written + 1; other < std::size(ranges); ++other)
            expectApart(ranges[written], ranges[other]);
    }
    std::memset(sort.scratch, 0xff, sort.scratchBytes());
    const auto bits = comparedBits(sort);
    std::vector<std::size_t> order(sort.count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return bits[i]; });
    gather(sort.sortedKeys, sort.keys, sort.keyBytes, order);
    gather(sort.sortedValues, sort.values, sort.valueBytes, order);
}

} // namespace vergence::emulation
