#include "plugins/mc_embedding/compute/moment_kernels.h"

#include "core/compute/ops/loops.h"

namespace vergence::mc_embedding {

namespace {

struct FeatureNorms {
    FeatureNormArguments p;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const float* x = p.features + row * p.dimensions;
        double sum = 0;
        team.eachItem(p.dimensions, [&](Index d) {
            const double value = x[d];
            sum += value * value;
        });
        const double norm = std::sqrt(team.total(sum));
        if (team.isFirst())
            p.norms[row] = norm > 1e-12 ? norm : 1e-12;
    }
};

struct MomentShifts {
    MomentShiftArguments p;

    VERGENCE_HD void operator()(Index i) const
    {
        const double value = p.features[i];
        p.shift[i] = value;
        p.postShift[i] = value / p.norms[i / p.dimensions];
    }
};

struct AddMoments {
    MomentArguments p;

    VERGENCE_HD void operator()(Index i) const
    {
        const Index size = p.images * p.dimensions, image = i / p.dimensions;
        const double shift = p.shift[i], postShift = p.postShift[i];
        double sum = p.sums[i], squares = p.sums[size + i];
        double postSum = p.sums[2 * size + i], postSquares = p.sums[3 * size + i];
        for (Index pass = 0; pass < p.passes; ++pass) {
            const double value = p.features[pass * size + i];
            const double d = value - shift;
            const double post = value / p.norms[pass * p.images + image] - postShift;
            sum += d;
            squares += d * d;
            postSum += post;
            postSquares += post * post;
        }
        p.sums[i] = sum;
        p.sums[size + i] = squares;
        p.sums[2 * size + i] = postSum;
        p.sums[3 * size + i] = postSquares;
    }
};

void featureNormsBody(Stream& stream, const FeatureNormArguments& p)
{
    forEachRow<float>(stream, p.rows, p.dimensions, FeatureNorms{p});
}

void momentShiftsBody(Stream& stream, const MomentShiftArguments& p)
{
    forEach(stream, p.images * p.dimensions, MomentShifts{p});
}

void addMomentsBody(Stream& stream, const MomentArguments& p)
{
    forEach(stream, p.images * p.dimensions, AddMoments{p}, 256);
}

} // namespace

VERGENCE_REGISTER_KERNEL(featureNorms, featureNormsBody)
VERGENCE_REGISTER_KERNEL(momentShifts, momentShiftsBody)
VERGENCE_REGISTER_KERNEL(addMoments, addMomentsBody)

} // namespace vergence::mc_embedding
