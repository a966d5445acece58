#include <cmath>
#include <limits>

#include <QtTest>

#include "core/base/error.h"
#include "core/metrics/metric_store.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using test::kInfinity;
using test::kNan;

namespace {
} // namespace

class TestSmooth : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void equalsTheHandComputedAverage()
    {
        // Weight 0.6: averages 0.4, 1.04, 1.824 over 1-0.6, 1-0.36, 1-0.216.
        const auto smoothed = smooth({1, 2, 3}, 0.6);
        QVERIFY(std::abs(smoothed[0] - 1.0) < 1e-12);
        QVERIFY(std::abs(smoothed[1] - 1.04 / 0.64) < 1e-12);
        QVERIFY(std::abs(smoothed[2] - 1.824 / 0.784) < 1e-12);
    }

    void equalsTheWeightedSum_data()
    {
        QTest::addColumn<double>("weight");
        QTest::newRow("none") << 0.0;
        QTest::newRow("half") << 0.5;
        QTest::newRow("slider") << 0.9;
        QTest::newRow("most") << 0.999;
    }
    void equalsTheWeightedSum()
    {
        QFETCH(double, weight);
        std::vector<double> values;
        for (int i = 0; i < 400; ++i)
            values.push_back(std::sin(0.1 * i) + 0.01 * i);
        const auto smoothed = smooth(values, weight);
        for (std::size_t n = 0; n < values.size(); ++n) {
            double sum = 0, weights = 0;
            for (std::size_t i = 0; i <= n; ++i) {
                const double share = std::pow(weight, static_cast<double>(n - i));
                sum += share * values[i];
                weights += share;
            }
            QVERIFY(std::abs(smoothed[n] - sum / weights) < 1e-12);
        }
    }

    void notFiniteValuesPassThroughUnaveraged()
    {
        const auto smoothed = smooth({1, kNan, 2, kInfinity, 3}, 0.6);
        QVERIFY(std::isnan(smoothed[1]));
        QCOMPARE(smoothed[3], kInfinity);
        QVERIFY(std::abs(smoothed[2] - 1.04 / 0.64) < 1e-12);
        QVERIFY(std::abs(smoothed[4] - 1.824 / 0.784) < 1e-12);
    }

    void constantSeriesStayExact()
    {
        const std::vector<double> values(100, 0.1);
        QVERIFY(smooth(values, 0.97) == values);
        QVERIFY(smooth({}, 0.5).empty());
    }

    void weightsOutsideTheRangeAreRefused()
    {
        QVERIFY_EXCEPTION_THROWN(smooth({1}, 1.0), ContractError);
        QVERIFY_EXCEPTION_THROWN(smooth({1}, -0.1), ContractError);
        QVERIFY_EXCEPTION_THROWN(smooth({1}, kNan), ContractError);
    }
};

VERGENCE_TEST(TestSmooth)
#include "tst_smooth.moc"
