#include "plugins/live_diffusion/profile/peaks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/compute/dense.h"
#include "core/compute/tensor.h"
#include "plugins/live_diffusion/model/stop_scope.h"

namespace vergence::live {

namespace {

constexpr double kTera = 1e12, kGiga = 1e9;
constexpr int kTrials = 10;

/// Shortest of some trials after one that nobody counts.
template <class Work>
double shortestSeconds(Stream& stream, const Work& work)
{
    work();
    stream.synchronize();
    double shortest = INFINITY;
    for (int trial = 0; trial < kTrials; ++trial) {
        stopHere();
        const double start = steadySeconds();
        work();
        stream.synchronize();
        shortest = std::min(shortest, steadySeconds() - start);
    }
    return shortest;
}

double productFlops(Stream& stream, const std::shared_ptr<Device>& device, DType type, Index edge)
{
    const Tensor a = Tensor::zeros(stream, device, {edge, edge}, type);
    const Tensor b = Tensor::zeros(stream, device, {edge, edge}, type);
    const Tensor y = Tensor::zeros(stream, device, {edge, edge}, type);
    const double seconds = shortestSeconds(
        stream, [&] { device->dense().matmul(stream, a, b, y, {.transposeB = true}); });
    return 2.0 * static_cast<double>(edge) * static_cast<double>(edge) * static_cast<double>(edge) /
           seconds;
}

struct CopyJob {
    std::byte* target;
    const std::byte* source;
};

double copyBandwidth(Stream& stream, const std::shared_ptr<Device>& device, std::size_t bytes)
{
    const Shape shape{static_cast<Index>(bytes / sizeof(float))};
    const Tensor from = Tensor::zeros(stream, device, shape);
    const Tensor to = Tensor::zeros(stream, device, shape);
    const CopyJob job{static_cast<std::byte*>(to.data()),
                      static_cast<const std::byte*>(from.data())};
    const double seconds = shortestSeconds(stream, [&] {
        if (!device->isCpu()) {
            stream.copy(job.target, job.source, bytes);
            return;
        }
        stream.parallelFor(
            static_cast<Index>(bytes), Index{1} << 20,
            [](const void* context, Index first, Index last) {
                const auto& copy = *static_cast<const CopyJob*>(context);
                std::memcpy(copy.target + first, copy.source + first,
                            static_cast<std::size_t>(last - first));
            },
            &job);
    });
    return 2.0 * static_cast<double>(bytes) / seconds; // read and written
}

} // namespace

double DevicePeaks::flops(Precision precision) const
{
    switch (precision) {
    case Precision::Fp32:
        return fp32;
    case Precision::Tf32:
        return tf32;
    case Precision::Fp16:
    case Precision::Bf16:
        break;
    }
    return half;
}

void DevicePeaks::setFlops(Precision precision, double value)
{
    (precision == Precision::Fp32 ? fp32 : precision == Precision::Tf32 ? tf32 : half) = value;
}

const std::vector<DevicePeaks>& publishedPeaks()
{
    static const std::vector<DevicePeaks> table = {
        {"RTX 3090", 71 * kTera, 142 * kTera, 35.6 * kTera, 35.6 * kTera, 936 * kGiga},
        {"RTX 4090", 165 * kTera, 330 * kTera, 82.6 * kTera, 82.6 * kTera, 1008 * kGiga},
        {"H200", 989 * kTera, 989 * kTera, 494 * kTera, 67 * kTera, 4800 * kGiga}};
    return table;
}

const DevicePeaks* findPeaks(std::string_view deviceName)
{
    for (const DevicePeaks& peaks : publishedPeaks()) {
        if (deviceName.find(peaks.name) != std::string_view::npos)
            return &peaks;
    }
    return nullptr;
}

DevicePeaks measureRoofs(std::shared_ptr<Device> device, Index edge, std::size_t bytes)
{
    expects(edge >= 2 && bytes >= sizeof(float), "measureRoofs: a product and a copy to measure");
    const std::unique_ptr<Stream> stream = device->createStream();
    const auto best = [&](DType type) {
        return std::max(productFlops(*stream, device, type, edge / 2),
                        productFlops(*stream, device, type, edge));
    };
    DevicePeaks peaks;
    peaks.name = device->info().name;
    {
        const ProductPolicyScope strict(ProductPolicy{});
        peaks.fp32 = best(DType::F32);
    }
    if (precisionChoice(*device, Precision::Tf32).isAvailable) {
        const ProductPolicyScope rounded({.usesTf32 = true});
        peaks.tf32 = best(DType::F32);
    }
    if (precisionChoice(*device, Precision::Fp16).isAvailable)
        peaks.half = best(DType::F16);
    else if (precisionChoice(*device, Precision::Bf16).isAvailable)
        peaks.half = best(DType::BF16);
    peaks.bandwidth = copyBandwidth(*stream, device, bytes);
    peaks.isMeasured = true;
    return peaks;
}

} // namespace vergence::live
