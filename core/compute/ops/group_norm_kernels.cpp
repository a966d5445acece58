#include "core/compute/ops/activation_math.h"
#include "core/compute/ops/column_sums.h"
#include "core/compute/ops/norm_kernels.h"

namespace vergence {

namespace {

/// How the pixels are cut and where a chunk's partial result of channel c of sample n lies.
struct GroupPlan {
    Index samples, pixels, channels, groups;
    bool channelsLast;
    RowChunks chunks; ///< of the pixels of one sample (channels last) or one plane

    explicit GroupPlan(const GroupNormArguments& a)
        : samples(a.samples),
          pixels(a.pixels),
          channels(a.channels),
          groups(a.groups),
          channelsLast(a.channelsLast),
          chunks(a.pixels, a.channelsLast ? a.channels : 1)
    {
    }
    Index partials() const { return samples * chunks.count * channels; }
    VERGENCE_HD Index partial(Index n, Index chunk, Index c) const
    {
        return channelsLast ? (n * chunks.count + chunk) * channels + c
                            : (n * channels + c) * chunks.count + chunk;
    }
};

/// Sum, and sum of squared differences from the chunk's own mean, per channel of one chunk.
template <class T>
struct ChunkMoments {
    using Real = Accumulator<T>;
    GroupPlan plan;
    const T* x;
    Real* sums;
    Real* squares;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index item) const
    {
        const Index chunk = item % plan.chunks.count, outer = item / plan.chunks.count;
        const Index first = plan.chunks.first(chunk), last = plan.chunks.last(chunk);
        const Real count = static_cast<Real>(last - first);
        if (!plan.channelsLast)
            return ofPlane(team, x + outer * plan.pixels + first, last - first, item);
        const T* pixels = x + (outer * plan.pixels + first) * plan.channels;
        team.template each<T>(plan.channels, [&](auto at) VERGENCE_INLINE {
            Pack<Real, decltype(at)::kSize> sum{}, square{};
            for (Index i = 0; i < last - first; ++i)
                sum += load(pixels + i * plan.channels, at);
            const auto mean = sum / count;
            for (Index i = 0; i < last - first; ++i) {
                const auto d = load(pixels + i * plan.channels, at) - mean;
                square += d * d;
            }
            store(sums + item * plan.channels, at, sum);
            store(squares + item * plan.channels, at, square);
        });
    }

private:
    template <class Group>
    VERGENCE_HD void ofPlane(const Group& team, const T* from, Index n, Index item) const
    {
        LaneSum<T> sum, square;
        team.template each<T, 4>(n, [&](auto at) VERGENCE_INLINE { sum.add(at, load(from, at)); });
        const Real total = team.total(sum), mean = total / static_cast<Real>(n);
        team.template each<T, 4>(n, [&](auto at) VERGENCE_INLINE {
            const auto d = load(from, at) - mean;
            square.add(at, d * d);
        });
        const Real spread = team.total(square);
        if (team.isFirst()) {
            sums[item] = total;
            squares[item] = spread;
        }
    }
};

/// Mean and 1/deviation of one group of one sample from its chunks.
template <class Real>
struct GroupMoments {
    GroupPlan plan;
    const Real* sums;
    const Real* squares;
    Real epsilon;
    Real* means; ///< [N, G]
    Real* rstds;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index item) const
    {
        const Index n = item / plan.groups, g = item % plan.groups;
        const Index width = plan.channels / plan.groups;
        const Real count = static_cast<Real>(plan.pixels * width);
        Real sum = 0;
        for (Index c = g * width; c < (g + 1) * width; ++c) {
            team.eachItem(plan.chunks.count, [&](Index chunk) VERGENCE_INLINE {
                sum += sums[plan.partial(n, chunk, c)];
            });
        }
        const Real mean = team.total(sum) / count;
        Real square = 0;
        for (Index c = g * width; c < (g + 1) * width; ++c) {
            team.eachItem(plan.chunks.count, [&](Index chunk) VERGENCE_INLINE {
                const Index i = plan.partial(n, chunk, c);
                const Real size =
                    static_cast<Real>(plan.chunks.last(chunk) - plan.chunks.first(chunk));
                const Real d = sums[i] / size - mean;
                square += squares[i] + size * d * d;
            });
        }
        const Real variance = team.total(square) / count;
        if (team.isFirst()) {
            means[item] = mean;
            rstds[item] = Real(1) / std::sqrt(variance + epsilon);
        }
    }
};

/// Weights of the channels of one sample, each [N, C].
template <class Real>
struct ChannelTables {
    Real* mean = nullptr;
    Real* scale = nullptr; ///< rstd · weight
    Real* shift = nullptr; ///< bias
    Real* rstd = nullptr;
    Real* slope = nullptr; ///< backward: factor of x − mean
    Real* level = nullptr; ///< backward: added
};

template <class T>
struct FillTables {
    using Real = Accumulator<T>;
    GroupPlan plan;
    const Real* means;
    const Real* rstds;
    WeightPointer<T> weight, bias;
    ChannelTables<Real> tables;

    VERGENCE_HD void operator()(Index i) const
    {
        const Index n = i / plan.channels, c = i % plan.channels;
        const Index group = n * plan.groups + c / (plan.channels / plan.groups);
        tables.mean[i] = means[group];
        tables.rstd[i] = rstds[group];
        tables.scale[i] = rstds[group] * weight.one(c, Real(1));
        tables.shift[i] = bias.one(c, Real(0));
    }
};

/// The coefficients of some channels of one row: packs where channels are innermost, one number for
/// all of a plane otherwise.
template <class Real, class At>
struct Coefficients {
    using P = Pack<Real, At::kSize>;
    const ChannelTables<Real>& tables;
    bool channelsLast;
    Index first; ///< of the row's channels in the tables
    At at;

    VERGENCE_HD P of(const Real* table) const
    {
        return channelsLast ? loadAs<Real>(table + first, at) : spread<P>(table[first]);
    }
};

/// Rows are pixels (channels last) or planes.
struct GroupRows {
    Index rows, columns;
    explicit GroupRows(const GroupPlan& plan)
        : rows(plan.samples * (plan.channelsLast ? plan.pixels : plan.channels)),
          columns(plan.channelsLast ? plan.channels : plan.pixels)
    {
    }
};

template <class T, bool silu, bool channelsLast>
struct ApplyGroupNorm {
    using Real = Accumulator<T>;
    GroupPlan plan;
    Index columns;
    const T* x;
    T* y;
    ChannelTables<Real> tables;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const T* in = x + row * columns;
        T* out = y + row * columns;
        const Index first = channelsLast ? row / plan.pixels * plan.channels : row;
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            const Coefficients<Real, decltype(at)> table{tables, channelsLast, first, at};
            auto value = (load(in, at) - table.of(tables.mean)) * table.of(tables.scale) +
                         table.of(tables.shift);
            if constexpr (silu)
                value = swish(value, Real(1));
            store(out, at, value);
        });
    }
};

/// Derivative with respect to what entered SiLU (or left the norm without it).
template <bool silu, class P>
VERGENCE_HD P innerGradient(P grad, P centred, P scale, P shift)
{
    if constexpr (silu)
        return grad * swishDerivative(centred * scale + shift, ScalarOf<P>(1));
    else
        return grad;
}

/// Σ g and Σ g x̂ per channel of one chunk. g is kept in `inner` unless that is null.
template <class T, bool silu>
struct ChunkGradients {
    using Real = Accumulator<T>;
    GroupPlan plan;
    const T* x;
    const T* gradY;
    ChannelTables<Real> tables;
    Real* plain;
    Real* products;
    Real* inner;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index item) const
    {
        const Index chunk = item % plan.chunks.count, outer = item / plan.chunks.count;
        const Index first = plan.chunks.first(chunk), last = plan.chunks.last(chunk);
        if (!plan.channelsLast)
            return ofPlane(team, outer, outer * plan.pixels + first, last - first, item);
        const Index start = (outer * plan.pixels + first) * plan.channels;
        const Index channel = outer * plan.channels;
        team.template each<T>(plan.channels, [&](auto at) VERGENCE_INLINE {
            using P = Pack<Real, decltype(at)::kSize>;
            const P mean = load(tables.mean + channel, at),
                    scale = load(tables.scale + channel, at);
            const P shift = load(tables.shift + channel, at),
                    rstd = load(tables.rstd + channel, at);
            P sum{}, product{};
            for (Index i = 0; i < last - first; ++i) {
                const Index place = start + i * plan.channels;
                const P d = load(x + place, at) - mean;
                const P g = innerGradient<silu>(load(gradY + place, at), d, scale, shift);
                if (inner)
                    store(inner + place, at, g);
                sum += g;
                product += g * (d * rstd);
            }
            store(plain + item * plan.channels, at, sum);
            store(products + item * plan.channels, at, product);
        });
    }

private:
    template <class Group>
    VERGENCE_HD void ofPlane(const Group& team, Index plane, Index start, Index n, Index item) const
    {
        const Real mean = tables.mean[plane], scale = tables.scale[plane];
        const Real shift = tables.shift[plane], rstd = tables.rstd[plane];
        LaneSum<T, 2> sum, product;
        team.template each<T, 4>(n, [&](auto at) VERGENCE_INLINE {
            using P = Pack<Real, decltype(at)::kSize>;
            const P d = load(x + start, at) - mean;
            const P g =
                innerGradient<silu>(load(gradY + start, at), d, spread<P>(scale), spread<P>(shift));
            if (inner)
                store(inner + start, at, g);
            sum.add(at, g);
            product.add(at, g * (d * rstd));
        });
        const Real total = team.total(sum), products2 = team.total(product);
        if (team.isFirst()) {
            plain[item] = total;
            products[item] = products2;
        }
    }
};

/// Sums the chunks of one group, channel by channel, and makes the coefficients of gradX.
template <class T>
struct GroupGradients {
    using Real = Accumulator<T>;
    GroupPlan plan;
    const Real* plain;
    const Real* products;
    WeightPointer<T> weight;
    ChannelTables<Real> tables;
    Real* plainTotals; ///< [N, C]
    Real* productTotals;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index item) const
    {
        const Index n = item / plan.groups, g = item % plan.groups;
        const Index width = plan.channels / plan.groups;
        Real first = 0, second = 0;
        for (Index c = g * width; c < (g + 1) * width; ++c) {
            Real sum = 0, product = 0;
            team.eachItem(plan.chunks.count, [&](Index chunk) VERGENCE_INLINE {
                sum += plain[plan.partial(n, chunk, c)];
                product += products[plan.partial(n, chunk, c)];
            });
            sum = team.total(sum);
            product = team.total(product);
            if (team.isFirst()) {
                plainTotals[n * plan.channels + c] = sum;
                productTotals[n * plan.channels + c] = product;
            }
            first += sum * weight.one(c, Real(1));
            second += product * weight.one(c, Real(1));
        }
        const Real count = static_cast<Real>(plan.pixels * width);
        team.eachItem(width, [&](Index i) VERGENCE_INLINE {
            const Index c = n * plan.channels + g * width + i;
            const Real rstd = tables.rstd[c];
            tables.slope[c] = -rstd * rstd * second / count;
            tables.level[c] = -rstd * first / count;
        });
    }
};

template <class T, bool silu, bool channelsLast>
struct ApplyGroupNormBackward {
    using Real = Accumulator<T>;
    GroupPlan plan;
    Index columns;
    const T* x;
    const T* gradY;
    T* gradX;
    bool accumulate;
    ChannelTables<Real> tables;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const T* in = x + row * columns;
        const T* grad = gradY + row * columns;
        T* out = gradX + row * columns;
        const Index first = channelsLast ? row / plan.pixels * plan.channels : row;
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            const Coefficients<Real, decltype(at)> table{tables, channelsLast, first, at};
            const auto d = load(in, at) - table.of(tables.mean);
            const auto scale = table.of(tables.scale);
            const auto g = innerGradient<silu>(load(grad, at), d, scale, table.of(tables.shift));
            auto value = scale * g + d * table.of(tables.slope) + table.of(tables.level);
            if (accumulate)
                value = value + load(out, at);
            store(out, at, value);
        });
    }
};

/// Memory of one call, cut from the stream's scratch.
template <class Real>
class Pieces {
public:
    Pieces(Stream& stream, Index numbers)
        : m_next(
              static_cast<Real*>(stream.scratch(static_cast<std::size_t>(numbers) * sizeof(Real))))
    {
    }
    Real* take(Index numbers)
    {
        Real* piece = m_next;
        m_next += numbers;
        return piece;
    }

private:
    Real* m_next;
};

template <class T>
void fillTables(Stream& stream, const GroupNormArguments& a, const GroupPlan& plan,
                const Accumulator<T>* means, const Accumulator<T>* rstds,
                const ChannelTables<Accumulator<T>>& tables)
{
    forEach(stream, a.samples * a.channels,
            FillTables<T>{plan, means, rstds, WeightPointer<T>(a.weight, a.wideWeight),
                          WeightPointer<T>(a.bias, a.wideBias), tables});
}

template <class T, bool silu>
void forwardAs(Stream& stream, const GroupNormArguments& a)
{
    using Real = Accumulator<T>;
    const GroupPlan plan(a);
    const Index numbers = a.samples * a.channels, groups = a.samples * a.groups;
    Pieces<Real> pieces(stream, 2 * plan.partials() + 4 * numbers + 2 * groups);
    Real* sums = pieces.take(plan.partials());
    Real* squares = pieces.take(plan.partials());
    ChannelTables<Real> tables;
    tables.mean = pieces.take(numbers);
    tables.scale = pieces.take(numbers);
    tables.shift = pieces.take(numbers);
    tables.rstd = pieces.take(numbers);
    Real* means = a.mean ? static_cast<Real*>(a.mean) : pieces.take(groups);
    Real* rstds = a.rstd ? static_cast<Real*>(a.rstd) : pieces.take(groups);
    const T* x = static_cast<const T*>(a.x);
    const Index outer = a.samples * (a.channelsLast ? 1 : a.channels);
    forEachChunk<T>(stream, outer * plan.chunks.count, ChunkMoments<T>{plan, x, sums, squares});
    forEachRow<Real>(
        stream, groups, plan.chunks.count * (a.channels / a.groups),
        GroupMoments<Real>{plan, sums, squares, static_cast<Real>(a.epsilon), means, rstds});
    fillTables<T>(stream, a, plan, means, rstds, tables);
    const GroupRows rows(plan);
    T* y = static_cast<T*>(a.y);
    if (a.channelsLast)
        forEachRow<T>(stream, rows.rows, rows.columns,
                      ApplyGroupNorm<T, silu, true>{plan, rows.columns, x, y, tables});
    else
        forEachRow<T>(stream, rows.rows, rows.columns,
                      ApplyGroupNorm<T, silu, false>{plan, rows.columns, x, y, tables});
}

template <class T, bool silu>
void applyBackward(Stream& stream, const GroupNormArguments& a, const GroupPlan& plan,
                   const T* gradY, const ChannelTables<Accumulator<T>>& tables)
{
    const GroupRows rows(plan);
    const T* x = static_cast<const T*>(a.x);
    T* gradX = static_cast<T*>(a.gradX);
    if (a.channelsLast)
        forEachRow<T>(stream, rows.rows, rows.columns,
                      ApplyGroupNormBackward<T, silu, true>{plan, rows.columns, x, gradY, gradX,
                                                            a.accumulate, tables});
    else
        forEachRow<T>(stream, rows.rows, rows.columns,
                      ApplyGroupNormBackward<T, silu, false>{plan, rows.columns, x, gradY, gradX,
                                                             a.accumulate, tables});
}

/// Where the gradient before SiLU may be kept between both passes: the derivative costs the CPU
/// more than the memory. Null where there is no room of its type.
template <class T, bool silu>
Accumulator<T>* placeOfInner([[maybe_unused]] const GroupNormArguments& a)
{
#if !defined(__CUDACC__)
    if constexpr (silu && std::is_same_v<T, Accumulator<T>>) {
        if (!a.accumulate && a.gradX != a.x)
            return static_cast<T*>(a.gradX);
    }
#endif
    return nullptr;
}

template <class T, bool silu>
void backwardAs(Stream& stream, const GroupNormArguments& a)
{
    using Real = Accumulator<T>;
    const GroupPlan plan(a);
    const Index numbers = a.samples * a.channels, groups = a.samples * a.groups;
    Pieces<Real> pieces(stream, 2 * plan.partials() + 8 * numbers);
    Real* plain = pieces.take(plan.partials());
    Real* products = pieces.take(plan.partials());
    ChannelTables<Real> tables;
    for (Real** table :
         {&tables.mean, &tables.scale, &tables.shift, &tables.rstd, &tables.slope, &tables.level})
        *table = pieces.take(numbers);
    Real* plainTotals = pieces.take(numbers);
    Real* productTotals = pieces.take(numbers);
    const T* x = static_cast<const T*>(a.x);
    const T* gradY = static_cast<const T*>(a.gradY);
    Real* inner = placeOfInner<T, silu>(a);
    fillTables<T>(stream, a, plan, static_cast<const Real*>(a.mean),
                  static_cast<const Real*>(a.rstd), tables);
    const Index outer = a.samples * (a.channelsLast ? 1 : a.channels);
    forEachChunk<T>(stream, outer * plan.chunks.count,
                    ChunkGradients<T, silu>{plan, x, gradY, tables, plain, products, inner});
    forEachRow<Real>(stream, groups, plan.chunks.count * (a.channels / a.groups),
                     GroupGradients<T>{plan, plain, products,
                                       WeightPointer<T>(a.weight, a.wideWeight), tables,
                                       plainTotals, productTotals});
    finishColumnSums<T>(stream, productTotals, a.gradWeight, 1, a.samples, a.channels, false);
    finishColumnSums<T>(stream, plainTotals, a.gradBias, 1, a.samples, a.channels, false);
    if (inner)
        applyBackward<T, false>(stream, a, plan, static_cast<const T*>(a.gradX), tables);
    else
        applyBackward<T, silu>(stream, a, plan, gradY, tables);
}

void groupNormBody(Stream& stream, const GroupNormArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if (a.silu)
            forwardAs<T, true>(stream, a);
        else
            forwardAs<T, false>(stream, a);
    });
}

void groupNormBackwardBody(Stream& stream, const GroupNormArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if (a.silu)
            backwardAs<T, true>(stream, a);
        else
            backwardAs<T, false>(stream, a);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(groupNormKernel, groupNormBody)
VERGENCE_REGISTER_KERNEL(groupNormBackwardKernel, groupNormBackwardBody)

} // namespace vergence
