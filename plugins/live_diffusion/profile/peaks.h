#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/compute/view.h"
#include "plugins/live_diffusion/engine/switches.h"

namespace vergence {
class Device;
}

namespace vergence::live {

/// What a device can do at most; FLOP/s without sparsity, bytes/s. 0: unknown.
/// Source: the vendor's data sheets of RTX 3090, RTX 4090 and H200 SXM.
struct DevicePeaks {
    std::string name;
    double half = 0;           ///< fp16 and bf16 tensor cores, F32 sums
    double halfNarrowSums = 0; ///< fp16 sums
    double tf32 = 0, fp32 = 0;
    double bandwidth = 0;
    bool isMeasured = false; ///< roofs of this computer instead of a data sheet

    double flops(Precision precision) const;
    void setFlops(Precision precision, double value);
    /// FLOP per byte from which on products are no longer bound by memory.
    double ridge(Precision precision) const { return flops(precision) / bandwidth; }
};

const std::vector<DevicePeaks>& publishedPeaks();
/// The row whose name is part of `deviceName` ("NVIDIA GeForce RTX 4090"); null: none.
const DevicePeaks* findPeaks(std::string_view deviceName);

/// The best of several square products and of a long copy, on the device itself. `edge` and `bytes`
/// are those of the largest; cards want 8192 and 1 GiB.
DevicePeaks measureRoofs(std::shared_ptr<Device> device, Index edge = 768,
                         std::size_t bytes = 32u << 20);

} // namespace vergence::live
