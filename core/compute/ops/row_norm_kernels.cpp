#include "core/compute/ops/column_sums.h"
#include "core/compute/ops/norm_kernels.h"

namespace vergence {

namespace {

/// One row: LayerNorm (isCentred) or RMSNorm.
template <class T, bool isCentred>
struct RowNorm {
    using Real = Accumulator<T>;
    const T* x;
    const T* residual;
    T* sum;
    WeightPointer<T> weight, bias;
    T* y;
    Real* mean;
    Real* rstd;
    Index columns;
    Real epsilon;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const T* in = x + row * columns;
        if (residual) {
            addResidual(team, row);
            in = sum + row * columns;
        }
        const Real count = static_cast<Real>(columns);
        Real centre = 0;
        if constexpr (isCentred) {
            LaneSum<T> total;
            team.template each<T, 4>(columns,
                                     [&](auto at) VERGENCE_INLINE { total.add(at, load(in, at)); });
            centre = team.total(total) / count;
        }
        LaneSum<T> squares;
        team.template each<T, 4>(columns, [&](auto at) VERGENCE_INLINE {
            const auto d = load(in, at) - centre;
            squares.add(at, d * d);
        });
        const Real scale = Real(1) / std::sqrt(team.total(squares) / count + epsilon);
        T* out = y + row * columns;
        const bool isWeighted = weight.isThere(), isShifted = bias.isThere();
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            auto value = (load(in, at) - centre) * scale;
            if (isWeighted)
                value = value * weight.at(at, Real(1));
            if (isShifted)
                value = value + bias.at(at, Real(0));
            store(out, at, value);
        });
        if (team.isFirst()) {
            if (mean)
                mean[row] = centre;
            if (rstd)
                rstd[row] = scale;
        }
    }

private:
    template <class Group>
    VERGENCE_HD void addResidual(const Group& team, Index row) const
    {
        const Index first = row * columns;
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            store(sum + first, at, load(x + first, at) + load(residual + first, at));
        });
    }
};

/// The rows of one chunk, and the part of the weights' gradients that comes from them.
template <class T, bool isCentred>
struct RowNormBackward {
    using Real = Accumulator<T>;
    const T* x;
    const T* gradY;
    WeightPointer<T> weight;
    const Real* mean;
    const Real* rstd;
    T* gradX;
    bool accumulate;
    Real* weightSums; ///< [chunks, C]; null where not wanted
    Real* biasSums;
    RowChunks chunks;
    Index columns;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index chunk) const
    {
        clear(team, weightSums, chunk);
        clear(team, biasSums, chunk);
        for (Index row = chunks.first(chunk); row < chunks.last(chunk); ++row)
            oneRow(team, row, chunk);
    }

private:
    template <class Group>
    VERGENCE_HD void clear(const Group& team, Real* sums, Index chunk) const
    {
        if (!sums)
            return;
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            store(sums + chunk * columns, at, Pack<Real, decltype(at)::kSize>{});
        });
    }

    template <class Group>
    VERGENCE_HD void oneRow(const Group& team, Index row, Index chunk) const
    {
        const T* in = x + row * columns;
        const T* grad = gradY + row * columns;
        T* out = gradX + row * columns;
        const Real centre = isCentred ? mean[row] : Real(0), scale = rstd[row];
        const Real count = static_cast<Real>(columns);
        const bool isWeighted = weight.isThere();
        LaneSum<T, 2> plain, products;
        team.template each<T, 4>(columns, [&](auto at) VERGENCE_INLINE {
            auto t = load(grad, at);
            if (isWeighted)
                t = t * weight.at(at, Real(1));
            if constexpr (isCentred)
                plain.add(at, t);
            products.add(at, t * ((load(in, at) - centre) * scale));
        });
        const Real first = isCentred ? team.total(plain) / count : Real(0);
        const Real second = team.total(products) / count;
        Real* intoWeight = weightSums ? weightSums + chunk * columns : nullptr;
        Real* intoBias = biasSums ? biasSums + chunk * columns : nullptr;
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            const auto g = load(grad, at), normal = (load(in, at) - centre) * scale;
            auto t = isWeighted ? g * weight.at(at, Real(1)) : g;
            t = (t - first - normal * second) * scale;
            if (accumulate)
                t = t + load(out, at);
            store(out, at, t);
            if (intoWeight)
                store(intoWeight, at, loadAs<Real>(intoWeight, at) + g * normal);
            if (intoBias)
                store(intoBias, at, loadAs<Real>(intoBias, at) + g);
        });
    }
};

#if defined(__CUDACC__)
/// The part of the weights' gradients that comes from the rows of one chunk: in a pass of its own,
/// as rows are of many blocks.
template <class T>
struct WeightSums {
    using Real = Accumulator<T>;
    const T* x;
    const T* gradY;
    const Real* mean; ///< null: 0
    const Real* rstd;
    Real* weightSums; ///< [chunks, C]; null where not wanted
    Real* biasSums;
    RowChunks chunks;
    Index columns;

    VERGENCE_HD void operator()(const ColumnTeam& team, Index chunk) const
    {
        team.each<T>(columns, [&](auto at) {
            Pack<Real, decltype(at)::kSize> ofWeight{}, ofBias{};
            team.down(chunks.first(chunk), chunks.last(chunk), [&](Index row) {
                const auto g = load(gradY + row * columns, at);
                const Real centre = mean ? mean[row] : Real(0);
                ofWeight += g * ((load(x + row * columns, at) - centre) * rstd[row]);
                ofBias += g;
            });
            storeTotal(team, weightSums ? weightSums + chunk * columns : nullptr, at, ofWeight);
            storeTotal(team, biasSums ? biasSums + chunk * columns : nullptr, at, ofBias);
        });
    }
};
#endif

template <class T, bool isCentred>
void forwardAs(Stream& stream, const RowNormArguments& a)
{
    using Real = Accumulator<T>;
    forEachRow<T>(stream, a.rows, a.columns,
                  RowNorm<T, isCentred>{static_cast<const T*>(a.x),
                                        static_cast<const T*>(a.residual), static_cast<T*>(a.sum),
                                        WeightPointer<T>(a.weight, a.wideWeight),
                                        WeightPointer<T>(a.bias, a.wideBias), static_cast<T*>(a.y),
                                        static_cast<Real*>(a.mean), static_cast<Real*>(a.rstd),
                                        a.columns, static_cast<Real>(a.epsilon)});
}

template <class T, bool isCentred>
void backwardAs(Stream& stream, const RowNormArguments& a)
{
    using Real = Accumulator<T>;
#if defined(__CUDACC__)
    const ColumnChunks chunks(a.rows, a.columns);
#else
    const RowChunks chunks(a.rows, a.columns);
#endif
    const Index partials = chunks.count * a.columns;
    Real* scratch =
        static_cast<Real*>(stream.scratch(2 * static_cast<std::size_t>(partials) * sizeof(Real)));
    Real* weightSums = a.gradWeight ? scratch : nullptr;
    Real* biasSums = a.gradBias ? scratch + partials : nullptr;
    RowNormBackward<T, isCentred> backward{static_cast<const T*>(a.x),
                                           static_cast<const T*>(a.gradY),
                                           WeightPointer<T>(a.weight, a.wideWeight),
                                           static_cast<const Real*>(a.mean),
                                           static_cast<const Real*>(a.rstd),
                                           static_cast<T*>(a.gradX),
                                           a.accumulate,
                                           weightSums,
                                           biasSums,
                                           chunks,
                                           a.columns};
#if defined(__CUDACC__)
    if (weightSums || biasSums)
        forEachColumn<T>(stream, chunks.count, chunks.perChunk, a.columns,
                         WeightSums<T>{backward.x, backward.gradY,
                                       isCentred ? backward.mean : nullptr, backward.rstd,
                                       weightSums, biasSums, chunks, a.columns});
    backward.weightSums = backward.biasSums = nullptr;
    backward.chunks.perChunk = 1;
    forEachRow<T>(stream, a.rows, a.columns, backward);
#else
    forEachChunk<T>(stream, chunks.count, backward);
#endif
    finishColumnSums<T>(stream, weightSums, a.gradWeight, 1, chunks.count, a.columns, false);
    finishColumnSums<T>(stream, biasSums, a.gradBias, 1, chunks.count, a.columns, false);
}

void rowNormBody(Stream& stream, const RowNormArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if (a.isCentred)
            forwardAs<T, true>(stream, a);
        else
            forwardAs<T, false>(stream, a);
    });
}

void rowNormBackwardBody(Stream& stream, const RowNormArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if (a.isCentred)
            backwardAs<T, true>(stream, a);
        else
            backwardAs<T, false>(stream, a);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(rowNormKernel, rowNormBody)
VERGENCE_REGISTER_KERNEL(rowNormBackwardKernel, rowNormBackwardBody)

} // namespace vergence
