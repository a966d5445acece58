#include "plugins/light_field/compute/vector_kernels.h"

#include "core/compute/launch.h"

namespace vergence::light_field {

namespace {

constexpr Index kGrain = 16384;

struct Weight {
    WeightArguments a;
    VERGENCE_HD void operator()(Index i) const
    {
        a.weights[i] = a.mask[i] > 0 ? a.roi : a.background;
    }
};

struct Laplacian {
    LaplacianArguments a;

    VERGENCE_HD void operator()(Index texel) const
    {
        const Index r = a.panel, column = texel % r, row = texel / r % r;
        for (int lane = 0; lane < a.lanes; ++lane) {
            const Index i = texel * a.lanes + lane;
            float difference = 0;
            if (column > 0)
                difference += a.z[i] - a.z[i - a.lanes];
            if (column + 1 < r)
                difference += a.z[i] - a.z[i + a.lanes];
            if (row > 0)
                difference += a.z[i] - a.z[i - r * a.lanes];
            if (row + 1 < r)
                difference += a.z[i] - a.z[i + r * a.lanes];
            a.out[i] = a.lambda * difference;
        }
    }
};

struct Combine {
    CombineArguments a;
    VERGENCE_HD void operator()(Index i) const
    {
        const int lane = static_cast<int>(i % a.lanes);
        // A factor of 0 must also clear what is not finite.
        const float kept = a.b.value[lane] == 0 ? 0.0f : a.b.value[lane] * a.y[i];
        a.y[i] = a.a.value[lane] * a.x[i] + kept;
    }
};

struct Divide {
    DivideArguments a;
    VERGENCE_HD void operator()(Index i) const
    {
        const float d = a.d[i / a.lanes];
        a.out[i] = d > 0 ? (a.x ? a.x[i] : 1.0f) / d : 0.0f;
    }
};

struct Product {
    DotArguments a;
    int lane;
    VERGENCE_HD double operator()(Index n) const
    {
        const Index i = n * a.lanes + lane;
        return static_cast<double>(a.x[i]) * static_cast<double>(a.y[i]) *
               (a.w ? static_cast<double>(a.w[n]) : 1.0);
    }
};

struct EnlargeTexel {
    EnlargeArguments a;

    VERGENCE_HD void operator()(Index texel) const
    {
        const int large = 2 * a.side;
        const int row = static_cast<int>(texel / large % large);
        const int column = static_cast<int>(texel % large);
        // The texel's nearer neighbour weighs ¾ along each axis, the farther one ¼.
        const int nearRow = row / 2, nearColumn = column / 2;
        const int farRow = clamped(nearRow + (row % 2 ? 1 : -1));
        const int farColumn = clamped(nearColumn + (column % 2 ? 1 : -1));
        const Index plane = texel / large / large * a.side;
        const float* near = a.x + (plane + nearRow) * a.side * a.lanes;
        const float* far = a.x + (plane + farRow) * a.side * a.lanes;
        for (int lane = 0; lane < a.lanes; ++lane) {
            const Index first = static_cast<Index>(nearColumn) * a.lanes + lane;
            const Index second = static_cast<Index>(farColumn) * a.lanes + lane;
            a.out[texel * a.lanes + lane] = 0.75f * (0.75f * near[first] + 0.25f * near[second]) +
                                            0.25f * (0.75f * far[first] + 0.25f * far[second]);
        }
    }

    VERGENCE_HD int clamped(int index) const
    {
        return index < 0 ? 0 : index >= a.side ? a.side - 1 : index;
    }
};

void weight(Stream& stream, const WeightArguments& a)
{
    forEach(stream, a.count, Weight{a}, kGrain);
}

void laplacian(Stream& stream, const LaplacianArguments& a)
{
    forEach(stream, a.texels, Laplacian{a}, kGrain);
}

void combine(Stream& stream, const CombineArguments& a)
{
    forEach(stream, a.count * a.lanes, Combine{a}, kGrain);
}

void divide(Stream& stream, const DivideArguments& a)
{
    forEach(stream, a.count * a.lanes, Divide{a}, kGrain);
}

void enlarge(Stream& stream, const EnlargeArguments& a)
{
    forEach(stream, a.planes * 4 * a.side * a.side, EnlargeTexel{a}, kGrain);
}

void dot(Stream& stream, const DotArguments& a)
{
    for (int lane = 0; lane < a.lanes; ++lane)
        a.sums[lane] = reduceSum(stream, a.count, Product{a, lane});
}

} // namespace

VERGENCE_REGISTER_KERNEL(weightKernel, weight)
VERGENCE_REGISTER_KERNEL(laplacianKernel, laplacian)
VERGENCE_REGISTER_KERNEL(combineKernel, combine)
VERGENCE_REGISTER_KERNEL(divideKernel, divide)
VERGENCE_REGISTER_KERNEL(enlargeKernel, enlarge)
VERGENCE_REGISTER_KERNEL(dotKernel, dot)

} // namespace vergence::light_field
