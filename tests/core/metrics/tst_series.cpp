#include <cmath>
#include <limits>
#include <random>

#include <QtTest>

#include "core/base/error.h"
#include "core/metrics/metric_store.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using test::kInfinity;
using test::kNan;

namespace {

Series seriesOf(const std::vector<double>& values)
{
    Series series;
    for (std::size_t i = 0; i < values.size(); ++i)
        series.append(
            {static_cast<std::int64_t>(i), 0.25 * static_cast<double>(i), "s", values[i]});
    return series;
}

struct Extent {
    double minimum = kInfinity, maximum = -kInfinity;
    std::size_t count = 0;
};

/// Extremes of the finite points with from <= x <= to, by looking at each.
Extent bruteForce(const Series& series, XAxis axis, double from, double to)
{
    Extent extent;
    for (std::size_t i = 0; i < series.size(); ++i) {
        const double x =
            axis == XAxis::Step ? static_cast<double>(series.steps()[i]) : series.walls()[i];
        const double value = series.values()[i];
        if (x < from || x > to || !std::isfinite(value))
            continue;
        extent.minimum = std::min(extent.minimum, value);
        extent.maximum = std::max(extent.maximum, value);
        ++extent.count;
    }
    return extent;
}

/// Cuts [from, to] as a chart of `columns` pixels does and compares every column with the points in
/// it.
void compareColumns(const Series& series, XAxis axis, double from, double to, int columns)
{
    const auto buckets = series.decimate(axis, from, to, columns);
    QVERIFY(buckets.size() <= static_cast<std::size_t>(columns));
    const Extent whole = bruteForce(series, axis, from, to);
    QCOMPARE(buckets.empty(), whole.count == 0);
    Extent united;
    double last = -kInfinity;
    for (const Series::Bucket& bucket : buckets) {
        QVERIFY(bucket.x >= from && bucket.x <= to && bucket.x >= last);
        last = bucket.x;
        united.minimum = std::min(united.minimum, bucket.minimum);
        united.maximum = std::max(united.maximum, bucket.maximum);
        QVERIFY(bucket.minimum <= bucket.maximum);
        // Whatever a bucket claims, stands in the points at most one column's width away from it.
        const double width = (to - from) / columns * 1.0000001;
        const Extent near = bruteForce(series, axis, bucket.x - width, bucket.x + width);
        QVERIFY(bucket.minimum >= near.minimum && bucket.maximum <= near.maximum);
    }
    QCOMPARE(united.minimum, whole.minimum);
    QCOMPARE(united.maximum, whole.maximum);
}

} // namespace

class TestSeries : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void columnsHoldExactlyTheirExtremes()
    {
        std::vector<double> values(4000);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = std::sin(0.37 * static_cast<double>(i)) + (i % 613 == 0 ? 50 : 0);
        const Series series = seriesOf(values);
        constexpr int kColumns = 125; // 32 points each on [0, 4000)
        const auto buckets = series.decimate(XAxis::Step, 0, 3999, kColumns);
        QCOMPARE(buckets.size(), std::size_t{kColumns});
        for (int column = 0; column < kColumns; ++column) {
            Extent extent;
            for (std::size_t i = 0; i < values.size(); ++i) {
                if (std::min(kColumns - 1,
                             static_cast<int>(static_cast<double>(i) / 3999 * kColumns)) != column)
                    continue;
                extent.minimum = std::min(extent.minimum, values[i]);
                extent.maximum = std::max(extent.maximum, values[i]);
            }
            QCOMPARE(buckets[static_cast<std::size_t>(column)].minimum, extent.minimum);
            QCOMPARE(buckets[static_cast<std::size_t>(column)].maximum, extent.maximum);
        }
    }

    void noExtremeIsEverLost()
    {
        std::mt19937_64 random(11);
        std::uniform_real_distribution<double> uniform(-1, 1);
        for (const std::size_t count : {0, 1, 7, 8, 9, 31, 63, 64, 65, 511, 512, 513, 2000, 4097}) {
            Series series;
            std::int64_t step = -5;
            double wall = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const double value = random() % 50 == 0   ? kNan
                                     : random() % 50 == 0 ? kInfinity
                                                          : uniform(random);
                series.append({step, wall, "s", value});
                step += static_cast<std::int64_t>(random() % 4);
                wall += random() % 97 == 0 ? 100 : 0.01 * uniform(random) + 0.01;
            }
            for (int round = 0; round < 12; ++round) {
                const XAxis axis = round % 2 == 0 ? XAxis::Step : XAxis::Wall;
                const double end = axis == XAxis::Step ? static_cast<double>(step) : wall;
                double from = end * uniform(random), to = end * uniform(random);
                if (from > to)
                    std::swap(from, to);
                const int columns = 1 + static_cast<int>(random() % 300);
                compareColumns(series, axis, from, to, columns);
                compareColumns(series, axis, -10, end, columns);
                if (QTest::currentTestFailed())
                    return;
            }
        }
    }

    void seriesThatRunBackwardsLoseNoExtremeEither()
    {
        Series series;
        std::mt19937_64 random(13);
        for (int i = 0; i < 3000; ++i) {
            const std::int64_t step = i < 2000 ? i : i - 700; // continued from a checkpoint
            series.append(
                {step, static_cast<double>(i), "s", static_cast<double>(random() % 1000)});
        }
        compareColumns(series, XAxis::Step, 0, 3000, 100);
        compareColumns(series, XAxis::Step, 1200, 1700, 33);
        compareColumns(series, XAxis::Wall, 0, 3000, 100);
    }

    void fewPointsAreKeptOneByOne()
    {
        const Series series = seriesOf({3, 1, kNan, 2});
        const auto buckets = series.decimate(XAxis::Step, 0, 1000, 4);
        QCOMPARE(buckets.size(), std::size_t{3});
        QCOMPARE(buckets[1].x, 1.0);
        QCOMPARE(buckets[1].minimum, 1.0);
        QCOMPARE(buckets[2].x, 3.0);
        QCOMPARE(buckets[2].maximum, 2.0);
    }

    void rangesWithoutPointsGiveNothing()
    {
        const Series series = seriesOf({1, 2, 3});
        QVERIFY(Series().decimate(XAxis::Step, 0, 1, 10).empty());
        QVERIFY(series.decimate(XAxis::Step, 10, 20, 10).empty());
        QVERIFY(series.decimate(XAxis::Step, 2, 1, 10).empty());
        QVERIFY(series.decimate(XAxis::Step, kNan, 1, 10).empty());
        QVERIFY(seriesOf({kNan, kInfinity}).decimate(XAxis::Step, 0, 1, 10).empty());
        QCOMPARE(series.decimate(XAxis::Step, 1, 1, 10).size(), std::size_t{1});
        QVERIFY_EXCEPTION_THROWN(series.decimate(XAxis::Step, 0, 1, 0), ContractError);
    }

    void endlessRangesMeanAllPoints()
    {
        const auto buckets = seriesOf(std::vector<double>(1000, 2.0))
                                 .decimate(XAxis::Wall, -kInfinity, kInfinity, 10);
        QCOMPARE(buckets.size(), std::size_t{10});
        Series wide;
        for (const double wall : {-1.7e308, 0.0, 1.0, 1.7e308})
            wide.append({0, wall, "s", wall});
        const auto one = wide.decimate(XAxis::Wall, -kInfinity, kInfinity, 2);
        QCOMPARE(one.front().minimum, -1.7e308);
        QCOMPARE(one.back().maximum, 1.7e308);
    }

    void equalStepsStayInOneColumn()
    {
        Series series;
        for (int i = 0; i < 100; ++i)
            series.append({5, static_cast<double>(i), "s", static_cast<double>(i)});
        const auto buckets = series.decimate(XAxis::Step, 5, 5, 10);
        QCOMPARE(buckets.size(), std::size_t{1});
        QCOMPARE(buckets[0].minimum, 0.0);
        QCOMPARE(buckets[0].maximum, 99.0);
    }

    void summaryCoversFiniteValues()
    {
        const auto summary = seriesOf({kNan, 2, -1, kInfinity, -1, 5, kNan}).summary();
        QCOMPARE(summary.minimum, -1.0);
        QCOMPARE(summary.stepOfMinimum, std::int64_t{2});
        QCOMPARE(summary.maximum, 5.0);
        QCOMPARE(summary.stepOfMaximum, std::int64_t{5});
        QCOMPARE(summary.count, std::size_t{7});
        QCOMPARE(summary.notFinite, std::size_t{3});
        QVERIFY(std::isnan(summary.last));
        const auto none = seriesOf({kNan}).summary();
        QVERIFY(std::isnan(none.minimum) && std::isnan(none.maximum));
        QCOMPARE(Series().summary().count, std::size_t{0});
    }

    void notFiniteValuesAreLocated()
    {
        const Series series = seriesOf({1, kNan, 2, -kInfinity});
        QVERIFY(series.notFiniteIndices() == (std::vector<std::size_t>{1, 3}));
        QVERIFY(series.notFinite(XAxis::Step) == (std::vector<double>{1, 3}));
        QVERIFY(series.notFinite(XAxis::Wall) == (std::vector<double>{0.25, 0.75}));
    }
};

VERGENCE_TEST(TestSeries)
#include "tst_series.moc"
