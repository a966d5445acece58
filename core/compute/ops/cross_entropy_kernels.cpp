#include "core/compute/ops/loss_kernels.h"
#include "core/compute/ops/softmax_row.h"

namespace vergence {

namespace {

/// log Σ exp z − z_label of one row; 0 where the label is negative, NaN where it is too large.
template <class T>
struct RowLoss {
    using Real = Accumulator<T>;
    const T* logits;
    const std::int32_t* labels;
    Real* rowLoss;
    Index columns;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const std::int32_t label = labels[row];
        Real loss = 0;
        if (label >= columns) {
            loss = Real(NAN);
        } else if (label >= 0) {
            const T* in = logits + row * columns;
            const auto moments = softmaxMoments(team, in, columns);
            loss = (moments.largest - static_cast<Real>(in[label])) + std::log(moments.sum);
        }
        if (team.isFirst())
            rowLoss[row] = loss;
    }
};

/// One team over all rows: how many count, and their mean.
template <class Real>
struct MeanLoss {
    const Real* rowLoss;
    const std::int32_t* labels;
    Index rows;
    std::int32_t* counted;
    Real* loss;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index) const
    {
        LaneSum<Real> sum;
        team.template each<Real, 4>(rows, [&](auto at)
                                              VERGENCE_INLINE { sum.add(at, load(rowLoss, at)); });
        double own = 0;
        team.eachItem(rows, [&](Index i) VERGENCE_INLINE { own += labels[i] >= 0 ? 1 : 0; });
        const double count = team.total(own);
        const Real total = team.total(sum);
        if (team.isFirst()) {
            *counted = static_cast<std::int32_t>(count);
            *loss = count > 0 ? total / static_cast<Real>(count) : Real(0);
        }
    }
};

template <class T>
struct CrossEntropyBackward {
    using Real = Accumulator<T>;
    const T* logits;
    const std::int32_t* labels;
    const std::int32_t* counted;
    const Real* gradLoss;
    T* gradLogits;
    Index columns;
    bool accumulate;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const std::int32_t label = labels[row];
        T* out = gradLogits + row * columns;
        if (label < 0)
            return ignored(team, out);
        const Real share = label < columns ? *gradLoss / static_cast<Real>(*counted) : Real(NAN);
        const T* in = logits + row * columns;
        if constexpr (std::is_same_v<T, Real>) {
            if (!accumulate)
                return once(team, in, out, label, share);
        }
        const auto moments = softmaxMoments(team, in, columns);
        const Real factor = share / moments.sum;
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            auto value = exponential(load(in, at) - moments.largest) * factor;
            subtractLabel(value, at, label, share);
            if (accumulate)
                value = value + load(out, at);
            store(out, at, value);
        });
    }

private:
    template <class P, class At>
    VERGENCE_HD void subtractLabel(P& value, At at, Index label, Real share) const
    {
        const Index place = label - at.first;
        if (place >= 0 && place < At::kSize)
            value[static_cast<int>(place)] -= share;
    }

    template <class Group>
    VERGENCE_HD void ignored(const Group& team, T* out) const
    {
        if (accumulate)
            return;
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            store(out, at, Pack<Real, decltype(at)::kSize>{});
        });
    }

    /// The exponentials wait in the result, so that each is taken once.
    template <class Group>
    VERGENCE_HD void once(const Group& team, const T* in, T* out, Index label, Real share) const
    {
        const Real largest = largestOfRow(team, in, columns);
        LaneSum<T> sum;
        team.template each<T, 4>(columns, [&](auto at) VERGENCE_INLINE {
            const auto e = exponential(load(in, at) - largest);
            store(out, at, e);
            sum.add(at, e);
        });
        const Real factor = share / team.total(sum);
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            auto value = load(out, at) * factor;
            subtractLabel(value, at, label, share);
            store(out, at, value);
        });
    }
};

void crossEntropyBody(Stream& stream, const CrossEntropyArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using Real = Accumulator<T>;
        Real* rowLoss = static_cast<Real*>(a.rowLoss);
        forEachRow<T>(stream, a.rows, a.columns,
                      RowLoss<T>{static_cast<const T*>(a.logits), a.labels, rowLoss, a.columns});
        forEachChunk<Real>(
            stream, 1,
            MeanLoss<Real>{rowLoss, a.labels, a.rows, a.counted, static_cast<Real*>(a.loss)});
    });
}

void crossEntropyBackwardBody(Stream& stream, const CrossEntropyArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using Real = Accumulator<T>;
        forEachRow<T>(stream, a.rows, a.columns,
                      CrossEntropyBackward<T>{static_cast<const T*>(a.logits), a.labels, a.counted,
                                              static_cast<const Real*>(a.gradLoss),
                                              static_cast<T*>(a.gradLogits), a.columns,
                                              a.accumulate});
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(crossEntropyKernel, crossEntropyBody)
VERGENCE_REGISTER_KERNEL(crossEntropyBackwardKernel, crossEntropyBackwardBody)

} // namespace vergence
