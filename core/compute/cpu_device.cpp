#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>

#include <unistd.h>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "core/base/error.h"
#include "core/compute/cpu_threads.h"
#include "core/compute/dense/cpu_dense.h"
#include "core/compute/device.h"
#include "core/compute/huge_page_heap.h"
#include "core/compute/kernel.h"
#include "core/compute/stream.h"

namespace vergence {

Device::~Device() = default;
Stream::~Stream() = default;
LaunchGraph::~LaunchGraph() = default;
SharedSlots::~SharedSlots() = default;

std::unique_ptr<SharedSlots> Device::createSharedSlots(std::size_t)
{
    return nullptr;
}

DenseMath& Device::dense()
{
    throw ContractError("This device has no matrix products.");
}

namespace {

/// VERGENCE_HUGE_PAGES=0: every block by itself on pages of the usual size.
bool wantsHugePages()
{
#if defined(__SANITIZE_ADDRESS__)
    return false; // it could not tell blocks side by side apart
#else
    const char* wanted = std::getenv("VERGENCE_HUGE_PAGES");
    return wanted == nullptr || std::string_view(wanted) != "0";
#endif
}

std::align_val_t alignmentOf(std::size_t bytes)
{
    return std::align_val_t{bytes < kHugePage ? 256 : kHugePage};
}

#if defined(__x86_64__)

int bestVariant()
{
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    int variant = v4 ? kVariantV4 : v3 ? kVariantV3 : kVariantV2;
    if (const char* wanted = std::getenv("VERGENCE_ISA")) {
        const std::string_view text(wanted);
        const int asked = text == "v2"   ? kVariantV2
                          : text == "v3" ? kVariantV3
                          : text == "v4" ? kVariantV4
                                         : -1;
        if (asked < 0)
            throw DeviceError(fmt::format("VERGENCE_ISA is {}; it must be v2, v3 or v4.", text),
                              ExitCode::Usage);
        variant = std::min(variant, asked);
    }
    return variant;
}

#else

int bestVariant()
{
    const char* wanted = std::getenv("VERGENCE_ISA");
    if (wanted && std::string_view(wanted) != "generic")
        throw DeviceError(
            fmt::format("VERGENCE_ISA is {}; on this processor it must be generic.", wanted),
            ExitCode::Usage);
    return kVariantGeneric;
}

#endif

class CpuDevice final : public Device {
public:
    explicit CpuDevice(int threads)
        : Device(describe(threads)),
          m_arena(threads),
          m_variant(bestVariant())
    {
    }

    void* allocate(std::size_t bytes) override
    {
        const bool isLasting =
            m_hasHugePages && HugePageHeap::serves(bytes) && LastingBlocks::areTaken();
        void* pointer = isLasting ? m_heap.allocate(bytes)
                                  : ::operator new(std::max<std::size_t>(bytes, 1),
                                                   alignmentOf(bytes), std::nothrow);
        if (!pointer) {
            throw DeviceError(
                fmt::format(
                    "Out of memory: {} MiB were wanted, {} MiB are free. Choose smaller sizes.",
                    bytes >> 20, memory().free >> 20),
                ExitCode::OutOfMemory);
        }
        if (m_hasHugePages && bytes >= kHugePage)
            adviseHugePages(pointer, bytes);
        const std::size_t used = m_used.fetch_add(bytes) + bytes;
        std::size_t peak = m_peak.load();
        while (used > peak && !m_peak.compare_exchange_weak(peak, used)) {
        }
        return pointer;
    }

    void deallocate(void* pointer, std::size_t bytes) noexcept override
    {
        m_used.fetch_sub(bytes);
        if (HugePageHeap::serves(bytes) && m_heap.contains(pointer))
            m_heap.deallocate(pointer, bytes);
        else
            ::operator delete(pointer, alignmentOf(bytes));
    }

    DeviceMemory memory() const override
    {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        return {m_info.totalBytes, static_cast<std::size_t>(::sysconf(_SC_AVPHYS_PAGES)) * page,
                m_used.load(), m_peak.load()};
    }

    std::unique_ptr<Stream> createStream() override;
    DenseMath& dense() override
    {
        std::call_once(m_denseOnce, [this] {
            m_dense = makeCpuDenseMath(*this, m_arena, m_arena.max_concurrency());
        });
        return *m_dense;
    }
    int kernelVariant() const override { return m_variant; }
    tbb::task_arena& arena() { return m_arena; }

private:
    static DeviceInfo describe(int threads)
    {
        DeviceInfo info;
        info.kind = DeviceKind::Cpu;
        info.uuid = "cpu";
        info.name = fmt::format("{} ({} threads)", processorName(), threads);
        info.totalBytes = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                          static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        return info;
    }

    const bool m_hasHugePages = wantsHugePages();
    HugePageHeap m_heap; // before what may hold memory of the device
    tbb::task_arena m_arena;
    int m_variant;
    std::atomic<std::size_t> m_used{0}, m_peak{0};
    std::once_flag m_denseOnce;
    std::unique_ptr<DenseMath> m_dense;
};

class CpuStream final : public Stream {
public:
    explicit CpuStream(CpuDevice& device) : Stream(device), m_cpu(device) {}
    ~CpuStream() override { releaseScratch(); }

    void copy(void* target, const void* source, std::size_t bytes) override
    {
        auto* to = static_cast<std::byte*>(target);
        const auto* from = static_cast<const std::byte*>(source);
        if (to < from + bytes && from < to + bytes) { // they overlap
            std::memmove(target, source, bytes);
            return;
        }
        forBytes(bytes, [=](std::size_t first, std::size_t count) {
            std::memcpy(to + first, from + first, count);
        });
    }
    void fillBytes(void* target, int value, std::size_t bytes) override
    {
        forBytes(bytes, [=](std::size_t first, std::size_t count) {
            std::memset(static_cast<std::byte*>(target) + first, value, count);
        });
    }
    void synchronize() override {}

    void parallelFor(Index n, Index grain, RangeBody body, const void* context) override
    {
        if (n <= 0)
            return;
        if (n <= grain) {
            body(context, 0, n);
            return;
        }
        m_cpu.arena().execute([&] {
            tbb::parallel_for(tbb::blocked_range<Index>(0, n, std::max<Index>(grain, 1)),
                              [&](const tbb::blocked_range<Index>& range) {
                                  body(context, range.begin(), range.end());
                              });
        });
    }

    void* scratch(std::size_t bytes) override
    {
        if (bytes > m_scratchBytes) {
            releaseScratch();
            m_scratch = m_cpu.allocate(bytes);
            m_scratchBytes = bytes;
        }
        return m_scratch;
    }

private:
    /// body(first, count) for pieces that are worth a thread's while.
    template <class Body>
    void forBytes(std::size_t bytes, const Body& body)
    {
        constexpr Index kGrain = 1 << 17;
        parallelFor(
            static_cast<Index>(bytes), kGrain,
            [](const void* context, Index first, Index last) {
                (*static_cast<const Body*>(context))(static_cast<std::size_t>(first),
                                                     static_cast<std::size_t>(last - first));
            },
            &body);
    }

    void releaseScratch()
    {
        if (m_scratch)
            m_cpu.deallocate(m_scratch, m_scratchBytes);
        m_scratch = nullptr;
        m_scratchBytes = 0;
    }

    CpuDevice& m_cpu;
    void* m_scratch = nullptr;
    std::size_t m_scratchBytes = 0;
};

std::unique_ptr<Stream> CpuDevice::createStream()
{
    return std::make_unique<CpuStream>(*this);
}

} // namespace

std::shared_ptr<Device> makeCpuDevice(int threads)
{
    expects(threads >= 0, "makeCpuDevice: threads must not be negative");
    return std::make_shared<CpuDevice>(threads > 0 ? threads : usableThreads());
}

} // namespace vergence
