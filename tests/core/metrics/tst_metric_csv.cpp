#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include <QtTest>

#include "core/base/error.h"
#include "core/metrics/metric_store.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using test::kInfinity;
using test::kNan;

namespace {

MetricStore read(const std::string& text)
{
    return MetricStore::fromCsv(text, "metrics.csv");
}

} // namespace

class TestMetricCsv : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void pointsAreWrittenShortAndExact()
    {
        const std::vector<MetricPoint> points{
            {0, 0.5, "train/loss", 0.1},
            {-3, 1e-9, "a,b", -kNan},
            {7, 2, "say \"x\"", -kInfinity},
            {std::numeric_limits<std::int64_t>::max(), 3, "plain x", 1.6e-5}};
        QCOMPARE(QString::fromStdString(MetricStore::toCsv(points)),
                 QString("0,0.5,train/loss,0.1\n"
                         "-3,1e-09,\"a,b\",nan\n"
                         "7,2,\"say \"\"x\"\"\",-inf\n"
                         "9223372036854775807,3,plain x,1.6e-05\n"));
        QCOMPARE(QString(MetricStore::csvHeader()), QString("step,wall_s,name,value\n"));
    }

    void everyNumberComesBackExactly()
    {
        std::vector<MetricPoint> points;
        std::mt19937_64 random(17);
        for (int i = 0; i < 5000; ++i)
            points.push_back({i, std::abs(std::bit_cast<double>(random() >> 2)),
                              i % 2 ? "a,\"b\"" : "é/x", std::bit_cast<double>(random())});
        points.push_back({5000, 1, "é/x", kInfinity});
        points.push_back({5001, 1, "é/x", std::numeric_limits<double>::denorm_min()});
        MetricStore direct;
        direct.append(points);
        const MetricStore store = read(MetricStore::csvHeader() + MetricStore::toCsv(points));
        QVERIFY(store.names() == direct.names());
        for (const std::string& name : store.names()) {
            const Series &a = *direct.find(name), &b = *store.find(name);
            QVERIFY(a.steps() == b.steps() && a.walls() == b.walls());
            QCOMPARE(a.size(), b.size());
            for (std::size_t i = 0; i < a.size(); ++i) {
                const bool areBothNan = std::isnan(a.values()[i]) && std::isnan(b.values()[i]);
                QVERIFY(areBothNan || a.values()[i] == b.values()[i]);
            }
        }
    }

    void tornLastLineIsIgnored_data()
    {
        QTest::addColumn<QString>("tail");
        QTest::newRow("nothing") << "";
        QTest::newRow("half a value") << "2,2,loss,0.1";
        QTest::newRow("half a name") << "2,2,lo";
        QTest::newRow("half a quote") << "2,2,\"lo";
        QTest::newRow("half a step") << "2";
    }
    void tornLastLineIsIgnored()
    {
        QFETCH(QString, tail);
        const MetricStore store =
            read("step,wall_s,name,value\n1,1,loss,0.5\n" + tail.toStdString());
        QCOMPARE(store.find("loss")->size(), std::size_t{1});
    }

    void textWithoutWholeLinesIsAnEmptyStore()
    {
        QVERIFY(read("").names().empty());
        QVERIFY(read("step,wa").names().empty());
        QVERIFY(read("step,wall_s,name,value\n").names().empty());
    }

    void windowsLineEndsAreAccepted()
    {
        const MetricStore store = read("step,wall_s,name,value\r\n1,1,loss,0.5\r\n");
        QCOMPARE(store.find("loss")->values().front(), 0.5);
    }

    void faultyLinesAreRefusedWithTheirNumber_data()
    {
        QTest::addColumn<QString>("line");
        QTest::newRow("empty") << "";
        QTest::newRow("text for step") << "x,1,loss,0.5";
        QTest::newRow("fraction for step") << "1.5,1,loss,0.5";
        QTest::newRow("step too large") << "9223372036854775808,1,loss,0.5";
        QTest::newRow("no wall") << "1,,loss,0.5";
        QTest::newRow("no name") << "1,1,,0.5";
        QTest::newRow("three fields") << "1,1,loss";
        QTest::newRow("five fields") << "1,1,loss,0.5,1";
        QTest::newRow("no value") << "1,1,loss,";
        QTest::newRow("text for value") << "1,1,loss,high";
        QTest::newRow("open quote") << "1,1,\"loss,0.5";
        QTest::newRow("text after a quote") << "1,1,\"loss\"x,0.5";
    }
    void faultyLinesAreRefusedWithTheirNumber()
    {
        QFETCH(QString, line);
        const std::string text =
            "step,wall_s,name,value\n1,1,loss,0.5\n" + line.toStdString() + "\n2,1,loss,0.5\n";
        try {
            read(text);
            QFAIL("read a faulty line");
        } catch (const InputError& error) {
            QVERIFY2(QString(error.what()).contains("metrics.csv line 3: "), error.what());
        }
    }

    void anotherHeaderIsRefused()
    {
        QVERIFY_EXCEPTION_THROWN(read("step,value\n1,2\n"), InputError);
    }

    void storeGathersSeriesByName()
    {
        MetricStore store;
        QCOMPARE(store.revision(), std::uint64_t{0});
        store.append({{0, 0, "b", 1}, {0, 0, "a", 2}});
        store.append({{1, 1, "b", 3}});
        QCOMPARE(store.revision(), std::uint64_t{2});
        QVERIFY(store.names() == (std::vector<std::string>{"a", "b"}));
        QCOMPARE(store.find("b")->size(), std::size_t{2});
        QVERIFY(!store.find("c"));
        store.append({});
        QCOMPARE(store.revision(), std::uint64_t{2});
    }

    void sinkHandsEveryPointOverOnce()
    {
        MetricSink sink;
        std::vector<MetricPoint> drained;
        {
            const std::jthread recorder([&] {
                for (int i = 0; i < 20'000; ++i)
                    sink.record("loss", i, i);
            });
            for (int i = 0; i < 100; ++i) {
                const auto points = sink.drain();
                drained.insert(drained.end(), points.begin(), points.end());
            }
        }
        const auto rest = sink.drain();
        drained.insert(drained.end(), rest.begin(), rest.end());
        QCOMPARE(drained.size(), std::size_t{20'000});
        for (std::size_t i = 0; i < drained.size(); ++i)
            QCOMPARE(drained[i].step, static_cast<std::int64_t>(i));
        QVERIFY(sink.drain().empty());
    }

    void sinkContinuesTheClockAfterAResume()
    {
        MetricSink sink;
        sink.record("loss", 1, 0);
        QVERIFY(sink.drain().front().wallSeconds >= 0);
        sink.setStart(steadySeconds() - 5, 100);
        sink.record("loss", 1, 0);
        const double wall = sink.drain().front().wallSeconds;
        QVERIFY(wall >= 105 && wall < 200);
    }

    void namesOfSeveralLinesAreRefused()
    {
        MetricSink sink;
        QVERIFY_EXCEPTION_THROWN(sink.record("a\nb", 1, 0), ContractError);
        QVERIFY_EXCEPTION_THROWN(sink.record("", 1, 0), ContractError);
    }
};

VERGENCE_TEST(TestMetricCsv)
#include "tst_metric_csv.moc"
