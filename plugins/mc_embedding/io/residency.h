#pragma once

#include <cstddef>
#include <optional>

#include "core/base/enum_names.h"
#include "plugins/mc_embedding/io/pixel_type.h"

namespace vergence::mc_embedding {

/// Where the pixels of a study live while it runs. Specification, section 10.2.
enum class Residency {
    Resident, ///< all in device memory
    Pinned,   ///< in host memory, copied a chunk ahead
    Mapped    ///< in the file, read a chunk ahead
};

constexpr auto namesOf(Residency)
{
    return std::array{EnumName{Residency::Resident, "resident"},
                      EnumName{Residency::Pinned, "pinned"}, EnumName{Residency::Mapped, "mapped"}};
}

/// Bytes of `images` RGB squares.
std::size_t pixelBytes(std::size_t images, int side, PixelType type = PixelType::U8);

struct MemoryNeed {
    std::size_t pixels = 0, weights = 0, workspace = 0, accumulators = 0; ///< bytes

    std::size_t total() const { return pixels + weights + workspace + accumulators; }
};
/// `freeDevice`, `freeHost`: bytes that may be allocated now.
Residency chooseResidency(const MemoryNeed& need, std::size_t freeDevice, std::size_t freeHost);

/// Whether so many bytes may be taken of those that are free: 85 %, the rest is for what other
/// programs and the allocator take meanwhile.
bool fitsDevice(std::size_t bytes, std::size_t freeDevice);

/// How a study occupies the device.
struct Occupation {
    std::size_t images = 1, passes = 1; ///< of a chunk and of a pass block
    Residency residency = Residency::Resident;
};
/// What to try after running out of device memory: half the passes, then half the images, then one
/// level further from the device. Nothing is left after one sequence from the file.
std::optional<Occupation> lighter(const Occupation& occupation);

} // namespace vergence::mc_embedding
