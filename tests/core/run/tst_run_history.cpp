#include <fstream>

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include "core/base/file.h"
#include "core/run/run_history.h"
#include "tests/support/test_program.h"

using namespace vergence;

class TestRunHistory : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void fileAndLiveMessagesAreOneCurve();
    void livePointsWaitForTheFile();
    void afterTheWorkerTheFileGoesOn();
    void gapBeforeLivePointsIsReadFromTheFile();
    void tornLineWaitsForItsEnd();
    void damagedLineIsToldOnce();
    void logLinesComeOnce();
    void restartReadsAnew();
    void aMillionLinesComeInSlices();

private:
    std::vector<MetricPoint> points(std::int64_t from, std::int64_t to) const;
    void writeLines(std::int64_t from, std::int64_t to);
    std::vector<std::int64_t> steps(const RunHistory& history) const;

    std::unique_ptr<QTemporaryDir> m_directory;
    RunFolder m_folder;
};

void TestRunHistory::init()
{
    m_directory = std::make_unique<QTemporaryDir>();
    m_folder = RunFolder{m_directory->path().toStdString()};
    AppendFile(m_folder.metrics()).append(MetricStore::csvHeader());
}

std::vector<MetricPoint> TestRunHistory::points(std::int64_t from, std::int64_t to) const
{
    std::vector<MetricPoint> list;
    for (std::int64_t i = from; i < to; ++i)
        list.push_back({i, 0.5 * static_cast<double>(i), "a", static_cast<double>(i)});
    return list;
}

void TestRunHistory::writeLines(std::int64_t from, std::int64_t to)
{
    AppendFile(m_folder.metrics()).append(MetricStore::toCsv(points(from, to)));
}

std::vector<std::int64_t> TestRunHistory::steps(const RunHistory& history) const
{
    const Series* series = history.metrics().find("a");
    return series != nullptr ? series->steps() : std::vector<std::int64_t>();
}

namespace {

std::vector<std::int64_t> upTo(std::int64_t end)
{
    std::vector<std::int64_t> list;
    for (std::int64_t i = 0; i < end; ++i)
        list.push_back(i);
    return list;
}

} // namespace

void TestRunHistory::fileAndLiveMessagesAreOneCurve()
{
    writeLines(0, 10);
    RunHistory history(m_folder);
    history.expectLive(10, 0);
    QVERIFY(history.isBehind());
    QVERIFY(history.readFiles().hasMetrics);
    QVERIFY(!history.isBehind());
    writeLines(10, 20);
    QVERIFY(history.hearPoints(10, points(10, 15)).hasMetrics);
    QVERIFY(!history.readFiles().hasMetrics); // the file is not needed any more
    history.hearPoints(12, points(12, 20));   // overlaps
    QCOMPARE(steps(history), upTo(20));
}

void TestRunHistory::livePointsWaitForTheFile()
{
    RunHistory history(m_folder);
    history.expectLive(5, 0);
    QVERIFY(!history.hearPoints(5, points(5, 8)).hasMetrics);
    writeLines(0, 3);
    history.readFiles();
    QCOMPARE(steps(history), upTo(3));
    writeLines(3, 5);
    history.readFiles();
    QCOMPARE(steps(history), upTo(8));
}

void TestRunHistory::afterTheWorkerTheFileGoesOn()
{
    RunHistory history(m_folder);
    history.expectLive(0, 0);
    history.hearPoints(0, points(0, 6));
    writeLines(0, 9);
    history.expectNothing();
    history.readFiles();
    QCOMPARE(steps(history), upTo(9));
}

void TestRunHistory::gapBeforeLivePointsIsReadFromTheFile()
{
    writeLines(0, 7);
    RunHistory history(m_folder);
    history.expectLive(0, 0); // said before the worker had opened its files
    history.hearPoints(7, {});
    QVERIFY(history.isBehind());
    history.readFiles();
    history.hearPoints(7, points(7, 9));
    QCOMPARE(steps(history), upTo(9));
}

void TestRunHistory::tornLineWaitsForItsEnd()
{
    RunHistory history(m_folder);
    const auto append = [this](const char* text) {
        std::ofstream(m_folder.metrics(), std::ios::app | std::ios::binary) << text;
    };
    append("0,0,a,0\n1,0.");
    history.readFiles();
    QCOMPARE(steps(history), upTo(1));
    append("5,a,1\n");
    history.readFiles();
    QCOMPARE(steps(history), upTo(2));
}

void TestRunHistory::damagedLineIsToldOnce()
{
    RunHistory history(m_folder);
    AppendFile(m_folder.metrics()).append("nonsense\n");
    QVERIFY(!history.readFiles().problem.empty());
    AppendFile(m_folder.metrics()).append("more\n");
    QVERIFY(history.readFiles().problem.empty());
}

void TestRunHistory::logLinesComeOnce()
{
    const auto line = [](int i) {
        return R"({"time":"t","level":"info","area":"run","text":")" + std::to_string(i) + "\"}\n";
    };
    AppendFile(m_folder.log()).append(line(0) + line(1));
    RunHistory history(m_folder);
    history.expectLive(0, 2);
    QVERIFY(history.hearLog(2, {"t", "info", "run", "2"}).log.empty());
    const auto news = history.readFiles();
    QCOMPARE(news.log.size(), std::size_t{3});
    QCOMPARE(news.log[0].text, std::string("0"));
    QCOMPARE(news.log[2].text, std::string("2"));
    AppendFile(m_folder.log()).append(line(2) + line(3));
    history.expectNothing();
    QCOMPARE(history.readFiles().log.size(), std::size_t{1});
}

void TestRunHistory::restartReadsAnew()
{
    writeLines(0, 4);
    RunHistory history(m_folder);
    history.readFiles();
    history.restart();
    QCOMPARE(steps(history), upTo(0));
    history.readFiles();
    QCOMPARE(steps(history), upTo(4));
}

void TestRunHistory::aMillionLinesComeInSlices()
{
    for (std::int64_t i = 0; i < 10; ++i)
        writeLines(i * 100'000, (i + 1) * 100'000);
    RunHistory history(m_folder);
    int slices = 0;
    qint64 slowest = 0;
    for (bool hasMore = true; hasMore; ++slices) {
        QElapsedTimer timer;
        timer.start();
        hasMore = history.readFiles().hasMore;
        slowest = std::max(slowest, timer.elapsed());
    }
    QCOMPARE(history.metrics().find("a")->size(), std::size_t{1'000'000});
    QVERIFY(slices > 20);
    qInfo("slowest of %d slices: %lld ms", slices, static_cast<long long>(slowest));
}

VERGENCE_TEST(TestRunHistory)
#include "tst_run_history.moc"
