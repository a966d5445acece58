#include "core/compute/ops/adam_kernels.h"

#include <algorithm>

#include "core/compute/half.h"
#include "core/compute/launch.h"
#include "core/compute/ops/pack.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

namespace {
#if defined(__CUDACC__)
template <class Real>
struct SquareOf {
    const Real* g;
    VERGENCE_HD double operator()(Index i) const
    {
        const double value = static_cast<double>(g[i]);
        return value * value;
    }
};

template <class Real>
void sumSquares(Stream& stream, const Tensor& gradients, double* sum)
{
    reduceInto(stream, gradients.size(), SquareOf<Real>{static_cast<const Real*>(gradients.data())},
               Plus{}, 0.0, sum);
}
#else
constexpr Index kSquaresChunk = 16384;
constexpr Index kRun = 1024; ///< numbers summed before the sum is widened
constexpr Index kLanes = 64;
/// Sums of a run in float that may have lost squares to underflow or overflow.
constexpr double kLeastTrusted = 1e-24, kMostTrusted = 1e36;

/// Sum of squares in lanes that the compiler keeps in registers, in the type of `Sum`.
template <class Sum, class Real>
double squaresOfRun(const Real* g, Index count)
{
    Sum lanes[kLanes] = {};
    Index i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (Index lane = 0; lane < kLanes; ++lane) {
            const auto value = static_cast<Sum>(g[i + lane]);
            lanes[lane] += value * value;
        }
    }
    for (Index lane = 0; i < count; ++i, ++lane)
        lanes[lane] += static_cast<Sum>(g[i]) * static_cast<Sum>(g[i]);
    for (Index half = kLanes / 2; half > 0; half /= 2) {
        for (Index lane = 0; lane < half; ++lane)
            lanes[lane] += lanes[lane + half];
    }
    return static_cast<double>(lanes[0]);
}

/// Sums of squares of fixed chunks: short runs in float, once more in double where float is too
/// narrow for them.
template <class Real>
struct SquaresOfChunk {
    const Real* gradients;
    double* partial;
    Index n;

    void operator()(Index chunk) const
    {
        const Index begin = chunk * kSquaresChunk, end = std::min(begin + kSquaresChunk, n);
        double sum = 0;
        for (Index i = begin; i < end; i += kRun) {
            const Index count = std::min(kRun, end - i);
            double run = squaresOfRun<Real>(gradients + i, count);
            if (!(run >= kLeastTrusted && run <= kMostTrusted))
                run = squaresOfRun<double>(gradients + i, count);
            sum += run;
        }
        partial[chunk] = sum;
    }
};

template <class Real>
void sumSquares(Stream& stream, const Tensor& gradients, double* sum)
{
    const Index chunks = (gradients.size() + kSquaresChunk - 1) / kSquaresChunk;
    auto* partial =
        static_cast<double*>(stream.scratch(static_cast<std::size_t>(chunks) * sizeof(double)));
    forEach(
        stream, chunks,
        SquaresOfChunk<Real>{static_cast<const Real*>(gradients.data()), partial, gradients.size()},
        1);
    double total = 0;
    for (Index i = 0; i < chunks; ++i)
        total += partial[i];
    *sum = total;
}
#endif

struct BeginStep {
    AdamNorm* norm;
    AdamCounters* counters;
    double beta1, beta2, clipNorm;
    VERGENCE_HD void operator()(Index) const
    {
        beginAdamStep(*norm, *counters, beta1, beta2, clipNorm);
    }
};

void adamPrepare(Stream& stream, const AdamPreparation& in)
{
    if (in.gradients.isEmpty())
        stream.fillBytes(&in.norm->sumOfSquares, 0, sizeof(double));
    else if (in.gradients.dtype() == DType::F64)
        sumSquares<double>(stream, in.gradients, &in.norm->sumOfSquares);
    else
        sumSquares<float>(stream, in.gradients, &in.norm->sumOfSquares);
    forEach(stream, 1, BeginStep{in.norm, in.counters, in.beta1, in.beta2, in.clipNorm});
}

struct NoShadow {};

/// The pointers of one group; `Shadow` is NoShadow where there is none.
template <class Real, class Shadow>
struct UpdateItem {
    const Real* gradients;
    Real *first, *second, *values;
    Shadow* shadows;
    const double* rate;
    const AdamNorm* norm;
    double beta1, beta2, epsilon, weightDecay;
    bool decoupledDecay;

    VERGENCE_HD AdamStep<Real> step() const
    {
        AdamStep<Real> result;
        result.beta1 = static_cast<Real>(beta1);
        result.beta2 = static_cast<Real>(beta2);
        result.epsilon = static_cast<Real>(epsilon);
        result.clip = static_cast<Real>(norm->factor);
        result.decay = static_cast<Real>(decoupledDecay ? *rate * weightDecay : 0);
        result.coupledDecay = static_cast<Real>(decoupledDecay ? 0 : weightDecay);
        result.stepSize = static_cast<Real>(*rate * norm->firstScale);
        result.inverseSecondRoot = static_cast<Real>(norm->secondScale);
        return result;
    }

    VERGENCE_HD void operator()(Index i) const
    {
        if (norm->factor == 0)
            return;
        Real value = values[i];
        adamElement(step(), gradients[i], first[i], second[i], value);
        values[i] = value;
        if constexpr (!std::is_same_v<Shadow, NoShadow>)
            shadows[i] = static_cast<Shadow>(static_cast<float>(value));
    }
};

#if defined(__CUDACC__)
template <class Real, class Shadow>
void runUpdate(Stream& stream, Index n, const UpdateItem<Real, Shadow>& item)
{
    forEach(stream, n, item);
}
#else
constexpr Index kUpdateBlock = 4096;
constexpr Index kUpdateRun = 256;

/// Asks for `count` numbers that lie `ahead` bytes further, a cache line at a time.
template <class Real>
void fetchRun(const Real* numbers, Index count, Index ahead)
{
    constexpr Index kLine = 64 / static_cast<Index>(sizeof(Real));
    for (Index i = 0; i < count; i += kLine)
        packs::fetchAhead(numbers + i, ahead);
}

template <class Real>
void updateRun(const AdamStep<Real>& step, Index count, const Real* gradients, Real* first,
               Real* second, Real* values)
{
    const AdamStep<Real> local = step; // a copy that no array can alias
#pragma GCC ivdep
    for (Index i = 0; i < count; ++i) {
        Real m = first[i], v = second[i], value = values[i];
        adamElement(local, gradients[i], m, v, value);
        first[i] = m;
        second[i] = v;
        values[i] = value;
    }
}

/// A block of neighbours: everything but the arrays is read once, so that the loop vectorises.
template <class Real, class Shadow>
struct UpdateBlock {
    UpdateItem<Real, Shadow> item;
    Index n;

    void operator()(Index block) const
    {
        if (item.norm->factor == 0)
            return;
        const AdamStep<Real> step = item.step();
        const Index begin = block * kUpdateBlock, count = std::min(kUpdateBlock, n - begin);
        const Real* const gradients = item.gradients + begin;
        Real* const first = item.first + begin;
        Real* const second = item.second + begin;
        Real* const values = item.values + begin;
        const Real* const arrays[] = {gradients, first, second, values};
        const Index ahead = packs::bytesAhead();
        for (Index i = 0; i < count; i += kUpdateRun) {
            const Index run = std::min(kUpdateRun, count - i);
            if (ahead > 0) {
                for (const Real* array : arrays)
                    fetchRun(array + i, run, ahead);
            }
            updateRun(step, run, gradients + i, first + i, second + i, values + i);
        }
        if constexpr (!std::is_same_v<Shadow, NoShadow>) {
            Shadow* const shadows = item.shadows + begin;
#pragma GCC ivdep
            for (Index i = 0; i < count; ++i)
                shadows[i] = static_cast<Shadow>(static_cast<float>(values[i]));
        }
    }
};

template <class Real, class Shadow>
void runUpdate(Stream& stream, Index n, const UpdateItem<Real, Shadow>& item)
{
    forEach(stream, (n + kUpdateBlock - 1) / kUpdateBlock, UpdateBlock<Real, Shadow>{item, n}, 4);
}
#endif

template <class Real, class Shadow>
void updateTyped(Stream& stream, const AdamUpdate& in)
{
    runUpdate(stream, in.values.size(),
              UpdateItem<Real, Shadow>{
                  static_cast<const Real*>(in.gradients.data()),
                  static_cast<Real*>(in.first.data()), static_cast<Real*>(in.second.data()),
                  static_cast<Real*>(in.values.data()), static_cast<Shadow*>(in.shadows.data()),
                  in.rate, in.norm, in.beta1, in.beta2, in.epsilon, in.weightDecay,
                  in.decoupledDecay});
}

void adamUpdate(Stream& stream, const AdamUpdate& in)
{
    if (in.values.dtype() == DType::F64)
        updateTyped<double, NoShadow>(stream, in);
    else if (in.shadows.isEmpty())
        updateTyped<float, NoShadow>(stream, in);
    else if (in.shadows.dtype() == DType::F16)
        updateTyped<float, Float16>(stream, in);
    else
        updateTyped<float, BFloat16>(stream, in);
}

VERGENCE_REGISTER_KERNEL(adamPrepareKernel, adamPrepare)
VERGENCE_REGISTER_KERNEL(adamUpdateKernel, adamUpdate)
} // namespace

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
