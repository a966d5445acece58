#include <QTest>

#include "core/compute/rng.h"
#include "plugins/mc_embedding/compute/moments.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using namespace vergence::test;

namespace {

constexpr Index kPasses = 20, kImages = 3, kDimensions = 37;

/// Features near 3 with a small spread, so that sums of raw squares would cancel.
std::vector<float> madeUpFeatures()
{
    std::vector<float> values(static_cast<std::size_t>(kPasses * kImages * kDimensions));
    const Rng random(5);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 3 + static_cast<float>(i % 11) + 1e-3f * random.uniform(i);
    return values;
}

struct Accumulated {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream = device->createStream();
    std::vector<float> features = madeUpFeatures();
    Moments moments;

    explicit Accumulated(const std::shared_ptr<Device>& on)
        : device(on),
          moments(*stream, tensor(0, 1).reshaped({kImages, kDimensions}))
    {
    }
    Tensor tensor(Index first, Index count) const
    {
        constexpr Index kSize = kImages * kDimensions;
        return Tensor::fromHost<float>(
            *stream, device, {count, kImages, kDimensions},
            std::span(features).subspan(static_cast<std::size_t>(first * kSize),
                                        static_cast<std::size_t>(count * kSize)));
    }
    void add(Index first, Index count) { moments.add(*stream, tensor(first, count)); }
};

/// Value of pass t, as it is or divided by its norm.
double valueOf(const std::vector<float>& features, Index pass, Index image, Index d, bool post)
{
    const auto at = [&](Index k) {
        return static_cast<double>(
            features[static_cast<std::size_t>((pass * kImages + image) * kDimensions + k)]);
    };
    double norm = 0;
    for (Index k = 0; k < kDimensions; ++k)
        norm += at(k) * at(k);
    return post ? at(d) / std::sqrt(norm) : at(d);
}

} // namespace

class TestMcMoments : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void varianceAndMeanAgreeWithWelford_data() { addDeviceRows(); }
    void varianceAndMeanAgreeWithWelford();
    void groupingPassesChangesNoBit_data() { addDeviceRows(); }
    void groupingPassesChangesNoBit();
    void savedStateContinues();
    void tooFewPassesAreRefused();
};

void TestMcMoments::varianceAndMeanAgreeWithWelford()
{
    VERGENCE_ROW_DEVICE(device);
    Accumulated all(device);
    all.add(0, kPasses);
    const auto state = all.moments.snapshot(*all.stream);
    QCOMPARE(state.passes, kPasses);
    for (const bool post : {false, true}) {
        std::vector<double> means, variances, traces(kImages);
        for (Index i = 0; i < kImages; ++i) {
            for (Index d = 0; d < kDimensions; ++d) {
                double mean = 0, squares = 0;
                for (Index t = 0; t < kPasses; ++t) {
                    const double value = valueOf(all.features, t, i, d, post), delta = value - mean;
                    mean += delta / static_cast<double>(t + 1);
                    squares += delta * (value - mean);
                }
                means.push_back(mean);
                variances.push_back(squares / (kPasses - 1));
                traces[static_cast<std::size_t>(i)] += variances.back() / kDimensions;
            }
        }
        const auto check = [](const std::vector<double>& got, const std::vector<double>& want,
                              double relative) {
            const std::string fault = difference(got, want, 1e-25, relative);
            QVERIFY2(fault.empty(), fault.c_str());
        };
        check(state.mean(post), means, 1e-12);
        // The spread is 3e-4 of values near 10, whose rounding in the reference is 1e-15.
        check(state.variance(post), variances, 1e-10);
        check(state.trace(post), traces, 1e-10);
        auto biased = variances;
        for (double& value : biased)
            value *= (kPasses - 1.0) / kPasses;
        check(state.variance(post, true), biased, 1e-10);
    }
}

void TestMcMoments::groupingPassesChangesNoBit()
{
    VERGENCE_ROW_DEVICE(device);
    Accumulated once(device), often(device);
    once.add(0, kPasses);
    for (Index t = 0; t < kPasses; t += 3)
        often.add(t, std::min<Index>(3, kPasses - t));
    const auto a = once.moments.snapshot(*once.stream), b = often.moments.snapshot(*often.stream);
    QVERIFY(a.sum == b.sum && a.squares == b.squares);
    QVERIFY(a.postSum == b.postSum && a.postSquares == b.postSquares);
}

void TestMcMoments::savedStateContinues()
{
    Accumulated whole(devices().devices.front()), first(whole.device), second(whole.device);
    whole.add(0, kPasses);
    first.add(0, 8);
    second.add(3, 2); // what restore() replaces
    second.moments.restore(*second.stream, first.moments.snapshot(*first.stream));
    second.add(8, kPasses - 8);
    const auto a = whole.moments.snapshot(*whole.stream),
               b = second.moments.snapshot(*second.stream);
    QCOMPARE(b.passes, kPasses);
    QVERIFY(a.sum == b.sum && a.squares == b.squares && a.postSquares == b.postSquares);
    second.moments.clear(*second.stream);
    QCOMPARE(second.moments.count(), Index{0});
}

void TestMcMoments::tooFewPassesAreRefused()
{
    Accumulated all(devices().devices.front());
    VERGENCE_THROWS(ContractError, "at least one pass",
                    all.moments.snapshot(*all.stream).mean(false));
    all.add(0, 1);
    VERGENCE_THROWS(ContractError, "at least two passes",
                    all.moments.snapshot(*all.stream).variance(false));
    QCOMPARE(all.moments.snapshot(*all.stream).variance(false, true).front(), 0.0);
    VERGENCE_THROWS(
        ContractError, "features are",
        all.moments.add(*all.stream, all.tensor(0, 2).reshaped({2, kDimensions, kImages})));
}

VERGENCE_TEST(TestMcMoments)
#include "tst_mc_moments.moc"
