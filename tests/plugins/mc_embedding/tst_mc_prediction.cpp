#include <set>

#include <QTest>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/prediction.h"
#include "plugins/mc_embedding/statistics/ranks.h"
#include "statistics_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using mc_embedding::fixtures::isNear;

using List = std::vector<double>;

class TestMcPrediction : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void zeroShotByHand();
    void softmaxBearsLargeLogits();
    void promptsThatDisagreeAreSensitive();
    void conformalQuantileIsAnOrderStatistic();
    void setsHoldClassesUpToTheQuantile();
    void scoresOfCalibrationAreInTheirSets();
    void coverageKeepsItsPromise();
    void coverageRepeatsWithItsSeed();
    void bootstrapOfAMeanIsItsStandardError();
    void bootstrapWithoutFiguresHasAReason();
    void convergenceSeparatesBiasAndNoise();
};

namespace {

List logsOf(List p)
{
    for (double& v : p)
        v = std::log(v);
    return p;
}

/// Probabilities of 10 classes and labels drawn from them.
struct Zoo {
    std::vector<List> probabilities;
    std::vector<std::size_t> labels;
    List uncertainty;

    explicit Zoo(std::size_t images)
    {
        const List normal = mc_embedding::fixtures::normalNumbers(images * 10, 1);
        const Rng rng(2);
        for (std::size_t i = 0; i < images; ++i) {
            List logits(normal.begin() + static_cast<std::ptrdiff_t>(10 * i),
                        normal.begin() + static_cast<std::ptrdiff_t>(10 * i + 10));
            for (double& l : logits)
                l *= 0.3 + 0.9 * static_cast<double>(i % 2); // every other one is surer
            probabilities.push_back(softmax(logits));
            double left = rng.uniform(i);
            std::size_t label = 0;
            while (label < 9 && (left -= probabilities[i][label]) > 0)
                ++label;
            labels.push_back(label);
            uncertainty.push_back(entropy(probabilities[i]));
        }
    }
};

} // namespace

void TestMcPrediction::zeroShotByHand()
{
    const List logits{2, 1, 0.5};
    const List p = softmax(logits);
    QVERIFY(isNear(p[0], .628532, 5e-7));
    QVERIFY(isNear(p[1], .231224, 5e-7));
    QVERIFY(isNear(p[2], .140244, 5e-7));
    QVERIFY(isNear(entropy(p), .905959, 5e-7));
    QCOMPARE(margin(logits), 1.0);
    QCOMPARE(margin(List{0.5, 3, 3}), 0.0);
    QCOMPARE(entropy(List{1, 0, 0}), 0.0);
    VERGENCE_THROWS(ContractError, "two classes", margin(List{1}));
}

void TestMcPrediction::softmaxBearsLargeLogits()
{
    const List p = softmax(List{1000, 1000, -1000});
    QCOMPARE(p, (List{0.5, 0.5, 0}));
}

void TestMcPrediction::promptsThatDisagreeAreSensitive()
{
    const std::vector<List> logits{logsOf({.6, .3, .1}), logsOf({.2, .55, .25}),
                                   logsOf({.1, .2, .7})};
    QVERIFY(isNear(promptSensitivity(logits), .00583333, 5e-9));
    QCOMPARE(promptSensitivity({logits[0], logits[0]}), 0.0);
    QVERIFY(std::isnan(promptSensitivity({logits[0]})));
}

void TestMcPrediction::conformalQuantileIsAnOrderStatistic()
{
    const List scores{.2, .5, .1, .9, .4, .3, .8, .6, .7};
    QCOMPARE(conformalQuantile(scores, .8), .8);
    QCOMPARE(conformalQuantile(scores, .9), .9);
    QVERIFY(std::isinf(conformalQuantile(scores, .95)));
    QCOMPARE(conformalQuantile(scores, .7), .7); // 10 · 0.7 is above 7 in floating point
    QCOMPARE(conformalQuantile(scores, .01), .1);
    QVERIFY(std::isinf(conformalQuantile({}, .5)));
}

void TestMcPrediction::setsHoldClassesUpToTheQuantile()
{
    const List p{.125, .5, .25, .125};
    QCOMPARE(apsScore(p, 1), .5);
    QCOMPARE(apsScore(p, 2), .75);
    QCOMPARE(apsScore(p, 0), .875);
    QCOMPARE(apsScore(p, 3), 1.0);
    using Set = std::vector<std::size_t>;
    QCOMPARE(apsSet(p, .75), (Set{1, 2}));
    QCOMPARE(apsSet(p, .8), (Set{1, 2}));
    QCOMPARE(apsSet(p, .1), Set{1}); // never empty
    QCOMPARE(apsSet(p, std::numeric_limits<double>::infinity()), (Set{1, 2, 0, 3}));
    VERGENCE_THROWS(ContractError, "one of the classes", apsScore(p, 4));
}

void TestMcPrediction::scoresOfCalibrationAreInTheirSets()
{
    const Zoo zoo(64);
    for (std::size_t i = 0; i < 64; ++i) {
        const double q = apsScore(zoo.probabilities[i], zoo.labels[i]);
        const auto set = apsSet(zoo.probabilities[i], q);
        QCOMPARE(set.back(), zoo.labels[i]); // the very sum, so equality holds without slack
    }
}

void TestMcPrediction::coverageKeepsItsPromise()
{
    const Zoo zoo(2000);
    for (double level : {0.8, 0.9, 0.95}) {
        const Coverage c =
            conformalCoverage(zoo.probabilities, zoo.labels, zoo.uncertainty, level, 20, 42);
        // Beta law of the coverage of one half, 1,000 calibration scores: deviation below 0.013.
        QVERIFY(isNear(c.coverage, level, 0.02));
        QVERIFY(c.meanSize >= 1 && c.meanSize <= 10);
        QVERIFY(isNear(c.sizePerClass, c.meanSize / 10, 1e-15));
        QCOMPARE(c.coverageByQuartile.size(), std::size_t{4});
        QVERIFY(c.sizeByQuartile[0] < c.sizeByQuartile[3]); // unsure images get larger sets
        double mean = 0;
        for (double s : c.sizeByQuartile)
            mean += s / 4;
        QVERIFY(isNear(mean, c.meanSize, 0.05));
    }
}

void TestMcPrediction::coverageRepeatsWithItsSeed()
{
    const Zoo zoo(100);
    const auto coverage = [&](std::uint64_t seed) {
        return conformalCoverage(zoo.probabilities, zoo.labels, zoo.uncertainty, 0.8, 5, seed)
            .coverage;
    };
    QCOMPARE(coverage(1), coverage(1));
    QVERIFY(coverage(1) != coverage(2));
    const List flat(100, 1.0); // one value: all share the middle, no quartile is empty by accident
    const Coverage c = conformalCoverage(zoo.probabilities, zoo.labels, flat, 0.8, 5, 1);
    QVERIFY(std::isnan(c.coverageByQuartile[0]));
    QVERIFY(isNear(c.coverageByQuartile[2], c.coverage, 1e-15));
}

void TestMcPrediction::bootstrapOfAMeanIsItsStandardError()
{
    const List x = mc_embedding::fixtures::normalNumbers(400, 4);
    const auto mean = [&](std::span<const std::size_t> indices) -> Figure {
        double sum = 0;
        for (std::size_t i : indices)
            sum += x[i];
        return sum / static_cast<double>(indices.size());
    };
    const auto interval = bootstrap(x.size(), mean, 2000, 0.05, 42);
    double centre = 0, squares = 0;
    for (double v : x)
        centre += v / 400;
    for (double v : x)
        squares += (v - centre) * (v - centre) / 400;
    const double half = 1.959964 * std::sqrt(squares / 400);
    QVERIFY(isNear(interval.low.value, centre - half, 0.08 * half));
    QVERIFY(isNear(interval.high.value, centre + half, 0.08 * half));
    const auto again = bootstrap(x.size(), mean, 2000, 0.05, 42);
    QCOMPARE(again.low.value, interval.low.value);
    QVERIFY(bootstrap(x.size(), mean, 2000, 0.05, 43).low.value != interval.low.value);

    std::set<std::size_t> drawn;
    bootstrap(
        10,
        [&](std::span<const std::size_t> indices) -> Figure {
            drawn.insert(indices.begin(), indices.end());
            return 1.0;
        },
        50, 0.05, 1);
    QCOMPARE(drawn.size(), std::size_t{10});
    QCOMPARE(*drawn.rbegin(), std::size_t{9});
}

void TestMcPrediction::bootstrapWithoutFiguresHasAReason()
{
    const auto never = [](std::span<const std::size_t>) { return Figure::none("constant"); };
    QCOMPARE(bootstrap(5, never, 100, 0.05, 1).low.reason,
             std::string("most resamples have no figure"));
    QCOMPARE(bootstrap(0, never, 100, 0.05, 1).high.reason, std::string("no entries"));
    QCOMPARE(bootstrap(5, never, 0, 0.05, 1).low.reason, std::string("no resamples asked for"));
}

void TestMcPrediction::convergenceSeparatesBiasAndNoise()
{
    const List passes{4, 16, 64}, squares{.20, .08, .05};
    const MeanConvergence fit = fitMeanConvergence(passes, squares);
    QVERIFY(isNear(fit.bias2, .04, 1e-15));
    QVERIFY(isNear(fit.variance, .64, 1e-14));
    VERGENCE_THROWS(ContractError, "different numbers of passes",
                    fitMeanConvergence(List{4, 4}, List{1, 2}));
}

VERGENCE_TEST(TestMcPrediction)
#include "tst_mc_prediction.moc"
