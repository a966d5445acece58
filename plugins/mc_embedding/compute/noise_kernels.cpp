#include "plugins/mc_embedding/compute/row_kernels.h"

#include "core/compute/ops/loops.h"

namespace vergence::mc_embedding {

namespace {

/// Four neighbours of a row, which share their random words.
template <class T>
struct NoiseRows {
    NoiseRowsArguments p;

    VERGENCE_HD void operator()(Index item) const
    {
        const Index quarters = p.columns / 4, row = item / quarters, quarter = item % quarters;
        const Index sequence = row / p.tokens, token = row % p.tokens;
        const FourNormals normal = fourNormals(p.seed, p.keys[sequence], p.site, Purpose::Noise,
                                               token * quarters + quarter);
        T* x = static_cast<T*>(p.x) + row * p.rowStride + quarter * 4;
        for (int i = 0; i < 4; ++i) {
            const double value = static_cast<Accumulator<T>>(x[i]);
            const double size = p.spread ? p.spread[sequence] : value;
            const double noisy = value + p.magnitude * size * normal.value[i];
            x[i] = static_cast<T>(static_cast<float>(noisy));
        }
    }
};

template <class T>
struct SpreadRows {
    SpreadRowsArguments p;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index sequence) const
    {
        const T* x = static_cast<const T*>(p.x) + sequence * p.tokens * p.rowStride;
        const Index count = p.tokens * p.columns;
        const auto value = [&](Index i) -> double {
            return static_cast<Accumulator<T>>(x[i / p.columns * p.rowStride + i % p.columns]);
        };
        double sum = 0;
        team.eachItem(count, [&](Index i) { sum += value(i); });
        const double centre = team.total(sum) / static_cast<double>(count);
        double squares = 0;
        team.eachItem(count, [&](Index i) {
            const double d = value(i) - centre;
            squares += d * d;
        });
        const double variance = team.total(squares) / static_cast<double>(count);
        if (team.isFirst())
            p.spread[sequence] = std::sqrt(variance);
    }
};

template <class Run>
void withComputeType(DType type, const Run& run)
{
    withFloatType(type, [&](auto tag) {
        if constexpr (!std::is_same_v<typename decltype(tag)::Type, double>)
            run(tag);
    });
}

void noiseRowsBody(Stream& stream, const NoiseRowsArguments& p)
{
    withComputeType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEach(stream, p.rows * (p.columns / 4), NoiseRows<T>{p}, 256);
    });
}

void spreadRowsBody(Stream& stream, const SpreadRowsArguments& p)
{
    withComputeType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachChunk<T>(stream, p.sequences, SpreadRows<T>{p});
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(noiseRows, noiseRowsBody)
VERGENCE_REGISTER_KERNEL(spreadRows, spreadRowsBody)

} // namespace vergence::mc_embedding
