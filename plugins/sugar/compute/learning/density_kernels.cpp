#include "plugins/sugar/compute/learning/density_kernels.h"

#include <cstring>

#include "core/compute/launch.h"
#include "plugins/sugar/compute/learning/density_math.h"

namespace vergence::sugar {

namespace {

constexpr Index kGrain = 4096;

#if defined(__CUDACC__)
/// One number, as whole of its size.
struct Gather {
    GatherArguments p;

    VERGENCE_HD void operator()(Index i) const
    {
        const Index row = i / p.width, column = i % p.width;
        const Index from = static_cast<Index>(p.source[row]) * p.width + column;
        const bool isZero = p.isNew && p.isNew[row];
        if (p.size == sizeof(std::uint32_t))
            copy<std::uint32_t>(i, from, isZero);
        else if (p.size == sizeof(std::uint16_t))
            copy<std::uint16_t>(i, from, isZero);
        else
            copy<std::uint8_t>(i, from, isZero);
    }
    static Index items(const GatherArguments& p) { return p.rows * p.width; }

private:
    template <class T>
    VERGENCE_HD void copy(Index to, Index from, bool isZero) const
    {
        static_cast<T*>(p.to)[to] = isZero ? T(0) : static_cast<const T*>(p.from)[from];
    }
};
#else
/// One row.
struct Gather {
    GatherArguments p;

    void operator()(Index row) const
    {
        const Index bytes = static_cast<Index>(p.width) * p.size;
        std::byte* to = static_cast<std::byte*>(p.to) + row * bytes;
        const auto* from = static_cast<const std::byte*>(p.from) + p.source[row] * bytes;
        if (p.isNew && p.isNew[row])
            std::memset(to, 0, static_cast<std::size_t>(bytes));
        else
            std::memcpy(to, from, static_cast<std::size_t>(bytes));
    }
    static Index items(const GatherArguments& p) { return p.rows; }
};
#endif

struct Split {
    SplitArguments p;

    VERGENCE_HD void operator()(Index i) const
    {
        const Index row = p.first + i;
        float normal[3], r[9];
        threeNormals(p.seed, densityStream(DensityDraw::Split, p.step),
                     static_cast<std::uint64_t>(row), normal);
        rotationOfAny(p.rotation + 4 * row, r);
        for (int axis = 0; axis < 3; ++axis) {
            const float length = std::exp(p.logScale[3 * row + axis]) * normal[axis];
            for (int k = 0; k < 3; ++k)
                p.position[3 * row + k] += r[3 * k + axis] * length;
        }
        constexpr float kLogOfShrink = 0.470003629F; // ln 1.6
        for (int axis = 0; axis < 3; ++axis)
            p.logScale[3 * row + axis] -= kLogOfShrink;
        if (p.revisedOpacity)
            p.opacity[row] = halvedLogit(p.opacity[row]);
    }

    /// Logit of 1 − √(1 − o): with t = √(1 − o) that is ln((1 − t)/t).
    VERGENCE_HD static float halvedLogit(float logit)
    {
        const double t = std::sqrt(sigmoid(-static_cast<double>(logit)));
        return static_cast<float>(std::log((1 - t) / t));
    }
};

struct Noise {
    NoiseArguments p;

    VERGENCE_HD void operator()(Index row) const
    {
        const float gate = noiseGate(sigmoid(p.opacity[row]));
        if (gate < 1e-12F) // moves nothing by a bit that a float has
            return;
        float normal[3], offset[3];
        threeNormals(p.seed, densityStream(DensityDraw::Noise, p.step),
                     static_cast<std::uint64_t>(row), normal);
        timesCovariance(p.rotation + 4 * row, p.logScale + 3 * row, normal, offset);
        for (int k = 0; k < 3; ++k)
            p.position[3 * row + k] += p.amount * gate * offset[k];
    }
};

struct Limit {
    LimitArguments p;

    VERGENCE_HD void operator()(Index row) const
    {
        float limit = p.limit;
        if (p.filter)
            limit /= filteredShare(p.logScale + 3 * row, p.filter[row]);
        const float highest = limit < 1.0F ? logitOf(limit) : HUGE_VALF;
        if (p.opacity[row] > highest)
            p.opacity[row] = highest;
    }
};

struct Regularise {
    RegulariserArguments p;

    VERGENCE_HD void operator()(Index row) const
    {
        if (p.gradOpacity) {
            const float o = sigmoid(p.opacity[row]);
            p.gradOpacity[row] += p.opacityWeight * o * (1.0F - o);
        }
        if (p.gradLogScale) {
            for (Index i = 3 * row; i < 3 * row + 3; ++i)
                p.gradLogScale[i] += p.scaleWeight * std::exp(p.logScale[i]);
        }
    }
};

struct Opacity {
    const float* logit;
    VERGENCE_HD double operator()(Index i) const { return static_cast<double>(sigmoid(logit[i])); }
};

struct Scale {
    const float* logScale;
    VERGENCE_HD double operator()(Index i) const
    {
        return static_cast<double>(std::exp(logScale[i]));
    }
};

void gatherRowsBody(Stream& stream, const GatherArguments& p)
{
    forEach(stream, Gather::items(p), Gather{p}, kGrain);
}

void splitRowsBody(Stream& stream, const SplitArguments& p)
{
    forEach(stream, p.rows, Split{p}, 256);
}

void noiseOfRowsBody(Stream& stream, const NoiseArguments& p)
{
    forEach(stream, p.rows, Noise{p}, 512);
}

void limitOpacityBody(Stream& stream, const LimitArguments& p)
{
    forEach(stream, p.rows, Limit{p}, kGrain);
}

void regulariseRowsBody(Stream& stream, const RegulariserArguments& p)
{
    forEach(stream, p.rows, Regularise{p}, 512);
    p.values[0] = p.gradOpacity ? static_cast<double>(p.opacityWeight) *
                                      reduceSum(stream, p.rows, Opacity{p.opacity})
                                : 0;
    p.values[1] = p.gradLogScale ? static_cast<double>(p.scaleWeight) *
                                       reduceSum(stream, 3 * p.rows, Scale{p.logScale})
                                 : 0;
}

} // namespace

VERGENCE_REGISTER_KERNEL(gatherRows, gatherRowsBody)
VERGENCE_REGISTER_KERNEL(splitRows, splitRowsBody)
VERGENCE_REGISTER_KERNEL(noiseOfRows, noiseOfRowsBody)
VERGENCE_REGISTER_KERNEL(limitOpacity, limitOpacityBody)
VERGENCE_REGISTER_KERNEL(regulariseRows, regulariseRowsBody)

} // namespace vergence::sugar
