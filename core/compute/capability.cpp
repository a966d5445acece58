#include "core/compute/capability.h"

#include <cstdlib>

namespace vergence {

double capabilityOf(const DeviceInfo& device)
{
    return std::strtod(device.computeCapability.c_str(), nullptr);
}

double leastCapability(DType type)
{
    return type == DType::F16 ? 7.5 : type == DType::BF16 ? 8.0 : 0;
}

bool multiplies(const DeviceInfo& device, DType type)
{
    return device.kind == DeviceKind::Cpu || capabilityOf(device) >= leastCapability(type);
}

} // namespace vergence
