#include <cmath>
#include <limits>

#include <QtTest>

#include "app/charts/chart_colours.h"
#include "app/charts/chart_ticks.h"
#include "app/charts/column_cache.h"
#include "app/charts/curve_range.h"
#include "app/charts/series_source.h"
#include "app/charts/smooth_cache.h"
#include "app/charts/zoom_stack.h"
#include "tests/support/test_program.h"

using namespace vergence;

class TestChartParts : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void smoothingGrowsLikeTheReference_data();
    void smoothingGrowsLikeTheReference();
    void zoomsComeBackExactly();
    void oneGestureIsOneStepBack();
    void ticksAreRound_data();
    void ticksAreRound();
    void ticksOfTinyRangesStayApart();
    void shortAxesHaveTwoTicks();
    void outliersLeaveTheRange();
    void logarithmicRangesStayPositive();
    void samplesAreBoundedByColumns();
    void linesGoOnToTheBorder();
    void linesStandOutFromTheBackground();
    void columnsGrowLikeOnesMadeAnew();
    void columnsKeepTheExtremes();
    void differencesFollowTheReference();
};

void TestChartParts::smoothingGrowsLikeTheReference_data()
{
    QTest::addColumn<int>("chunk");
    QTest::addColumn<double>("weight");
    for (const int chunk : {1, 7, 1000})
        for (const double weight : {0.0, 0.6, 0.9, 0.999})
            QTest::addRow("%d at a time, weight %g", chunk, weight) << chunk << weight;
}

void TestChartParts::smoothingGrowsLikeTheReference()
{
    QFETCH(int, chunk);
    QFETCH(double, weight);
    std::vector<double> all(3000, 2.0); // constant at first, as a loss before the first step
    for (std::size_t i = 5; i < all.size(); ++i)
        all[i] = std::sin(0.01 * static_cast<double>(i)) + (i % 97 == 0 ? 5 : 0);
    all[40] = std::numeric_limits<double>::quiet_NaN();
    all[50] = std::numeric_limits<double>::infinity();
    SmoothCache cache;
    std::vector<double> values;
    for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(chunk)) {
        values.assign(all.begin(), all.begin() + std::min<std::ptrdiff_t>(
                                                     std::ssize(all), std::ssize(values) + chunk));
        cache.update(values, weight);
    }
    const auto& grown = cache.update(all, weight);
    const auto reference = smooth(all, weight);
    QCOMPARE(grown.size(), reference.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        QVERIFY2(!std::isfinite(all[i]) || std::abs(grown[i] - reference[i]) <= 1e-9,
                 qPrintable(QString::number(i)));
}

void TestChartParts::zoomsComeBackExactly()
{
    ZoomStack stack;
    const ZoomState first{
        Range{0.1, 0.30000000000000004}, {}, {{QStringLiteral("a"), Range{1, 2}}}};
    const ZoomState second{Range{0.15, 0.2}, {}, {}};
    stack.push(first);
    stack.push(second);
    QVERIFY(!stack.canGoForward());
    stack.back();
    QVERIFY(stack.current() == first);
    stack.back();
    QVERIFY(stack.current() == ZoomState());
    QVERIFY(!stack.canGoBack());
    stack.back();
    stack.forward();
    stack.forward();
    QVERIFY(stack.current() == second);
    stack.back();
    stack.push({Range{5, 6}, {}, {}});
    QVERIFY(!stack.canGoForward());
}

void TestChartParts::oneGestureIsOneStepBack()
{
    ZoomStack stack;
    stack.push({Range{0, 8}, {}, {}});
    stack.push({Range{1, 7}, {}, {}}, true);
    stack.push({Range{2, 6}, {}, {}}, true);
    stack.back();
    QVERIFY(stack.current() == ZoomState());
}

void TestChartParts::ticksAreRound_data()
{
    QTest::addColumn<QString>("kind");
    QTest::addColumn<double>("from");
    QTest::addColumn<double>("to");
    QTest::addColumn<QStringList>("labels");
    QTest::newRow("unit") << "linear" << 0.0 << 1.0
                          << QStringList{"0", "0.2", "0.4", "0.6", "0.8", "1"};
    QTest::newRow("steps") << "linear" << 0.0 << 100000.0
                           << QStringList{"0", "20k", "40k", "60k", "80k", "100k"};
    QTest::newRow("negative") << "linear" << -1.0 << 1.0
                              << QStringList{"-1", "-0.5", "0", "0.5", "1"};
    QTest::newRow("decades") << "log" << -4.0 << 0.0
                             << QStringList{"0.0001", "0.001", "0.01", "0.1", "1"};
    QTest::newRow("within a decade") << "log" << -0.8 << -0.1 << QStringList{"0.2", "0.5"};
    QTest::newRow("within a digit") << "log" << std::log10(0.21) << std::log10(0.25)
                                    << QStringList{"0.21", "0.22", "0.23", "0.24", "0.25"};
    QTest::newRow("seconds") << "time" << 0.0 << 40.0
                             << QStringList{"0 s", "10 s", "20 s", "30 s", "40 s"};
    QTest::newRow("minutes") << "time" << 0.0 << 1300.0
                             << QStringList{"0 min", "5 min", "10 min", "15 min", "20 min"};
    QTest::newRow("hours") << "time" << 0.0 << 8 * 3600.0
                           << QStringList{"0 h", "2 h", "4 h", "6 h", "8 h"};
    QTest::newRow("nothing") << "linear" << 1.0 << 1.0 << QStringList{};
}

void TestChartParts::ticksAreRound()
{
    QFETCH(QString, kind);
    QFETCH(double, from);
    QFETCH(double, to);
    const Range range{from, to};
    const auto ticks = kind == QLatin1String("log")    ? logTicks(range, 5)
                       : kind == QLatin1String("time") ? timeTicks(range, 5)
                                                       : linearTicks(range, 5);
    QStringList labels;
    for (const Tick& tick : ticks)
        labels.append(tick.label);
    QTEST(labels, "labels");
}

void TestChartParts::ticksOfTinyRangesStayApart()
{
    const auto ticks = linearTicks({0.5, 0.5 + 1e-9}, 5);
    QVERIFY(ticks.size() >= 3);
    for (std::size_t i = 1; i < ticks.size(); ++i)
        QVERIFY(ticks[i].label != ticks[i - 1].label);
}

void TestChartParts::shortAxesHaveTwoTicks()
{
    for (const Range range : {Range{0.3, 0.9}, Range{0.51, 1.49}, Range{-4.2, 4.2}, Range{7, 19}})
        for (const auto& ticksOf : {linearTicks, timeTicks})
            QVERIFY(ticksOf(range, 2).size() >= 2 && ticksOf(range, 2).size() <= 5);
    QVERIFY(timeTicks({70, 230}, 2).size() >= 2);
    QVERIFY(logTicks({0.05, 0.25}, 2).size() >= 2);
}

void TestChartParts::outliersLeaveTheRange()
{
    CurvePoints points;
    for (int i = 0; i < 100; ++i)
        points.line.emplace_back(i, i == 50 ? 1e6 : i * 0.01);
    ChartSettings settings;
    QVERIFY(fittingY({points}, {0, 99}, settings).to > 1e6);
    settings.ignoreOutliers = true;
    QVERIFY(fittingY({points}, {0, 99}, settings).to < 1.1);
}

void TestChartParts::logarithmicRangesStayPositive()
{
    CurvePoints points;
    points.line = {{0, 0}, {1, -2}, {2, 1e-3}, {3, 10}};
    ChartSettings settings;
    settings.isLogY = true;
    QVERIFY(removeNotPositive(points));
    QCOMPARE(points.line.size(), std::size_t(2));
    const Range range = fittingY({points}, {0, 3}, settings);
    QVERIFY(range.from > 0 && range.from < 1e-3 && range.to > 10);
    QVERIFY(!removeNotPositive(points));
}

void TestChartParts::samplesAreBoundedByColumns()
{
    MetricStore store;
    std::vector<MetricPoint> points;
    for (int i = 0; i < 20000; ++i)
        points.push_back({i, i * 0.1, "a", std::sin(i * 0.37)});
    store.append(points);
    SeriesSource source(&store, "a");
    QVERIFY(source.update());
    QVERIFY(!source.update());
    ChartSettings settings;
    const auto raw = source.sample(settings, {0, 19999}, 300);
    QVERIFY(raw.band.empty());
    QVERIFY(raw.line.size() <= 600 && raw.line.size() > 500);
    settings.smoothing = 0.9;
    const auto smoothed = source.sample(settings, {0, 19999}, 300);
    QVERIFY(smoothed.band.size() <= 600);
    QVERIFY(smoothed.line.size() <= 301 && smoothed.line.size() > 200);
}

void TestChartParts::linesGoOnToTheBorder()
{
    MetricStore store;
    store.append({{0, 0, "a", 1}, {100, 1, "a", 2}, {200, 2, "a", 3}});
    SeriesSource source(&store, "a");
    source.update();
    const auto points = source.sample({}, {40, 60}, 100).line; // between two points
    QCOMPARE(points.size(), std::size_t(2));
    QVERIFY(points[0].x() <= 40 && points[1].x() >= 60);
}

void TestChartParts::linesStandOutFromTheBackground()
{
    for (const QColor& background : {QColor(Qt::white), QColor(30, 30, 32)})
        for (const QColor& colour :
             {QColor(Qt::yellow), QColor(Qt::darkBlue), QColor(0x00, 0x72, 0xb2)})
            QVERIFY(readableColour(colour, background) != background);
    QCOMPARE(readableColour(QColor(0x00, 0x72, 0xb2), Qt::white), QColor(0x00, 0x72, 0xb2));
}

void TestChartParts::columnsGrowLikeOnesMadeAnew()
{
    Series series;
    ColumnCache grown;
    for (int i = 0; i < 5000; ++i) {
        series.append({i, 0.1 * i, {}, std::sin(0.37 * i) * i});
        if (i % 13 != 0 || i < 200)
            continue;
        ColumnCache fresh;
        const Range whole{0, static_cast<double>(i)}, end{i - 150.0, static_cast<double>(i)};
        for (const Range& range : {whole, i % 2 == 0 ? end : whole}) {
            const auto a = grown.columns(series, XAxis::Step, range, 90);
            const auto b = fresh.columns(series, XAxis::Step, range, 90);
            QCOMPARE(a.size(), b.size());
            for (std::size_t k = 0; k < a.size(); ++k) {
                QCOMPARE(a[k].x, b[k].x);
                QCOMPARE(a[k].minimum, b[k].minimum);
                QCOMPARE(a[k].maximum, b[k].maximum);
            }
        }
    }
}

void TestChartParts::columnsKeepTheExtremes()
{
    Series series;
    for (int i = 0; i < 100'000; ++i)
        series.append({i, 0.1 * i, {}, i == 77'777 ? -9.0 : i == 12'345 ? 9.0 : 0.0});
    ColumnCache cache;
    const auto columns = cache.columns(series, XAxis::Wall, {0, 9999.9}, 200);
    QVERIFY(columns.size() >= 177 && columns.size() <= 201);
    double low = 0, high = 0;
    for (const auto& column : columns) {
        low = std::min(low, column.minimum);
        high = std::max(high, column.maximum);
    }
    QCOMPARE(low, -9.0);
    QCOMPARE(high, 9.0);
    QCOMPARE(ColumnCache::gridWidth(1.1), 1.125);
    QCOMPARE(ColumnCache::gridWidth(0.25), 0.25);
    QCOMPARE(ColumnCache::gridWidth(1.9), 2.0);
}

void TestChartParts::differencesFollowTheReference()
{
    MetricStore own, reference;
    for (int i = 0; i < 10; ++i)
        own.append({{i, 0.1 * i, "loss", 10.0 + i}});
    reference.append({{2, 0, "loss", 1.0}, {4, 0, "loss", 3.0}});
    SeriesSource source(&own, "loss");
    QVERIFY(source.setReference(&reference));
    QCOMPARE(source.size(), std::size_t(3)); // steps 2, 3 and 4
    QCOMPARE(source.at(0, 0).value, 12.0 - 1.0);
    QCOMPARE(source.at(1, 0).value, 13.0 - 2.0);
    reference.append({{6, 0, "loss", 3.0}});
    QVERIFY(source.update());
    QCOMPARE(source.size(), std::size_t(5));
    QCOMPARE(source.at(4, 0).value, 16.0 - 3.0);
    QVERIFY(source.setReference(nullptr));
    QVERIFY(!source.setReference(nullptr));
    QCOMPARE(source.size(), std::size_t(10));
    QCOMPARE(source.at(4, 0).value, 14.0);
}

VERGENCE_TEST(TestChartParts)
#include "tst_chart_parts.moc"
