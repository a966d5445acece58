#include "plugins/sugar/compute/learning/photometric_kernels.h"

#include "core/compute/launch.h"

#if defined(__CUDACC__)
#include "plugins/sugar/compute/learning/photometric_tiles.cuh"
#else
#include "plugins/sugar/compute/learning/photometric_cpu.h"
#endif

namespace vergence::sugar {

namespace {

struct MaskWeight {
    const std::uint8_t* mask;
    VERGENCE_HD double operator()(Index i) const { return mask[i]; }
};

void photometricGradientBody(Stream& stream, const PhotometricArguments& p)
{
    runPhotometric<false>(stream, p);
}

void photometricMeasuresBody(Stream& stream, const PhotometricArguments& p)
{
    runPhotometric<true>(stream, p);
}

void photometricScratchBody(Stream&, const PhotometricArguments& p, std::size_t* bytes)
{
    *bytes = scratchBytes(p);
}

void maskTotalBody(Stream& stream, const std::uint8_t* mask, Index size, double* total)
{
    *total = reduceSum(stream, size, MaskWeight{mask});
}

} // namespace

VERGENCE_REGISTER_KERNEL(photometricGradient, photometricGradientBody)
VERGENCE_REGISTER_KERNEL(photometricMeasures, photometricMeasuresBody)
VERGENCE_REGISTER_KERNEL(photometricScratch, photometricScratchBody)
VERGENCE_REGISTER_KERNEL(maskTotal, maskTotalBody)

} // namespace vergence::sugar
