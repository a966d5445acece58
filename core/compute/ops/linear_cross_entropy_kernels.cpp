#include "core/compute/ops/linear_cross_entropy_kernels.h"

#include "core/compute/launch.h"
#include "core/compute/ops/attention_types.h"
#if defined(__CUDACC__)
#include "core/compute/ops/linear_cross_entropy_tiles.cuh"
#else
#include "core/compute/ops/linear_cross_entropy_cpu.h"
#endif

namespace vergence {

namespace {

#if defined(__CUDACC__)
namespace driver = cross_entropy_tiles;
#else
namespace driver = cross_entropy_cpu;
#endif

void logitRowsBody(Stream& stream, const LogitRows& rows)
{
    withElementType(rows.type,
                    [&](auto element) { driver::logitRows<decltype(element)>(stream, rows); });
}

void countLabelsBody(Stream& stream, const std::int32_t* labels, Index rows, std::int32_t* counted)
{
    driver::countLabels(stream, labels, rows, counted);
}

void meanRowLossBody(Stream& stream, DType type, const void* rowLoss, Index rows,
                     const std::int32_t* counted, void* loss)
{
    if (type == DType::F64)
        driver::meanRowLoss(stream, static_cast<const double*>(rowLoss), rows, counted,
                            static_cast<double*>(loss));
    else
        driver::meanRowLoss(stream, static_cast<const float*>(rowLoss), rows, counted,
                            static_cast<float*>(loss));
}

} // namespace

VERGENCE_REGISTER_KERNEL(logitRowsKernel, logitRowsBody)
VERGENCE_REGISTER_KERNEL(countLabelsKernel, countLabelsBody)
VERGENCE_REGISTER_KERNEL(meanRowLossKernel, meanRowLossBody)

} // namespace vergence
