#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/dense.h"
#include "core/compute/dense/product_policy.h"
#include "core/compute/half.h"
#include "core/compute/stream.h"

namespace vergence::test {

/// What goes wrong on a FaultyDevice, and what it has seen.
struct Faults {
    std::size_t capacity = ~std::size_t{0}; ///< bytes that may be in use at a time
    std::atomic<bool> overflowsF16{false};  ///< products of F16 begin with an infinity
    bool overflowsBf16 = false;
    std::atomic<std::int64_t> rows{0}; ///< of all products so far
    std::atomic<double> flop{0};       ///< of all products so far
    std::atomic<int> towers{0};        ///< allocations as large as the weights of a tiny tower
    ProductPolicy policy;              ///< as the run has set it
};

/// Products of the CPU, some of them too large for their type.
class FaultyDense final : public DenseMath, public ProductChoice {
public:
    FaultyDense(DenseMath& dense, Faults& faults) : m_dense(dense), m_faults(faults) {}

    void setPolicy(const ProductPolicy& policy) override { m_faults.policy = policy; }
    void matmul(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y,
                const MatmulOptions& options) override
    {
        m_dense.matmul(stream, a, b, y, options);
        m_faults.rows += y.extent(0);
        m_faults.flop +=
            2.0 * static_cast<double>(y.size()) *
            static_cast<double>(a.shape()[a.shape().size() - (options.transposeA ? 2 : 1)]);
        const bool overflows = (a.dtype() == DType::F16 && m_faults.overflowsF16) ||
                               (a.dtype() == DType::BF16 && m_faults.overflowsBf16);
        if (!overflows || y.size() == 0)
            return;
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        if (y.dtype() == DType::F32)
            *static_cast<float*>(y.data()) = kInfinity;
        else if (y.dtype() == DType::F16)
            *static_cast<Float16*>(y.data()) = Float16(kInfinity);
        else
            *static_cast<BFloat16*>(y.data()) = BFloat16(kInfinity);
    }
    void conv2d(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y,
                const Conv2dOptions& options) override
    {
        m_dense.conv2d(stream, x, w, y, options);
    }
    void conv2dBackwardData(Stream& stream, const Tensor& gradY, const Tensor& w,
                            const Tensor& gradX, const Conv2dOptions& options) override
    {
        m_dense.conv2dBackwardData(stream, gradY, w, gradX, options);
    }
    void conv2dBackwardWeight(Stream& stream, const Tensor& x, const Tensor& gradY,
                              const Tensor& gradW, const Tensor* gradBias, bool accumulate,
                              const Conv2dOptions& options) override
    {
        m_dense.conv2dBackwardWeight(stream, x, gradY, gradW, gradBias, accumulate, options);
    }
    std::shared_ptr<const PackedWeight> packLinear(Stream& stream, const Tensor& weight,
                                                   Index rows) override
    {
        return m_dense.packLinear(stream, weight, rows);
    }

private:
    DenseMath& m_dense;
    Faults& m_faults;
};

class FaultyStream final : public Stream {
public:
    FaultyStream(Device& device, std::unique_ptr<Stream> inner)
        : Stream(device),
          m_inner(std::move(inner))
    {
    }

    void copy(void* target, const void* source, std::size_t bytes) override
    {
        m_inner->copy(target, source, bytes);
    }
    void fillBytes(void* target, int value, std::size_t bytes) override
    {
        m_inner->fillBytes(target, value, bytes);
    }
    void synchronize() override { m_inner->synchronize(); }
    void parallelFor(Index n, Index grain, RangeBody body, const void* context) override
    {
        m_inner->parallelFor(n, grain, body, context);
    }
    void* scratch(std::size_t bytes) override { return m_inner->scratch(bytes); }

private:
    std::unique_ptr<Stream> m_inner;
};

/// The CPU with less memory, and with products that overflow. `faults` outlives it.
class FaultyDevice final : public Device {
public:
    explicit FaultyDevice(Faults& faults)
        : Device(makeCpuDevice()->info()),
          m_faults(faults),
          m_dense(m_cpu->dense(), faults)
    {
    }

    void* allocate(std::size_t bytes) override
    {
        if (m_cpu->memory().usedByUs + bytes > m_faults.capacity)
            throw DeviceError(fmt::format("{} bytes are wanted; this device is small.", bytes),
                              ExitCode::OutOfMemory);
        constexpr std::size_t kTower = 2'000'000;
        m_faults.towers += bytes >= kTower ? 1 : 0;
        return m_cpu->allocate(bytes);
    }
    void deallocate(void* pointer, std::size_t bytes) noexcept override
    {
        m_cpu->deallocate(pointer, bytes);
    }
    DeviceMemory memory() const override { return m_cpu->memory(); }
    std::unique_ptr<Stream> createStream() override
    {
        return std::make_unique<FaultyStream>(*this, m_cpu->createStream());
    }
    DenseMath& dense() override { return m_dense; }
    int kernelVariant() const override { return m_cpu->kernelVariant(); }

private:
    Faults& m_faults;
    std::shared_ptr<Device> m_cpu = makeCpuDevice();
    FaultyDense m_dense;
};

} // namespace vergence::test
