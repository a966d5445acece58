// Any bytes: either Gaussians whose arrays agree with their count, or an InputError.
#include <cstdlib>

#include "core/base/error.h"
#include "plugins/sugar/io/gaussian_parse.h"

using namespace vergence;
using namespace vergence::sugar;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    try {
        const GaussianCloud cloud = parseSpz(std::as_bytes(std::span(data, size)), "fuzz.spz");
        const std::size_t count = cloud.opacity.size();
        const auto rest = static_cast<std::size_t>(3 * restCoefficients(cloud.degree));
        if (cloud.position.size() != 3 * count || cloud.rotation.size() != 4 * count ||
            cloud.logScale.size() != 3 * count || cloud.shDc.size() != 3 * count ||
            cloud.shRest.size() != rest * count)
            std::abort();
    } catch (const InputError&) {
    }
    return 0;
}
