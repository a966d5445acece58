#include <algorithm>
#include <cmath>
#include <vector>

#include <QTest>

#include "core/base/error.h"
#include "core/compute/backend.h"
#include "core/compute/ops/host_numbers.h"
#include "core/compute/ops/random.h"
#include "plugins/foveated_vlm/train/bootstrap.h"
#include "plugins/foveated_vlm/train/gaze_measures.h"
#include "plugins/foveated_vlm/train/query_controls.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using test::isClose;

namespace {

} // namespace

class TestMeasures : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Specification, sections 12 and 16.1.
    void uniformAttentionHasItsPublishedEntropy_data()
    {
        QTest::addColumn<int>("tokens");
        QTest::addColumn<double>("entropy");
        QTest::newRow("65") << 65 << 4.17438727;
        QTest::newRow("257") << 257 << 5.54907608;
        QTest::newRow("325") << 325 << 5.78382518;
    }
    void uniformAttentionHasItsPublishedEntropy()
    {
        QFETCH(int, tokens);
        QFETCH(double, entropy);
        AttentionMeter meter;
        meter.add(std::vector<double>(static_cast<std::size_t>(4 * tokens), 1.0 / tokens), tokens,
                  true);
        const AttentionMeasures measures = meter.measures();
        QVERIFY(isClose(measures.entropy, entropy, 1e-8));
        QVERIFY(isClose(measures.share(), 1));
        QVERIFY(isClose(measures.peak, 1.0 / tokens));
        QVERIFY(isClose(measures.classMass, 1.0 / tokens));
    }

    void attentionIsAveragedOverRows()
    {
        AttentionMeter meter;
        meter.add(std::vector<double>{1, 0, 0, 0}, 4, true);
        meter.add(std::vector<double>{0, 0.5, 0.5, 0}, 4, true);
        const AttentionMeasures measures = meter.measures();
        QVERIFY(isClose(measures.entropy, std::log(2) / 2));
        QVERIFY(isClose(measures.peak, 0.75));
        QVERIFY(isClose(measures.classMass, 0.5));
        QCOMPARE(AttentionMeter().measures().share(), 0.0);
        VERGENCE_THROWS(ContractError, "other tokens",
                        meter.add(std::vector<double>{1, 0}, 2, true));
    }

    void likenessFollowsItsDefinitions()
    {
        LikenessMeter meter;
        // Two frames: tokens alike, then opposed; queries at a right angle.
        meter.add(std::vector<double>{1, 0, 0, 2}, std::vector<double>{3, 0, 0, -1}, 2,
                  std::vector<double>{1, 1, -1, 1}, 2);
        const LikenessMeasures measures = meter.measures();
        QVERIFY(isClose(measures.featureSimilarity, 0));
        QVERIFY(isClose(measures.querySimilarity, 0));
        QVERIFY(isClose(measures.queryDeviation, std::sqrt(0.75)));
        LikenessMeter alike;
        alike.add({}, std::vector<double>{1, 2, 3, 4}, 2, std::vector<double>{1, 2, 2, 4}, 2);
        QVERIFY(isClose(alike.measures().querySimilarity, 1));
        QCOMPARE(cosine(std::vector<double>{0, 0}, std::vector<double>{1, 2}), 0.0);
    }

    void equalClipsLeaveNoDoubt()
    {
        const Interval ratio =
            bootstrapRatio(std::vector<double>(10, 3), std::vector<double>(10, 2), 1);
        QCOMPARE(ratio.value, 1.5);
        QCOMPARE(ratio.low, 1.5);
        QCOMPARE(ratio.high, 1.5);
        VERGENCE_THROWS(ContractError, "belong together",
                        bootstrapRatio(std::vector<double>(2), std::vector<double>(3), 1));
        VERGENCE_THROWS(ContractError, "at least one", bootstrapMean({}, 1));
    }

    /// 400 normal numbers of mean 1 and deviation 1: the interval of the mean is 1 ± 1.96 / 20, and
    /// over 200 such sets holds the truth 190 times; a binomial of 95 % stays within 179 and 198 in
    /// 999 of 1,000 cases.
    void intervalsHoldTheTruthAsOftenAsTheySay()
    {
        const auto device = makeCpuDevice();
        const auto stream = device->createStream();
        const Tensor numbers = Tensor::empty(device, {400}, DType::F64);
        int held = 0;
        double width = 0;
        for (std::uint64_t set = 0; set < 200; ++set) {
            fillNormal(*stream, numbers, 1, 1, 7, set);
            const Interval mean = bootstrapMean(numbers.toHost<double>(*stream), set, 200);
            held += mean.low <= 1 && mean.high >= 1 ? 1 : 0;
            width += mean.high - mean.low;
        }
        QVERIFY2(held >= 179 && held <= 198, qPrintable(QString::number(held)));
        QVERIFY(isClose(width / 200, 2 * 1.96 / 20, 0.02));
    }

    void sameSeedGivesTheSameInterval()
    {
        const std::vector<double> values{1, 5, 2, 8, 3, 3, 9, 1};
        QCOMPARE(bootstrapMean(values, 3).low, bootstrapMean(values, 3).low);
        QVERIFY(bootstrapMean(values, 3, 50).low != bootstrapMean(values, 4, 50).low);
    }

    void shuffledQueriesAreTheSameOnes()
    {
        const auto device = makeCpuDevice();
        const auto stream = device->createStream();
        const Tensor queries = Tensor::empty(device, {9, 4}, DType::F32);
        fillNormal(*stream, queries, 0, 2, 1, 1);
        const auto rowsOf = [&](const Tensor& tensor, Index rows) {
            const std::vector<double> numbers = toDoubles(*stream, tensor);
            std::vector<std::vector<double>> result;
            for (Index i = 0; i < rows; ++i)
                result.emplace_back(numbers.begin() + 4 * i, numbers.begin() + 4 * i + 4);
            return result;
        };
        const Tensor shuffled = shuffledQueries(*stream, queries, 12, 42, 0);
        QCOMPARE(shuffled.shape(), (Shape{12, 4}));
        auto before = rowsOf(queries, 9), after = rowsOf(shuffled, 9);
        QVERIFY(before != after);
        std::sort(before.begin(), before.end());
        std::sort(after.begin(), after.end());
        QVERIFY(before == after);
        QVERIFY(rowsOf(shuffledQueries(*stream, queries, 12, 42, 1), 9) != rowsOf(shuffled, 9));
    }

    void randomQueriesHaveTheSameSpread()
    {
        const auto device = makeCpuDevice();
        const auto stream = device->createStream();
        const Tensor queries = Tensor::empty(device, {500, 8}, DType::F32);
        fillNormal(*stream, queries, 0.5, 2, 1, 1);
        const std::vector<double> random =
            toDoubles(*stream, randomQueries(*stream, queries, 501, 42, 0));
        double mean = 0, squares = 0;
        for (std::size_t i = 0; i < 4000; ++i) {
            mean += random[i] / 4000;
            squares += random[i] * random[i] / 4000;
        }
        QVERIFY(isClose(mean, 0.5, 0.15)); // five deviations of a mean of 4,000
        QVERIFY(isClose(std::sqrt(squares - mean * mean), 2, 0.15));
        QCOMPARE(random[4000], 0.0); // padding
    }
};

VERGENCE_TEST(TestMeasures)
#include "tst_fvlm_measures.moc"
