#include <cmath>

#include "plugins/live_diffusion/engine/joined_norm_kernels.h"
#include "tests/core/compute/ops/ops_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::test;

namespace {

struct NormCase {
    Index pixels, channelsA, channelsB, groups;
    Index channels() const { return channelsA + channelsB; }
};

constexpr Index kImages = 2;
constexpr double kEpsilon = 1e-5;

/// Group norm of rows [images · pixels] of channels, in double.
Numbers reference(const NormCase& c, const Numbers& x, const Numbers& weight, const Numbers& bias)
{
    const Index width = c.channels() / c.groups;
    Numbers y(x.size());
    for (Index item = 0; item < kImages * c.groups; ++item) {
        const Index image = item / c.groups, group = item % c.groups;
        const auto each = [&](const auto& body) {
            for (Index pixel = image * c.pixels; pixel < (image + 1) * c.pixels; ++pixel) {
                for (Index channel = group * width; channel < (group + 1) * width; ++channel)
                    body(static_cast<std::size_t>(pixel * c.channels() + channel),
                         static_cast<std::size_t>(channel));
            }
        };
        const double count = static_cast<double>(c.pixels * width);
        double mean = 0, square = 0;
        each([&](std::size_t i, std::size_t) { mean += x[i] / count; });
        each([&](std::size_t i, std::size_t) { square += (x[i] - mean) * (x[i] - mean) / count; });
        each([&](std::size_t i, std::size_t channel) {
            y[i] = (x[i] - mean) / std::sqrt(square + kEpsilon) * weight[channel] + bias[channel];
        });
    }
    return y;
}

} // namespace

class TestLiveJoinedNorm : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void agreesWithDoubleAtRaggedSizes_data() { addPlaceAndTypeRows(); }
    void agreesWithDoubleAtRaggedSizes()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        if (kind.type == DType::F64)
            return; // is of images of the denoiser
        // One pixel, one channel, parts of packs, tiles that only one image reaches, many chunks.
        for (const NormCase& c : {NormCase{1, 4, 0, 2},
                                  {700, 1, 0, 1},
                                  {33, 5, 0, 5},
                                  {300, 48, 3, 3},
                                  {257, 8, 88, 32},
                                  {2100, 16, 16, 4},
                                  {600, 65, 2, 1}}) {
            const Index rows = kImages * c.pixels;
            bench.misaligned = c.channels() % 2 == 1;
            const Numbers a =
                roundedTo(kind.type, test::randomNumbers(rows * c.channelsA, 1, -1, 3));
            const Numbers b =
                roundedTo(kind.type, test::randomNumbers(rows * c.channelsB, 2, -2, 9));
            Numbers joined;
            for (Index row = 0; row < rows; ++row) {
                joined.insert(joined.end(), a.begin() + row * c.channelsA,
                              a.begin() + (row + 1) * c.channelsA);
                joined.insert(joined.end(), b.begin() + row * c.channelsB,
                              b.begin() + (row + 1) * c.channelsB);
            }
            const Numbers weight = roundedTo(DType::F32, test::randomNumbers(c.channels(), 3));
            const Numbers bias = roundedTo(DType::F32, test::randomNumbers(c.channels(), 4));
            const Tensor ta = bench.tensor({rows, c.channelsA}, a);
            const Tensor tb = bench.tensor({rows, c.channelsB}, b);
            const Tensor tw = bench.tensor({c.channels()}, weight, DType::F32);
            const Tensor tbias = bench.tensor({c.channels()}, bias, DType::F32);
            const Tensor y = bench.result({rows, c.channels()});
            const Tensor room =
                bench.result({joinedNormRoom(kImages, c.pixels, c.channels())}, DType::F32);
            JoinedNormArguments p;
            p.type = kind.type;
            p.images = kImages;
            p.pixels = c.pixels;
            p.channelsA = c.channelsA;
            p.channelsB = c.channelsB;
            p.a = ta.data();
            p.b = tb.data();
            p.y = y.data();
            p.weight = static_cast<const float*>(tw.data());
            p.bias = static_cast<const float*>(tbias.data());
            p.groups = c.groups;
            p.epsilon = kEpsilon;
            p.room = static_cast<float*>(room.data());
            joinedNorm(bench.stream(), p);
            VERGENCE_AGREES(difference(bench.numbers(y), reference(c, joined, weight, bias),
                                       8 * kind.accuracy, 8 * kind.accuracy));
            const Numbers first = bench.numbers(y);
            joinedNorm(bench.stream(), p);
            QCOMPARE(bench.numbers(y), first); // in a fixed order
        }
    }
};

VERGENCE_TEST(TestLiveJoinedNorm)
#include "tst_live_joined_norm.moc"
