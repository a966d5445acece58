#include <QTest>

#include <algorithm>
#include <cmath>

#include "core/compute/rng.h"
#include "plugins/sugar/compute/learning/optimiser.h"
#include "plugins/sugar/compute/moment_codec.h"
#include "tests/plugins/sugar/learning_support.h"
#include "tests/plugins/sugar/moment_rows.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;

namespace {

constexpr double kWordSpacing = 1.0 / 128, kByteSpacing = 1.0 / 8; ///< at most, of a root

/// The root that is kept for `moment`, rounded by the number of a place.
template <class Second>
double keptRoot(float moment, Index place)
{
    Second kept{};
    storeMoment2(&kept, moment, {12345, place});
    return std::sqrt(static_cast<double>(loadMoment2<float>(&kept)));
}

/// Roots over all octaves of the byte's range but the outermost.
std::vector<float> manyRoots()
{
    const Rng random(3);
    std::vector<float> roots(20'000);
    for (std::size_t i = 0; i < roots.size(); ++i)
        roots[i] = std::exp2(-30 + 30 * random.uniform(i));
    return roots;
}

/// Gaussians that learn from gradients of noise around a slope of their own, whose size differs
/// from number to number by five powers of ten.
struct Learner {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream = device->createStream();
    Gaussians gaussians;
    GaussianArrays gradients;
    AdamMoments moments;

    Learner(const std::shared_ptr<Device>& on, Index count, MomentFormat format) : device(on)
    {
        gaussians = upload(*stream, device, madeUpCloud(count, 3), count, 3);
        gradients = GaussianArrays::zeros(*stream, device, count, 3);
        moments = zeroMoments(*stream, device, count, 3, format);
    }

    void step(std::int64_t step, double visibleShare)
    {
        const Rng sizes(1), noise(2);
        std::uint64_t at = 0;
        for (const Tensor& group : gradients.groups()) {
            std::vector<float> values(static_cast<std::size_t>(group.size()));
            const auto width = static_cast<std::uint64_t>(group.size() / group.extent(0));
            for (std::uint64_t i = 0; i < values.size(); ++i, ++at) {
                const auto draw = (static_cast<std::uint64_t>(step) << 32) + at;
                const float size = std::pow(10.0F, -8 + 5 * sizes.uniform(at));
                const float slope = sizes.uniform(at + (1ULL << 32)) - 0.5F;
                const bool isSeen =
                    noise.uniform((static_cast<std::uint64_t>(step) << 32) + (1ULL << 31) +
                                  i / width) < static_cast<float>(visibleShare);
                values[i] = isSeen ? size * (0.5F * slope + noise.uniform(draw) - 0.5F) : 0.0F;
            }
            stream->copy(group.data(), values.data(), group.bytes());
        }
        AdamStep adam;
        adam.learningRate.fill(1e-3F);
        adam.step = step;
        adamUpdate(*stream, gaussians, gradients, moments.first, moments.second, adam, {}, 1e9);
    }
    std::vector<std::vector<float>> values() { return columnsOf(download(*stream, gaussians)); }
};

double rootMeanSquare(const std::vector<float>& a, const std::vector<float>& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    return std::sqrt(sum / static_cast<double>(a.size()));
}

} // namespace

/// Adam's moments in 16 and 8 bits.
class SugarMomentsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void roundTripKeepsToTheSpacing()
    {
        Index place = 0;
        for (const float root : manyRoots()) {
            const double wanted = static_cast<double>(root);
            const float square = root * root;
            ++place;
            QVERIFY(std::abs(keptRoot<BFloat16>(square, place) / wanted - 1) < kWordSpacing);
            QVERIFY(std::abs(keptRoot<std::uint8_t>(square, place) / wanted - 1) < kByteSpacing);
            BFloat16 first;
            for (const float sign : {-1.0F, 1.0F}) {
                storeMoment1(&first, sign * root);
                const auto kept = static_cast<double>(loadMoment1<float>(&first));
                QVERIFY(std::abs(kept / (sign * wanted) - 1) <= kWordSpacing / 2);
            }
        }
    }

    /// A root of 0 under a first moment that is not 0 would make a step without bounds.
    void rootsBeyondTheRangeAreCut()
    {
        for (Index place = 0; place < 100; ++place) {
            QCOMPARE(keptRoot<std::uint8_t>(0, place), 0.0);
            QCOMPARE(keptRoot<BFloat16>(0, place), 0.0);
            for (const float tiny : {1e-44F, 1e-30F, 1e-20F})
                QVERIFY(std::abs(keptRoot<std::uint8_t>(tiny, place) - 5.24e-10) < 1e-12);
            QCOMPARE(keptRoot<std::uint8_t>(100, place), 1.875);
            QVERIFY(keptRoot<BFloat16>(1e-36F, place) > 0);
        }
    }

    /// Within four standard deviations.
    void roundingKeepsTheMean()
    {
        constexpr Index kDraws = 100'000;
        for (const float root : {0.013F, 1.01e-5F, 3.3e-8F}) {
            double words = 0, bytes = 0;
            for (Index place = 0; place < kDraws; ++place) {
                words += keptRoot<BFloat16>(root * root, place);
                bytes += keptRoot<std::uint8_t>(root * root, place);
            }
            const double wanted = static_cast<double>(root);
            const double bound = 4 * 0.5 / std::sqrt(static_cast<double>(kDraws));
            QVERIFY(std::abs(words / kDraws / wanted - 1) < bound * kWordSpacing);
            QVERIFY(std::abs(bytes / kDraws / wanted - 1) < bound * kByteSpacing);
        }
    }

    /// The root falls by 0.05 % a step without gradients; to nearest it would not move.
    void rootsFadeThoughTheirSpacingIsWide()
    {
        constexpr int kSteps = 2'000;
        constexpr Index kNumbers = 2'000;
        double sum = 0;
        for (Index place = 0; place < kNumbers; ++place) {
            std::uint8_t kept = 0;
            storeMoment2(&kept, 1e-6F, {0, place});
            for (std::uint32_t step = 1; step <= kSteps; ++step) {
                const float moment = 0.999F * loadMoment2<float>(&kept);
                storeMoment2(&kept, moment, {step * 0x9e3779b9U, place});
            }
            sum += std::sqrt(static_cast<double>(loadMoment2<float>(&kept)));
        }
        const double wanted = 1e-3 * std::pow(0.999, kSteps / 2.0);
        const double got = sum / kNumbers;
        QVERIFY2(std::abs(got / wanted - 1) < 0.05, qPrintable(QString::number(got / wanted)));
    }

    void learningFollowsThatOfFullMoments_data()
    {
        QTest::addColumn<double>("visibleShare");
        QTest::newRow("always seen") << 1.0;
        QTest::newRow("seen in every tenth step") << 0.1;
    }
    void learningFollowsThatOfFullMoments()
    {
        QFETCH(double, visibleShare);
        const auto device = makeCpuDevice(2);
        Learner full(device, 40, MomentFormat::F32), compact(device, 40, MomentFormat::Compact);
        const auto start = full.values();
        for (std::int64_t step = 1; step <= 600; ++step) {
            full.step(step, visibleShare);
            compact.step(step, visibleShare);
        }
        const auto wanted = full.values(), got = compact.values();
        for (std::size_t group = 0; group < wanted.size(); ++group) {
            const double moved = rootMeanSquare(wanted[group], start[group]);
            const double off = rootMeanSquare(got[group], wanted[group]);
            const double bound = group == 5 ? 0.1 : 0.03;
            QVERIFY2(
                off < bound * moved,
                qPrintable(QString("group %1: %2 of what was moved").arg(group).arg(off / moved)));
        }
    }

    void bytesAreThoseOfTheFormat()
    {
        const auto device = makeCpuDevice(1);
        const auto stream = device->createStream();
        const auto bytes = [&](int degree, MomentFormat format) {
            const AdamMoments moments = zeroMoments(*stream, device, 1, degree, format);
            std::size_t sum = 0;
            for (const GaussianArrays* arrays : {&moments.first, &moments.second}) {
                for (const Tensor& tensor : arrays->groups())
                    sum += tensor.bytes();
            }
            return sum;
        };
        QCOMPARE(bytes(3, MomentFormat::F32), std::size_t{472});
        QCOMPARE(bytes(3, MomentFormat::Compact), std::size_t{191}); // 427 with 59 values
        QCOMPARE(bytes(1, MomentFormat::Compact), std::size_t{83});
        QCOMPARE(bytes(0, MomentFormat::Compact), std::size_t{56});
    }
};

VERGENCE_TEST(SugarMomentsTest)
#include "tst_sugar_moments.moc"
