#include "plugins/foveated_vlm/encoder/look_kernels.h"

#include <cmath>

#include "core/compute/ops/fast_math.h"
#include "core/compute/ops/loops.h"

namespace vergence::fvlm {

namespace {

/// Row of a kernel over queries and heads.
struct HeadRow {
    Index query, head, frame;

    VERGENCE_HD HeadRow(const LookProblem& p, Index row)
        : query(row / p.heads),
          head(row % p.heads),
          frame(p.frameOf ? p.frameOf[query] : query)
    {
    }
    /// First number of the head of a query in [M, H · d].
    template <class T>
    VERGENCE_HD T* of(const LookProblem& p, T* queries) const
    {
        return queries + (query * p.heads + head) * p.headSize;
    }
    /// First number of the head of row 0.
    template <class T>
    VERGENCE_HD const T* in(const LookProblem& p, const FrameRows& rows) const
    {
        return static_cast<const T*>(rows.data) + frame * rows.frame + head * p.headSize;
    }
};

template <class T>
VERGENCE_HD Accumulator<T> dot(const T* a, const T* b, Index size)
{
    constexpr int N = kPackSize<T>;
    PackFor<T> sum{};
    Index i = 0;
    for (; i + N <= size; i += N) {
        const Lanes<N, true> at{i, N};
        sum += load<T>(a, at) * load<T>(b, at);
    }
    for (int step = N / 2; step > 0; step /= 2) {
        for (int lane = 0; lane < step; ++lane)
            sum[lane] += sum[lane + step];
    }
    Accumulator<T> total = sum[0];
    for (; i < size; ++i)
        total += static_cast<Accumulator<T>>(a[i]) * static_cast<Accumulator<T>>(b[i]);
    return total;
}

/// Products of x with the rows that a pack of logits stands for.
template <class T, class At>
VERGENCE_HD auto products(const LookProblem& p, const T* x, const T* rows, Index stride, At at)
{
    Pack<Accumulator<T>, At::kSize> result{};
    for (int i = 0; i < At::kSize; ++i) {
        if (i < at.count)
            result[i] = dot(x, rows + (at.first + i) * stride, p.headSize);
    }
    return result;
}

template <class T>
struct Logits {
    using Real = Accumulator<T>;
    LookLogitsArguments a;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const HeadRow at(a.problem, row);
        const T* q = at.of(a.problem, static_cast<const T*>(a.q));
        const T* keys = at.in<T>(a.problem, a.keys);
        Real* logits = static_cast<Real*>(a.logits) + row * a.problem.seen;
        const Real scale = static_cast<Real>(a.problem.scale);
        team.template each<Real>(a.problem.seen, [&](auto n) VERGENCE_INLINE {
            store(logits, n, products<T>(a.problem, q, keys, a.keys.row, n) * scale);
        });
    }
};

/// One logit.
template <class Real>
struct KeepLargest {
    KeepLargestArguments a;

    VERGENCE_HD void operator()(Index item) const
    {
        const Index row = item / a.columns, column = item % a.columns;
        const Real* logits = static_cast<const Real*>(a.logits) + row * a.columns;
        const Real own = logits[column];
        Index before = 0;
        for (Index n = 0; n < a.columns; ++n)
            before += logits[n] > own || (logits[n] == own && n < column) ? 1 : 0;
        static_cast<Real*>(a.kept)[item] = before < a.count ? own : -Real(HUGE_VAL);
    }
};

template <class T>
struct Mix {
    using Real = Accumulator<T>;
    LookMixArguments a;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const LookProblem& p = a.problem;
        const HeadRow at(p, row);
        const T* rows = at.in<T>(p, a.rows);
        const Real* weights = static_cast<const Real*>(a.weights) + row * p.seen;
        T* y = at.of(p, static_cast<T*>(a.y));
        team.template each<T>(p.headSize, [&](auto j) VERGENCE_INLINE {
            using P = Pack<Real, decltype(j)::kSize>;
            P even{}, odd{};
            Index n = 0;
            for (; n + 1 < p.seen; n += 2) {
                even += load<T>(rows + n * a.rows.row, j) * weights[n];
                odd += load<T>(rows + (n + 1) * a.rows.row, j) * weights[n + 1];
            }
            if (n < p.seen)
                even += load<T>(rows + n * a.rows.row, j) * weights[n];
            even += odd;
            if (a.accumulate)
                even += load<T>(y, j);
            store(y, j, even);
        });
    }
};

/// ln p, with 0 ln 0 = 0 in mind: never infinite.
template <class R>
VERGENCE_HD R boundedLogarithm(R p)
{
    return logarithm(atLeast(p, 1e-37f));
}

template <class T>
struct Entropy {
    using Real = Accumulator<T>;
    LookEntropyArguments a;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const Real* weights = static_cast<const Real*>(a.weights) + row * a.problem.seen;
        LaneSum<Real, 1> sum;
        team.template each<Real>(a.problem.seen, [&](auto n) VERGENCE_INLINE {
            const auto p = load<Real>(weights, n);
            sum.add(n, p * boundedLogarithm(p));
        });
        const Real total = team.total(sum);
        if (team.isFirst())
            static_cast<Real*>(a.entropy)[row] = -total;
    }
};

template <class T>
struct Gradient {
    using Real = Accumulator<T>;
    LookGradientArguments a;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const LookProblem& p = a.problem;
        const HeadRow at(p, row);
        const T* gradO = at.of(p, static_cast<const T*>(a.gradO));
        const T* values = at.in<T>(p, a.values);
        const Real* weights = static_cast<const Real*>(a.weights) + row * p.seen;
        Real* gradient = static_cast<Real*>(a.gradLogits) + row * p.seen;
        const Real gradEntropy =
            a.gradEntropy ? static_cast<const Real*>(a.gradEntropy)[row] : Real(0);
        LaneSum<Real, 1> sum;
        team.template each<Real>(p.seen, [&](auto n) VERGENCE_INLINE {
            auto gradP = products<T>(p, gradO, values, a.values.row, n);
            if (a.gradEntropy)
                gradP = gradP - boundedLogarithm(load<Real>(weights, n)) * gradEntropy;
            store(gradient, n, gradP);
            sum.add(n, load<Real>(weights, n) * gradP);
        });
        const Real mean = team.total(sum), scale = static_cast<Real>(p.scale);
        team.template each<Real>(p.seen, [&](auto n) VERGENCE_INLINE {
            store(gradient, n, load<Real>(weights, n) * (load<Real>(gradient, n) - mean) * scale);
        });
    }
};

/// From the first to after the last query at a frame.
struct QueryRange {
    Index first = 0, last = 0;
};

VERGENCE_HD QueryRange queriesAt(const LookGradient& look, Index frame)
{
    if (!look.frameOf)
        return {frame, frame + 1};
    QueryRange range;
    for (Index m = 0; m < look.queries; ++m) {
        if (look.frameOf[m] == frame)
            range = {range.last == 0 ? m : range.first, m + 1};
    }
    return range;
}

/// One row of keys and values of one frame.
template <class T>
struct Keys {
    using Real = Accumulator<T>;
    LookKeysArguments a;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index item) const
    {
        const LookProblem& p = a.problem;
        const Index frame = item / a.rows, row = item % a.rows, n = row - a.firstRow;
        const bool isSeen = n >= 0 && n < p.seen;
        if (!isSeen && a.accumulate)
            return;
        const auto place = [&](const FrameRows& rows) {
            return static_cast<T*>(rows.data) + frame * rows.frame + row * rows.row;
        };
        T *gradKeys = place(a.gradKeys), *gradValues = place(a.gradValues);
        QueryRange range[LookGradients::kMost];
        for (int i = 0; isSeen && i < a.looks.count; ++i)
            range[i] = queriesAt(a.looks.look[i], frame);
        for (Index head = 0; head < p.heads; ++head) {
            const Index first = head * p.headSize;
            team.template each<T>(p.headSize, [&](auto j) VERGENCE_INLINE {
                using P = Pack<Real, decltype(j)::kSize>;
                P keys{}, values{};
                for (int i = 0; isSeen && i < a.looks.count; ++i)
                    addLook(a.looks.look[i], range[i], frame, head, n, j, keys, values);
                put(gradKeys + first, gradValues + first, j, keys, values);
            });
        }
    }

    template <class At, class P>
    VERGENCE_HD void addLook(const LookGradient& look, QueryRange range, Index frame, Index head,
                             Index n, At j, P& keys, P& values) const
    {
        const LookProblem& p = a.problem;
        for (Index m = range.first; m < range.last; ++m) {
            if (look.frameOf && look.frameOf[m] != frame)
                continue;
            const Index at = m * p.heads + head, weight = at * p.seen + n;
            keys += load<T>(static_cast<const T*>(look.q) + at * p.headSize, j) *
                    static_cast<const Real*>(look.gradLogits)[weight];
            values += load<T>(static_cast<const T*>(look.gradO) + at * p.headSize, j) *
                      static_cast<const Real*>(look.weights)[weight];
        }
    }

    template <class At, class P>
    VERGENCE_HD void put(T* gradKeys, T* gradValues, At j, P keys, P values) const
    {
        if (gradKeys == gradValues) {
            keys += values;
        } else {
            if (a.accumulate)
                values += load<T>(gradValues, j);
            store(gradValues, j, values);
        }
        if (a.accumulate)
            keys += load<T>(gradKeys, j);
        store(gradKeys, j, keys);
    }
};

template <template <class> class Rows, class Arguments>
void runRows(Stream& stream, const Arguments& a, Index rows, Index columns)
{
    withFloatType(a.problem.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachRow<T>(stream, rows, columns, Rows<T>{a});
    });
}

Index headRows(const LookProblem& p)
{
    return p.queries * p.heads;
}

void logitsBody(Stream& stream, const LookLogitsArguments& a)
{
    runRows<Logits>(stream, a, headRows(a.problem), a.problem.seen * 4);
}

void mixBody(Stream& stream, const LookMixArguments& a)
{
    runRows<Mix>(stream, a, headRows(a.problem), a.problem.seen * 4);
}

void gradientBody(Stream& stream, const LookGradientArguments& a)
{
    runRows<Gradient>(stream, a, headRows(a.problem), a.problem.seen * 4);
}

void entropyBody(Stream& stream, const LookEntropyArguments& a)
{
    runRows<Entropy>(stream, a, headRows(a.problem), a.problem.seen * 4);
}

void keysBody(Stream& stream, const LookKeysArguments& a)
{
    runRows<Keys>(stream, a, a.problem.frames * a.rows, 2 * a.problem.width());
}

void keepLargestBody(Stream& stream, const KeepLargestArguments& a)
{
    if (a.type == DType::F64)
        forEach(stream, a.rows * a.columns, KeepLargest<double>{a}, 64);
    else
        forEach(stream, a.rows * a.columns, KeepLargest<float>{a}, 64);
}

} // namespace

VERGENCE_REGISTER_KERNEL(lookLogits, logitsBody)
VERGENCE_REGISTER_KERNEL(lookMix, mixBody)
VERGENCE_REGISTER_KERNEL(lookGradient, gradientBody)
VERGENCE_REGISTER_KERNEL(lookEntropy, entropyBody)
VERGENCE_REGISTER_KERNEL(lookKeys, keysBody)
VERGENCE_REGISTER_KERNEL(keepLargest, keepLargestBody)

} // namespace vergence::fvlm
