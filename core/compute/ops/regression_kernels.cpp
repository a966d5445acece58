#include "core/compute/ops/loops.h"
#include "core/compute/ops/loss_kernels.h"
#include "core/compute/ops/regression_math.h"

namespace vergence {

namespace {

/// Numbers that one partial sum covers; fixed, so that results do not depend on threads.
constexpr Index kChunk = 16384;

template <class T, class Rule>
struct PartialLoss {
    using Real = Accumulator<T>;
    const T* prediction;
    const T* target;
    Index count;
    Real width;
    double* partial;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index chunk) const
    {
        const Index first = chunk * kChunk;
        const Index n = first + kChunk < count ? kChunk : count - first;
        LaneSum<T> sum;
        team.template each<T, 4>(n, [&](auto at) VERGENCE_INLINE {
            sum.add(at,
                    Rule::value(load(prediction + first, at) - load(target + first, at), width));
        });
        const Real total = team.total(sum);
        if (team.isFirst())
            partial[chunk] = static_cast<double>(total);
    }
};

template <class Real>
struct FinishLoss {
    const double* partial;
    Index chunks, count;
    Real* loss;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index) const
    {
        double sum = 0;
        team.eachItem(chunks, [&](Index i) VERGENCE_INLINE { sum += partial[i]; });
        sum = team.total(sum);
        if (team.isFirst())
            *loss = static_cast<Real>(count > 0 ? sum / static_cast<double>(count) : 0);
    }
};

template <class T, class Rule>
struct RegressionBackward {
    using Real = Accumulator<T>;
    const T* prediction;
    const T* target;
    const Real* gradLoss;
    T* gradPrediction;
    Real width, share;
    bool accumulate;

    template <class At>
    VERGENCE_HD void operator()(At at) const
    {
        auto value =
            Rule::derivative(load(prediction, at) - load(target, at), width) * (*gradLoss * share);
        if (accumulate)
            value = value + load(gradPrediction, at);
        store(gradPrediction, at, value);
    }
};

template <class Rule>
void lossAs(Stream& stream, const RegressionArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using Real = Accumulator<T>;
        const Index chunks = (a.count + kChunk - 1) / kChunk;
        double* partial = static_cast<double*>(
            stream.scratch(static_cast<std::size_t>(chunks + 1) * sizeof(double)));
        forEachChunk<T>(stream, chunks,
                        PartialLoss<T, Rule>{static_cast<const T*>(a.prediction),
                                             static_cast<const T*>(a.target), a.count,
                                             static_cast<Real>(a.width), partial});
        forEachChunk<Real>(stream, 1,
                           FinishLoss<Real>{partial, chunks, a.count, static_cast<Real*>(a.loss)});
    });
}

template <class Rule>
void backwardAs(Stream& stream, const RegressionArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using Real = Accumulator<T>;
        forEachPack<T>(stream, a.count,
                       RegressionBackward<T, Rule>{
                           static_cast<const T*>(a.prediction), static_cast<const T*>(a.target),
                           static_cast<const Real*>(a.gradLoss), static_cast<T*>(a.gradPrediction),
                           static_cast<Real>(a.width), Real(1) / static_cast<Real>(a.count),
                           a.accumulate});
    });
}

void regressionBody(Stream& stream, const RegressionArguments& a)
{
    switch (a.penalty) {
    case Penalty::Square:
        return lossAs<SquarePenalty>(stream, a);
    case Penalty::SmoothAbsolute:
        return lossAs<SmoothAbsolutePenalty>(stream, a);
    case Penalty::SmoothL1:
        return lossAs<SmoothL1Penalty>(stream, a);
    }
}

void regressionBackwardBody(Stream& stream, const RegressionArguments& a)
{
    switch (a.penalty) {
    case Penalty::Square:
        return backwardAs<SquarePenalty>(stream, a);
    case Penalty::SmoothAbsolute:
        return backwardAs<SmoothAbsolutePenalty>(stream, a);
    case Penalty::SmoothL1:
        return backwardAs<SmoothL1Penalty>(stream, a);
    }
}

} // namespace

VERGENCE_REGISTER_KERNEL(regressionKernel, regressionBody)
VERGENCE_REGISTER_KERNEL(regressionBackwardKernel, regressionBackwardBody)

} // namespace vergence
