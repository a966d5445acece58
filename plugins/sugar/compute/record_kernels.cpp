#include "core/compute/launch.h"
#include "plugins/sugar/compute/raster_kernels.h"

namespace vergence::sugar {

namespace {

/// Adds the records of one Gaussian in the order of its tiles, as the backward pass does, so that
/// bands from above to below make the sums of the whole picture to the last bit.
struct SumRecords {
    RecordSumArguments a;

    VERGENCE_HD void operator()(Index i) const
    {
        constexpr std::size_t kNumbers = sizeof(SplatRecord) / sizeof(float);
        const std::uint32_t count = a.counts[i];
        if (count > 0)
            a.seen[i] = 1;
        a.visible[i] = a.seen[i] != 0;
        if (count == 0)
            return;
        const auto* from = reinterpret_cast<const float*>(a.records + a.slots[i]);
        auto* sums = reinterpret_cast<float*>(a.sums + i);
        for (std::uint32_t k = 0; k < count; ++k, from += kNumbers) {
            for (std::size_t j = 0; j < kNumbers; ++j)
                sums[j] += from[j];
        }
    }
};

struct IsSeen {
    const std::uint32_t* seen;
    VERGENCE_HD double operator()(Index i) const { return static_cast<double>(seen[i]); }
};

void sumRecordsBody(Stream& stream, const RecordSumArguments& a)
{
    forEach(stream, a.count, SumRecords{a});
    *a.visibleCount = static_cast<Index>(reduceSum(stream, a.count, IsSeen{a.seen}));
}

} // namespace

VERGENCE_REGISTER_KERNEL(sumRecords, sumRecordsBody)

} // namespace vergence::sugar
