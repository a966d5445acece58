#include <QTest>

#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/metrics/statistics.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;

using List = std::vector<double>;

class TestStatistics : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void quantilesInterpolateBetweenOrderStatistics();
    void tiesShareTheirRankAndAreCounted();
    void rankSumOfSeparatedSamples();
    void rankSumCorrectsForTies();
    void equalSamplesDoNotDiffer();
    void rankSumSeesAShiftOnEitherSide();
    void bootstrapOfTheMean();
    void badInputIsRefused();
};

void TestStatistics::quantilesInterpolateBetweenOrderStatistics()
{
    List x(100);
    std::iota(x.rbegin(), x.rend(), 1.0); // downwards: it sorts
    QCOMPARE(quantile(x, 0.5), 50.5);
    QVERIFY(std::abs(quantile(x, 0.95) - 95.05) < 1e-12);
    QVERIFY(std::abs(quantile(x, 0.99) - 99.01) < 1e-12);
    QCOMPARE(quantile(x, 0), 1.0);
    QCOMPARE(quantile(x, 1), 100.0);
    QCOMPARE(quantile({7}, 0.3), 7.0);
    QCOMPARE(quantile({1, INFINITY}, 0), 1.0);
}

void TestStatistics::tiesShareTheirRankAndAreCounted()
{
    QCOMPARE(averageRanks(List{1, 2, 2, 3, 5}), (List{1, 2.5, 2.5, 4, 5}));
    QCOMPARE(tieSizes({3, 1, 3, 2, 1, 3}), (List{2, 3}));
    QVERIFY(tieSizes({1, 2, 3}).empty());
}

void TestStatistics::rankSumOfSeparatedSamples()
{
    // u = 9 of 9 pairs; mean 4.5, variance 9/12·7; z = (4.5 − ½)/√5.25 = 1.7457.
    const RankSum up = rankSumTest(List{1, 2, 3}, List{4, 5, 6});
    QCOMPARE(up.u, 9.0);
    QVERIFY(std::abs(up.p - std::erfc(4 / std::sqrt(5.25) / std::sqrt(2.0))) < 1e-15);
    const RankSum down = rankSumTest(List{4, 5, 6}, List{1, 2, 3});
    QCOMPARE(down.u, 0.0);
    QCOMPARE(down.p, up.p);
}

void TestStatistics::rankSumCorrectsForTies()
{
    // Ranks 1.5 1.5 4 | 4 4 6: u = 14 − 6 = 8; ties 2 and 3 give (6 + 24)/(6·5) = 1 off of 7.
    const RankSum test = rankSumTest(List{1, 1, 2}, List{2, 2, 3});
    QCOMPARE(test.u, 8.0);
    QVERIFY(std::abs(test.p - std::erfc(3 / std::sqrt(0.75 * 6) / std::sqrt(2.0))) < 1e-15);
}

void TestStatistics::equalSamplesDoNotDiffer()
{
    QCOMPARE(rankSumTest(List{5, 5, 5}, List{5, 5}).p, 1.0);
    QCOMPARE(rankSumTest(List{1, 2, 3, 4}, List{1, 2, 3, 4}).p, 1.0);
}

void TestStatistics::rankSumSeesAShiftOnEitherSide()
{
    List low(200), high(200);
    for (std::size_t i = 0; i < low.size(); ++i) {
        low[i] = static_cast<double>(i % 17);
        high[i] = low[i] + 3;
    }
    QVERIFY(rankSumTest(low, high).p < 1e-6);
    QVERIFY(rankSumTest(high, low).p < 1e-6);
}

void TestStatistics::bootstrapOfTheMean()
{
    List x(400);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<double>(i % 2); // mean ½, standard error 1/40
    const auto mean = [&](std::span<const std::size_t> drawn) {
        double sum = 0;
        for (const std::size_t i : drawn)
            sum += x[i];
        return sum / static_cast<double>(drawn.size());
    };
    const Interval interval = bootstrapInterval(x.size(), 7, 2000, mean);
    QCOMPARE(interval.value, 0.5);
    QVERIFY(std::abs(interval.low - (0.5 - 1.96 / 40)) < 0.006);
    QVERIFY(std::abs(interval.high - (0.5 + 1.96 / 40)) < 0.006);
    QCOMPARE(bootstrapInterval(x.size(), 7, 2000, mean).low, interval.low);
}

void TestStatistics::badInputIsRefused()
{
    VERGENCE_THROWS(ContractError, "entries", quantile({}, 0.5));
    VERGENCE_THROWS(ContractError, "level", quantile({1}, 1.1));
    VERGENCE_THROWS(ContractError, "no rank", averageRanks(List{NAN}));
    VERGENCE_THROWS(ContractError, "both sides", rankSumTest(List{}, List{1}));
    VERGENCE_THROWS(ContractError, "at least one",
                    bootstrapInterval(0, 1, 10, [](auto) { return 0.0; }));
}

VERGENCE_TEST(TestStatistics)
#include "tst_statistics.moc"
