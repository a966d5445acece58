#include "plugins/sugar/compute/alignment/depth_normal_kernels.h"

#include "core/compute/launch.h"

namespace vergence::sugar {

namespace {

/// Runs body(row, column) for all pixels.
template <class Body>
struct EachPixel {
    Index width;
    Body body;

#if defined(__CUDACC__)
    VERGENCE_HD void operator()(Index i) const
    {
        body(i / width, i % width);
    }
#else
    void operator()(Index row) const
    {
        for (Index column = 0; column < width; ++column)
            body(row, column);
    }
#endif
};

template <class Body>
void forEachPixel(Stream& stream, Index height, Index width, const Body& body)
{
#if defined(__CUDACC__)
    forEach(stream, height * width, EachPixel<Body>{width, body});
#else
    forEach(stream, height, EachPixel<Body>{width, body}, 8);
#endif
}

struct Expect {
    DepthNormalArguments p;

    VERGENCE_HD void operator()(Index row, Index column) const
    {
        const Index i = row * p.width + column;
        p.expected[i] = p.isSummed
                            ? p.depth[i]
                            : ExpectedDepth<float>(p.depth[i], 1.0F - p.transmittance[i]).value;
    }
};

VERGENCE_HD DepthNormalTerm<float> termOf(const DepthNormalArguments& p)
{
    return {p.rays, View<const float, 2>(p.expected, p.height, p.width),
            View<const float, 2>(p.transmittance, p.height, p.width),
            View<const float, 3>(p.normal, Index{3}, p.height, p.width)};
}

VERGENCE_HD SummedDepthNormalTerm<float> summedTermOf(const DepthNormalArguments& p)
{
    return {p.rays, View<const float, 2>(p.expected, p.height, p.width),
            View<const float, 3>(p.normal, Index{3}, p.height, p.width)};
}

struct Evaluate {
    DepthNormalArguments p;

    VERGENCE_HD void operator()(Index row, Index column) const
    {
        DepthNormalGradient<float> gradient;
        const Index i = row * p.width + column;
        p.values[i] = p.isSummed ? summedTermOf(p).evaluate(row, column, gradient)
                                 : termOf(p).evaluate(row, column, gradient);
        p.gradients[i] = gradient;
    }
};

struct Backward {
    DepthNormalArguments p;
    float factor;

    VERGENCE_HD void operator()(Index row, Index column) const
    {
        const Index i = row * p.width + column, pixels = p.height * p.width;
        const ExpectedDepth<float> expected(p.depth[i], 1.0F - p.transmittance[i]);
        const DepthNormalGradient<float>* gradients = p.gradients;
        const Index width = p.width;
        const float grad =
            factor * gradDepthFrom(p.rays, p.height, width, row, column,
                                   [=](Index r, Index c) { return gradients[r * width + c]; });
        p.gradDepth[i] = p.isSummed ? grad : expected.gradDepth(grad);
        p.gradCoverage[i] = p.isSummed ? 0.0F : expected.gradCoverage(grad);
        for (int k = 0; k < 3; ++k)
            p.gradNormal[k * pixels + i] = factor * gradients[i].normal[k];
    }
};

struct Value {
    const float* values;
    VERGENCE_HD double operator()(Index i) const { return static_cast<double>(values[i]); }
};

struct IsCounted {
    const DepthNormalGradient<float>* gradients;
    VERGENCE_HD double operator()(Index i) const
    {
        const float* n = gradients[i].normal;
        return n[0] != 0 || n[1] != 0 || n[2] != 0;
    }
};

void depthNormalGradientBody(Stream& stream, const DepthNormalArguments& p)
{
    forEachPixel(stream, p.height, p.width, Expect{p});
    forEachPixel(stream, p.height, p.width, Evaluate{p});
    const Index pixels = p.height * p.width;
    const double count = p.isSummed ? static_cast<double>(pixels)
                                    : reduceSum(stream, pixels, IsCounted{p.gradients});
    const double sum = reduceSum(stream, pixels, Value{p.values});
    *p.count = static_cast<Index>(count);
    *p.mean = count > 0 ? sum / count : 0;
    const auto factor = static_cast<float>(count > 0 ? p.weight / count : 0);
    forEachPixel(stream, p.height, p.width, Backward{p, factor});
}

} // namespace

VERGENCE_REGISTER_KERNEL(depthNormalGradient, depthNormalGradientBody)

} // namespace vergence::sugar
