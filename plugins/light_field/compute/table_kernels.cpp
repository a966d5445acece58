#include "core/compute/launch.h"
#include "plugins/light_field/compute/partial_sums.h"
#include "plugins/light_field/compute/table_math.h"

namespace vergence::light_field {

namespace {

/// Fills one entry of the tables of both axes.
template <class Real>
struct BuildEntry {
    BuildArguments a;
    TableView<Real> t;

    VERGENCE_HD void write(const AxisView<Real>& view, Index at, const AxisRay& ray,
                           bool square) const
    {
        const double last = t.panel - 1;
        const double inside = ray.texel < 0 ? 0 : ray.texel > last ? last : ray.texel;
        const double u = a.floorsTexels ? __builtin_floor(inside) : inside;
        int first = static_cast<int>(u);
        first = first > t.panel - 2 ? t.panel - 2 : first;
        view.first[at] = first;
        view.alpha[at] = static_cast<Real>(u - first);
        view.lenslet2[at] = ray.isRejected() ? static_cast<Real>(HUGE_VALF)
                            : square         ? Real(0)
                                             : static_cast<Real>(ray.local * ray.local);
        view.aperture2[at] = static_cast<Real>(ray.position[1] * ray.position[1]);
    }

    VERGENCE_HD void operator()(Index at) const
    {
        const int index = static_cast<int>(at % t.resolution);
        const Index group = at / t.resolution;
        const RaySample sample = a.samples[group % t.samples];
        const EyeState eye = a.states[group / t.samples / t.planes];
        AxisOptics axis = a.axis;
        axis.accommodation = eye.accommodation / 1000;
        axis.inverseFocal = a.inverseFocals[group / t.samples % t.planes];
        axis.eye = eye.x;
        const double tx = pixelSlope(a.slopeExtent, t.resolution, index, sample.jitterX);
        write(t.x, at, traceAxis(axis, tx, sample.pupilX), a.squareLenslets);
        axis.eye = eye.y;
        const double ty = -pixelSlope(a.slopeExtent, t.resolution, index, sample.jitterY);
        write(t.y, at, traceAxis(axis, ty, sample.pupilY), a.squareLenslets);
    }
};

template <class Real>
void buildTables(Stream& stream, const BuildArguments& a, const TableView<Real>& tables)
{
    const Index entries =
        static_cast<Index>(tables.states) * tables.planes * tables.samples * tables.resolution;
    forEach(stream, entries, BuildEntry<Real>{a, tables}, 4096);
}

/// Counts the accepted rays of one pixel on one plane.
template <class Real>
struct PixelGain {
    TableView<Real> t;

    VERGENCE_HD void operator()(Index at) const
    {
        const Index w = t.resolution, column = at % w, row = at / w % w, layer = at / (w * w);
        int accepted = 0;
        for (int m = 0; m < t.samples; ++m) {
            const Index base = (layer * t.samples + m) * w;
            accepted += t.passes(base + row, base + column) ? 1 : 0;
        }
        t.gain[at] = accepted > 0 ? static_cast<Real>(t.samples) / static_cast<Real>(accepted) : 0;
    }
};

template <class Real>
void buildGains(Stream& stream, const TableView<Real>& tables)
{
    const Index w = tables.resolution, layers = static_cast<Index>(tables.states) * tables.planes;
    forEach(stream, layers * w * w, PixelGain<Real>{tables}, 4096);
}

template <class Real, int L>
struct ForwardPixel {
    ForwardArguments<Real> a;

    VERGENCE_HD void operator()(Index pixel) const
    {
        const Index w = a.tables.resolution;
        const int column = static_cast<int>(pixel % w), row = static_cast<int>(pixel / w % w);
        const int state = static_cast<int>(pixel / (w * w));
        const bool isMember = (row + state) % a.rows.count == a.rows.index;
        Real sum[L] = {};
        if (isMember)
            gatherPixel<Real, L>(a.tables, a.x, state, row, column, a.firstPlane, a.planeCount,
                                 sum);
        const Real weight = !isMember ? Real(0) : a.weights ? a.weights[pixel] : Real(1);
        for (int lane = 0; lane < L; ++lane) {
            const Real value = sum[lane] * a.tables.scale;
            if (isMember)
                a.images[pixel * L + lane] = value;
            if (a.target)
                a.residual[pixel * L + lane] = weight * (value - a.target[pixel * L + lane]);
        }
    }
};

/// Squared difference of one value, for the sums of a residual pass.
template <class Real>
struct SquaredResidual {
    ForwardArguments<Real> a;
    int lane;
    bool weighted;

    VERGENCE_HD double operator()(Index pixel) const
    {
        const Index w = a.tables.resolution, state = pixel / (w * w), row = pixel / w % w;
        if ((row + state) % a.rows.count != a.rows.index)
            return 0;
        const Index at = pixel * a.lanes + lane;
        const double difference =
            static_cast<double>(a.images[at]) - static_cast<double>(a.target[at]);
        return difference * difference *
               (weighted && a.weights ? static_cast<double>(a.weights[pixel]) : 1.0);
    }
};

template <class Real>
void forwardPlain(Stream& stream, const ForwardArguments<Real>& a)
{
    const Index w = a.tables.resolution, pixels = a.tables.states * w * w;
    withLanes(a.lanes,
              [&](auto lanes) { forEach(stream, pixels, ForwardPixel<Real, lanes()>{a}, 256); });
    for (int lane = 0; a.target && lane < a.lanes; ++lane) {
        reduceInto(stream, pixels, SquaredResidual<Real>{a, lane, false}, Plus{}, 0.0,
                   a.sums + lane);
        reduceInto(stream, pixels, SquaredResidual<Real>{a, lane, true}, Plus{}, 0.0,
                   a.sums + a.lanes + lane);
    }
}

inline constexpr Index kSumChunk = 64; ///< texels whose sums one item adds up

/// Gradient and update of kSumChunk texels in a row of memory.
template <class Real, int L>
struct AdjointTexels {
    AdjointArguments<Real> a;
    TexelSums* partial;
    Index texels;

    VERGENCE_HD void operator()(Index chunk) const
    {
        TexelSums sums{};
        const Index last = (chunk + 1) * kSumChunk < texels ? (chunk + 1) * kSumChunk : texels;
        for (Index texel = chunk * kSumChunk; texel < last; ++texel) {
            const Index r = a.tables.panel, inPlane = texel % (r * r);
            Real sum[L] = {};
            gatherTexel<Real, L>(a, static_cast<int>(texel / (r * r)),
                                 static_cast<int>(inPlane / r), static_cast<int>(inPlane % r), sum);
            for (int lane = 0; lane < L; ++lane)
                updateValue<Real>(a.update, texel, L, lane, sum[lane] * a.tables.scale, sums);
        }
        partial[chunk] = sums;
    }
};

template <class Real>
void adjointPlain(Stream& stream, const AdjointArguments<Real>& a)
{
    const Index r = a.tables.panel, texels = a.tables.planes * r * r,
                chunks = (texels + kSumChunk - 1) / kSumChunk;
    const Temporary memory(stream, chunks, sizeof(TexelSums));
    auto* partial = static_cast<TexelSums*>(memory.data());
    withLanes(a.lanes, [&](auto lanes) {
        forEach(stream, chunks, AdjointTexels<Real, lanes()>{a, partial, texels}, 4);
    });
    reduceInto(stream, chunks, ReadTexelSums{partial}, AddTexelSums{}, TexelSums{}, a.sums);
}

void buildTablesFloat(Stream& stream, const BuildArguments& a, const TableView<float>& tables)
{
    buildTables(stream, a, tables);
}

void buildTablesDouble(Stream& stream, const BuildArguments& a, const TableView<double>& tables)
{
    buildTables(stream, a, tables);
}

void buildGainsFloat(Stream& stream, const TableView<float>& tables)
{
    buildGains(stream, tables);
}

void buildGainsDouble(Stream& stream, const TableView<double>& tables)
{
    buildGains(stream, tables);
}

void forwardPlainFloat(Stream& stream, const ForwardArguments<float>& a)
{
    forwardPlain(stream, a);
}

void forwardPlainDouble(Stream& stream, const ForwardArguments<double>& a)
{
    forwardPlain(stream, a);
}

void adjointPlainFloat(Stream& stream, const AdjointArguments<float>& a)
{
    adjointPlain(stream, a);
}

void adjointPlainDouble(Stream& stream, const AdjointArguments<double>& a)
{
    adjointPlain(stream, a);
}

} // namespace

VERGENCE_REGISTER_KERNEL(buildTablesF32, buildTablesFloat)
VERGENCE_REGISTER_KERNEL(buildTablesF64, buildTablesDouble)
VERGENCE_REGISTER_KERNEL(buildGainsF32, buildGainsFloat)
VERGENCE_REGISTER_KERNEL(buildGainsF64, buildGainsDouble)
VERGENCE_REGISTER_KERNEL(forwardPlainF32, forwardPlainFloat)
VERGENCE_REGISTER_KERNEL(forwardPlainF64, forwardPlainDouble)
VERGENCE_REGISTER_KERNEL(adjointPlainF32, adjointPlainFloat)
VERGENCE_REGISTER_KERNEL(adjointPlainF64, adjointPlainDouble)

} // namespace vergence::light_field
