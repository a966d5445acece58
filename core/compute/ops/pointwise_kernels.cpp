#include "core/compute/ops/pointwise_kernels.h"

#include "core/compute/ops/loops.h"

namespace vergence {

namespace {

template <class T>
struct Sum {
    const T* a;
    const T* b;
    T* y;
    Accumulator<T> alpha, beta;
    template <class At>
    VERGENCE_HD void operator()(At at) const
    {
        store(y, at, alpha * load<T>(a, at) + beta * load<T>(b, at));
    }
};

template <class T>
struct Scale {
    const T* a;
    T* y;
    Accumulator<T> alpha;
    template <class At>
    VERGENCE_HD void operator()(At at) const
    {
        store(y, at, alpha * load<T>(a, at));
    }
};

template <class T>
struct Product {
    const T* a;
    const T* b;
    T* y;
    template <class At>
    VERGENCE_HD void operator()(At at) const
    {
        store(y, at, load<T>(a, at) * load<T>(b, at));
    }
};

template <class T>
struct Fill {
    T* y;
    Accumulator<T> value;
    template <class At>
    VERGENCE_HD void operator()(At at) const
    {
        store(y, at, spread<Pack<Accumulator<T>, At::kSize>>(value));
    }
};

template <class T>
struct Affine {
    const T* x;
    WeightPointer<T> factor, shift;
    const T* residual;
    T* y;
    Index columns, rowsPerGroup;
    bool grouped;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        using Real = Accumulator<T>;
        const Index weights = grouped ? row / rowsPerGroup * columns : 0;
        const auto a = factor.from(weights), b = shift.from(weights);
        const T* in = x + row * columns;
        T* out = y + row * columns;
        const T* other = residual ? residual + row * columns : nullptr;
        const bool hasFactor = a.isThere(), hasShift = b.isThere();
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            auto value = load<T>(in, at);
            if (hasFactor)
                value = value * a.at(at, Real(1));
            if (hasShift)
                value = value + b.at(at, Real(0));
            if (other)
                value = value + load<T>(other, at);
            store(out, at, value);
        });
    }
};

void combineBody(Stream& stream, const CombineArguments& c)
{
    withFloatType(c.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using Real = Accumulator<T>;
        const T* a = static_cast<const T*>(c.a);
        const T* b = static_cast<const T*>(c.b);
        T* y = static_cast<T*>(c.y);
        const Real alpha = static_cast<Real>(c.alpha), beta = static_cast<Real>(c.beta);
        if (c.product)
            forEachPack<T>(stream, c.count, Product<T>{a, b, y});
        else if (b)
            forEachPack<T>(stream, c.count, Sum<T>{a, b, y, alpha, beta});
        else if (a)
            forEachPack<T>(stream, c.count, Scale<T>{a, y, alpha});
        else
            forEachPack<T>(stream, c.count, Fill<T>{y, alpha});
    });
}

void affineBody(Stream& stream, const AffineArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachRow<T>(
            stream, a.rows, a.columns,
            Affine<T>{static_cast<const T*>(a.x), WeightPointer<T>(a.factor, a.wideFactor),
                      WeightPointer<T>(a.shift, a.wideShift), static_cast<const T*>(a.residual),
                      static_cast<T*>(a.y), a.columns, a.rowsPerGroup, a.grouped});
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(combineKernel, combineBody)
VERGENCE_REGISTER_KERNEL(affineKernel, affineBody)

} // namespace vergence
