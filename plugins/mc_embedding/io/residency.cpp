#include "plugins/mc_embedding/io/residency.h"

#include "core/base/error.h"

namespace vergence::mc_embedding {

std::size_t pixelBytes(std::size_t images, int side, PixelType type)
{
    expects(side > 0, "pixelBytes: a side of 1 px or more");
    const std::size_t size = type == PixelType::U8 ? 1 : type == PixelType::F16 ? 2 : 4;
    return images * static_cast<std::size_t>(side) * static_cast<std::size_t>(side) * 3 * size;
}

Residency chooseResidency(const MemoryNeed& need, std::size_t freeDevice, std::size_t freeHost)
{
    // The rest of the device is for what other programs and the allocator take meanwhile; the rest
    // of the host is for everything else that runs there.
    constexpr double kDeviceShare = 0.85, kHostShare = 0.6;
    const double all = static_cast<double>(need.pixels) + static_cast<double>(need.weights) +
                       static_cast<double>(need.workspace) + static_cast<double>(need.accumulators);
    if (all <= kDeviceShare * static_cast<double>(freeDevice))
        return Residency::Resident;
    return static_cast<double>(need.pixels) <= kHostShare * static_cast<double>(freeHost)
               ? Residency::Pinned
               : Residency::Mapped;
}

std::optional<Occupation> lighter(const Occupation& occupation)
{
    Occupation next = occupation;
    if (next.passes > 1)
        next.passes /= 2;
    else if (next.images > 1)
        next.images /= 2;
    else if (next.residency == Residency::Resident)
        next.residency = Residency::Pinned;
    else if (next.residency == Residency::Pinned)
        next.residency = Residency::Mapped;
    else
        return std::nullopt;
    return next;
}

} // namespace vergence::mc_embedding
