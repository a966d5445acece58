#include <QTest>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/ranks.h"
#include "statistics_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using mc_embedding::fixtures::isNear;

using List = std::vector<double>;
using Flags = std::vector<char>;

class TestMcRanks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tiesShareTheirAverageRank();
    void spearmanWithTies();
    void ranksIgnoreMonotoneMaps();
    void pearsonAndKendallOfSmallLists();
    void constantOrShortListsHaveAReason();
    void quantilesInterpolate();
    void areaUnderRocWithTies();
    void rocCurveEnclosesItsArea();
    void emptyClassHasAReason();
    void wilcoxonIsExactForFew();
    void wilcoxonIsNormalForTiesAndMany();
    void wilcoxonDropsZeros();
};

void TestMcRanks::tiesShareTheirAverageRank()
{
    QCOMPARE(averageRanks(List{1, 2, 2, 3, 5}), (List{1, 2.5, 2.5, 4, 5}));
    QCOMPARE(averageRanks(List{2, 1, 3, 3, 4}), (List{2, 1, 3.5, 3.5, 5}));
    QCOMPARE(averageRanks(List{7, 7, 7}), (List{2, 2, 2}));
    QVERIFY(averageRanks(List{}).empty());
    VERGENCE_THROWS(ContractError, "no rank", averageRanks(List{1, std::nan("")}));
}

void TestMcRanks::spearmanWithTies()
{
    QVERIFY(isNear(spearman(List{1, 2, 2, 3, 5}, List{2, 1, 3, 3, 4}).value, 0.763158, 5e-7));
}

void TestMcRanks::ranksIgnoreMonotoneMaps()
{
    const List x = mc_embedding::fixtures::normalNumbers(257, 1);
    const List y = mc_embedding::fixtures::normalNumbers(257, 2);
    List grown = x;
    for (double& v : grown)
        v = std::exp(3 * v);
    QCOMPARE(spearman(grown, y).value, spearman(x, y).value);
    QCOMPARE(kendallTauB(grown, y).value, kendallTauB(x, y).value);
    QCOMPARE(spearman(x, grown).value, 1.0);
}

void TestMcRanks::pearsonAndKendallOfSmallLists()
{
    const List x{1, 2, 2, 3, 5}, y{2, 1, 3, 3, 4};
    // Deviations (−1.6 −.6 −.6 .4 2.4), (−.6 −1.6 .4 .4 1.4): 5.2, 9.2, 5.2.
    QVERIFY(isNear(pearson(x, y).value, 5.2 / std::sqrt(9.2 * 5.2), 1e-15));
    // Pairs: 7 concordant, 1 discordant, one tie on each side.
    QVERIFY(isNear(kendallTauB(x, y).value, 6.0 / 9.0, 1e-15));
}

void TestMcRanks::constantOrShortListsHaveAReason()
{
    const List flat(4, 0.1), x{1, 2, 3, 4}, broken{1, 2, std::nan(""), 4};
    for (const auto& correlation : {pearson, spearman, kendallTauB}) {
        QVERIFY(!correlation(flat, x).exists());
        QCOMPARE(correlation(flat, x).reason, std::string("one side is constant"));
        QCOMPARE(correlation(List{1}, List{2}).reason, std::string("needs two entries"));
        QCOMPARE(correlation(x, broken).reason, std::string("an entry is not a number"));
    }
}

void TestMcRanks::quantilesInterpolate()
{
    const List x{3, 1, 4, 1, 5, 9, 2, 6};
    QVERIFY(isNear(quantile(x, 0.1), 1.0, 1e-15));
    QVERIFY(isNear(quantile(x, 0.25), 1.75, 1e-15));
    QVERIFY(isNear(quantile(x, 0.9), 6.9, 1e-14));
    QCOMPARE(quantile(x, 0), 1.0);
    QCOMPARE(quantile(x, 1), 9.0);
    QCOMPARE(quantile(List{7}, 0.3), 7.0);
    VERGENCE_THROWS(ContractError, "needs entries", quantile(List{}, 0.5));
}

void TestMcRanks::areaUnderRocWithTies()
{
    const List scores{.1, .4, .35, .8, .4, .6};
    const Flags labels{0, 0, 1, 1, 1, 0};
    QCOMPARE(averageRanks(scores), (List{1, 3.5, 2, 6, 3.5, 5}));
    QVERIFY(isNear(auroc(scores, labels).value, 0.611111, 5e-7));
}

void TestMcRanks::rocCurveEnclosesItsArea()
{
    List scores = mc_embedding::fixtures::normalNumbers(300, 3);
    for (double& s : scores)
        s = std::round(4 * s); // many ties
    Flags labels(scores.size());
    for (std::size_t i = 0; i < labels.size(); ++i)
        labels[i] = (i * i) % 3 == 1 && scores[i] > -4;
    const RocCurve curve = rocCurve(scores, labels);
    double area = 0;
    for (std::size_t i = 1; i < curve.falsePositive.size(); ++i)
        area += (curve.falsePositive[i] - curve.falsePositive[i - 1]) *
                (curve.truePositive[i] + curve.truePositive[i - 1]) / 2;
    QVERIFY(isNear(area, auroc(scores, labels).value, 1e-13));
    QCOMPARE(curve.falsePositive.front(), 0.0);
    QCOMPARE(curve.truePositive.back(), 1.0);
    QCOMPARE(curve.falsePositive.back(), 1.0);
}

void TestMcRanks::emptyClassHasAReason()
{
    const List scores{1, 2, 3};
    QCOMPARE(auroc(scores, Flags{0, 0, 0}).reason, std::string("no positive image"));
    QCOMPARE(auroc(scores, Flags{1, 1, 1}).reason, std::string("no negative image"));
    QVERIFY(rocCurve(scores, Flags{1, 1, 1}).falsePositive.empty());
}

void TestMcRanks::wilcoxonIsExactForFew()
{
    const Wilcoxon test = wilcoxonGreater(List{1.1, -.4, 2.0, .3, .9, 1.7});
    QCOMPARE(test.statistic, 19.0);
    QVERIFY(isNear(test.p.value, 0.046875, 1e-15)); // 3 of 64 subsets
    // All 25 positive: one subset of 2²⁵.
    List all(25);
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<double>(i + 1);
    QCOMPARE(wilcoxonGreater(all).p.value, 0x1p-25);
}

void TestMcRanks::wilcoxonIsNormalForTiesAndMany()
{
    // Ranks 2 2 2 4, W⁺ = 8, mean 5, variance 4·5·9/24 − (27 − 3)/48 = 7.
    const Wilcoxon tied = wilcoxonGreater(List{1, 1, -1, 2});
    QCOMPARE(tied.statistic, 8.0);
    QVERIFY(isNear(tied.p.value, 0.5 * std::erfc(3 / std::sqrt(14.0)), 1e-15));
    List many(26);
    for (std::size_t i = 0; i < many.size(); ++i)
        many[i] = static_cast<double>(i + 1);
    const double z = (351 - 175.5) / std::sqrt(26.0 * 27 * 53 / 24);
    QVERIFY(isNear(wilcoxonGreater(many).p.value, 0.5 * std::erfc(z / std::sqrt(2.0)), 1e-16));
}

void TestMcRanks::wilcoxonDropsZeros()
{
    const Wilcoxon with = wilcoxonGreater(List{0, 1.1, -.4, 0, 2.0, .3, .9, 1.7});
    QCOMPARE(with.statistic, 19.0);
    QVERIFY(isNear(with.p.value, 0.046875, 1e-15));
    QCOMPARE(wilcoxonGreater(List{0, 0}).p.reason, std::string("all differences are zero"));
    QCOMPARE(wilcoxonGreater(List{std::nan("")}).p.reason,
             std::string("a difference is not a number"));
}

VERGENCE_TEST(TestMcRanks)
#include "tst_mc_ranks.moc"
