#include "plugins/mc_embedding/io/residency.h"

#include "core/base/error.h"

namespace vergence::mc_embedding {

std::size_t pixelBytes(std::size_t images, int side, PixelType type)
{
    expects(side > 0, "pixelBytes: a side of 1 px or more");
    return images * static_cast<std::size_t>(side) * static_cast<std::size_t>(side) * 3 *
           bytesOf(type);
}

bool fitsDevice(std::size_t bytes, std::size_t freeDevice)
{
    constexpr double kDeviceShare = 0.85;
    return static_cast<double>(bytes) <= kDeviceShare * static_cast<double>(freeDevice);
}

Residency chooseResidency(const MemoryNeed& need, std::size_t freeDevice, std::size_t freeHost)
{
    constexpr double kHostShare = 0.6; // the rest is for everything else that runs there
    if (fitsDevice(need.total(), freeDevice))
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
