#include <QTest>

#include "plugins/mc_embedding/statistics/distributions.h"
#include "statistics_support.h"
#include "tests/support/test_program.h"

using namespace vergence::mc_embedding;
using fixtures::isNear;

class TestMcDistributions : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void twoDegreesHaveAClosedForm();
    void tableValuesComeBack();
    void reciprocalsAreSymmetric();
    void farTailsDoNotCancel();
    void quantileInvertsCumulative();
    void normalHasItsTableValues();
};

void TestMcDistributions::twoDegreesHaveAClosedForm()
{
    for (double d2 : {1.0, 7.0, 180.0, 4491.0, 180'000.0})
        for (double x : {0.01, 0.5, 1.0, 1.02, 3.0}) {
            const double above = std::exp(-d2 / 2 * std::log1p(2 * x / d2));
            QVERIFY(isNear(fSurvival(x, 2, d2), above, 1e-10 * above + 1e-14));
            QVERIFY(isNear(fCumulative(x, 2, d2), 1 - above, 1e-10));
        }
    QCOMPARE(fCumulative(0, 3, 4), 0.0);
    QCOMPARE(fSurvival(-1, 3, 4), 1.0);
}

void TestMcDistributions::tableValuesComeBack()
{
    QVERIFY(isNear(fQuantile(0.95, 1, 1), 161.4476387975881, 1e-8)); // tan²(0.95·π/2)
    QVERIFY(isNear(fQuantile(0.95, 10, 20), 2.347878, 5e-7));
    QVERIFY(isNear(fQuantile(0.975, 5, 18), 3.3820, 5e-5));
}

void TestMcDistributions::reciprocalsAreSymmetric()
{
    for (double x : {0.2, 0.9, 1.0, 1.7})
        QVERIFY(isNear(fCumulative(x, 499, 4500), fSurvival(1 / x, 4500, 499), 1e-11));
}

void TestMcDistributions::farTailsDoNotCancel()
{
    // (1 + 2·500/100)^(−50) = 11^(−50).
    const double exact = std::pow(11.0, -50);
    QVERIFY(isNear(fSurvival(500, 2, 100), exact, 1e-11 * exact));
}

void TestMcDistributions::quantileInvertsCumulative()
{
    for (double p : {1e-6, 0.025, 0.5, 0.975, 0.999})
        for (double d1 : {1.0, 9.0, 19'999.0})
            QVERIFY(isNear(fCumulative(fQuantile(p, d1, 180'000), d1, 180'000), p, 1e-11));
}

void TestMcDistributions::normalHasItsTableValues()
{
    QCOMPARE(normalCumulative(0), 0.5);
    QVERIFY(isNear(normalCumulative(1.959963984540054), 0.975, 1e-14));
    QVERIFY(isNear(normalCumulative(-8), 6.220960574271785e-16, 1e-28));
}

VERGENCE_TEST(TestMcDistributions)
#include "tst_mc_distributions.moc"
