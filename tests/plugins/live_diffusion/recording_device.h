#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/compute/dense.h"
#include "core/compute/dense/product_policy.h"
#include "core/compute/device.h"
#include "core/compute/stream.h"

namespace vergence::test {

/// Products of the CPU; knows how each of them was to be computed.
class RecordingDense final : public DenseMath, public ProductChoice {
public:
    explicit RecordingDense(DenseMath& inner) : m_inner(inner) {}

    void setPolicy(const ProductPolicy& policy) override { chosen = policy; }
    void matmul(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y,
                const MatmulOptions& options) override
    {
        note();
        m_inner.matmul(stream, a, b, y, options);
    }
    void conv2d(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y,
                const Conv2dOptions& options) override
    {
        note();
        m_inner.conv2d(stream, x, w, y, options);
    }
    void conv2dBackwardData(Stream& stream, const Tensor& gradY, const Tensor& w,
                            const Tensor& gradX, const Conv2dOptions& options) override
    {
        note();
        m_inner.conv2dBackwardData(stream, gradY, w, gradX, options);
    }
    void conv2dBackwardWeight(Stream& stream, const Tensor& x, const Tensor& gradY,
                              const Tensor& gradW, const Tensor* gradBias, bool accumulate,
                              const Conv2dOptions& options) override
    {
        note();
        m_inner.conv2dBackwardWeight(stream, x, gradY, gradW, gradBias, accumulate, options);
    }

    std::shared_ptr<const PackedWeight> packLinear(Stream& stream, const Tensor& weight,
                                                   Index rows) override
    {
        return m_inner.packLinear(stream, weight, rows);
    }
    std::shared_ptr<const PackedWeight> packConv2d(Stream& stream, const Tensor& weight,
                                                   const Shape& inputShape,
                                                   const Conv2dOptions& options) override
    {
        return m_inner.packConv2d(stream, weight, inputShape, options);
    }

    ProductPolicy chosen;
    std::vector<ProductPolicy> policies; ///< of every product so far

private:
    void note()
    {
        const std::lock_guard lock(m_mutex);
        policies.push_back(ProductPolicyScope::inForce(chosen));
    }

    DenseMath& m_inner;
    std::mutex m_mutex;
};

/// The CPU in the clothes of a card: memory of its own, and recordings. What is recorded runs once,
/// at once, under the rules of a recording: no memory of the host is touched, nothing is allocated,
/// nobody waits. A replay does nothing, so only the frame that is recorded is right.
class RecordingDevice final : public Device {
public:
    explicit RecordingDevice(const std::string& capability = "9.0")
        : Device(described(capability)),
          m_cpu(makeCpuDevice(1)),
          products(m_cpu->dense())
    {
    }

    void* allocate(std::size_t bytes) override
    {
        expects(!isRecording, "RecordingDevice: nothing is allocated in a recording");
        void* memory = m_cpu->allocate(bytes);
        const std::lock_guard lock(m_mutex);
        m_blocks[static_cast<std::byte*>(memory)] = bytes;
        return memory;
    }
    void deallocate(void* pointer, std::size_t bytes) noexcept override
    {
        {
            const std::lock_guard lock(m_mutex);
            m_blocks.erase(static_cast<std::byte*>(pointer));
        }
        m_cpu->deallocate(pointer, bytes);
    }
    DeviceMemory memory() const override { return m_cpu->memory(); }
    std::unique_ptr<Stream> createStream() override;
    DenseMath& dense() override { return products; }
    int kernelVariant() const override { return m_cpu->kernelVariant(); }

    bool owns(const void* pointer, std::size_t bytes) const
    {
        const auto* first = static_cast<const std::byte*>(pointer);
        const std::lock_guard lock(m_mutex);
        auto block = m_blocks.upper_bound(const_cast<std::byte*>(first));
        if (block == m_blocks.begin())
            return false;
        --block;
        return first + bytes <= block->first + block->second;
    }
    /// Handed out and not returned; the CPU's own products have memory besides.
    std::size_t bytesInUse() const
    {
        const std::lock_guard lock(m_mutex);
        std::size_t sum = 0;
        for (const auto& [first, bytes] : m_blocks)
            sum += bytes;
        return sum;
    }
    Device& cpu() { return *m_cpu; }

    std::atomic<bool> isRecording = false;
    int recordings = 0, replays = 0;

private:
    static DeviceInfo described(const std::string& capability)
    {
        DeviceInfo info;
        info.kind = DeviceKind::Cuda;
        info.name = "a card that is none";
        info.computeCapability = capability;
        return info;
    }

    std::shared_ptr<Device> m_cpu;
    mutable std::mutex m_mutex; ///< of the blocks: plans are built on threads of their own
    std::map<std::byte*, std::size_t> m_blocks;

public:
    RecordingDense products;
};

class RecordingStream final : public Stream {
public:
    explicit RecordingStream(RecordingDevice& device)
        : Stream(device),
          m_device(device),
          m_inner(device.cpu().createStream())
    {
    }
    ~RecordingStream() override
    {
        if (m_scratch)
            m_device.deallocate(m_scratch, m_scratchBytes);
    }

    void copy(void* target, const void* source, std::size_t bytes) override
    {
        expects(!m_device.isRecording ||
                    (m_device.owns(target, bytes) && m_device.owns(source, bytes)),
                "RecordingDevice: a recording does not touch memory of the host");
        m_inner->copy(target, source, bytes);
    }
    void fillBytes(void* target, int value, std::size_t bytes) override
    {
        m_inner->fillBytes(target, value, bytes);
    }
    void synchronize() override
    {
        expects(!m_device.isRecording, "RecordingDevice: nobody waits in a recording");
    }
    void parallelFor(Index n, Index grain, RangeBody body, const void* context) override
    {
        m_inner->parallelFor(n, grain, body, context);
    }
    void* scratch(std::size_t bytes) override
    {
        if (bytes > m_scratchBytes) {
            void* const larger = m_device.allocate(bytes);
            if (m_scratch)
                m_device.deallocate(m_scratch, m_scratchBytes);
            m_scratch = larger;
            m_scratchBytes = bytes;
        }
        return m_scratch;
    }
    bool beginCapture() override { return m_device.isRecording = true; }
    std::unique_ptr<LaunchGraph> endCapture() override
    {
        struct Replay final : LaunchGraph {
            explicit Replay(RecordingDevice& owner) : device(owner) {}
            void replay(Stream&) override { ++device.replays; }
            RecordingDevice& device;
        };
        m_device.isRecording = false;
        ++m_device.recordings;
        return std::make_unique<Replay>(m_device);
    }

private:
    RecordingDevice& m_device;
    std::unique_ptr<Stream> m_inner;
    void* m_scratch = nullptr;
    std::size_t m_scratchBytes = 0;
};

inline std::unique_ptr<Stream> RecordingDevice::createStream()
{
    return std::make_unique<RecordingStream>(*this);
}

} // namespace vergence::test
