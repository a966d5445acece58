#include <QTest>

#include "core/run/progress_line.h"
#include "tests/support/test_program.h"

using namespace vergence;
using nlohmann::json;

namespace {

json state(const char* name)
{
    return {{"type", "state"}, {"state", name}};
}

json phase(const char* name)
{
    return {{"type", "phase"}, {"number", 1}, {"count", 3}, {"name", name}};
}

json progress(std::int64_t step, std::int64_t total)
{
    return {{"type", "progress"}, {"step", step}, {"total", total}, {"wall_s", 0.0}};
}

constexpr int kWide = 500;

} // namespace

class TestProgressLine : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aStartNamesItsPhase()
    {
        ProgressLine line;
        line.hear({state("Starting"), phase("loading data")});
        line.text(5, kWide);
        QCOMPARE(line.text(8, kWide), std::string("Starting (loading data), 0 steps, 3 s"));
    }
    void anUnknownTotalCountsStepsAndTime()
    {
        ProgressLine line;
        line.hear({state("Running")});
        line.text(0, kWide);
        line.hear({progress(1234, 0)});
        QCOMPARE(line.text(75, kWide), std::string("Running, 1234 steps, 1 min 15 s"));
        QCOMPARE(line.text(3 * 3600 + 120, kWide), std::string("Running, 1234 steps, 3 h 02 min"));
    }
    void aKnownTotalHasBarPercentRateAndTheRest()
    {
        ProgressLine line;
        line.hear({state("Running"), progress(0, 200)});
        line.text(10, kWide);
        line.hear({progress(50, 200)});
        QCOMPARE(line.text(15, kWide),
                 std::string("[######..................]  25 % 50 of 200 steps, 10/s, 15 s left"));
    }
    void theRestIsNotGuessedTooEarly_data()
    {
        QTest::addColumn<int>("step");
        QTest::addColumn<double>("seconds");
        QTest::addColumn<bool>("isShown");
        QTest::newRow("no step yet") << 0 << 60.0 << false;
        QTest::newRow("early") << 19 << 9.9 << false;
        QTest::newRow("two percent") << 20 << 0.5 << true;
        QTest::newRow("ten seconds") << 1 << 10.0 << true;
    }
    void theRestIsNotGuessedTooEarly()
    {
        QFETCH(int, step);
        QFETCH(double, seconds);
        QFETCH(bool, isShown);
        ProgressLine line;
        line.hear({state("Running"), progress(0, 1000)});
        line.text(0, kWide);
        line.hear({progress(step, 1000)});
        const std::string text = line.text(seconds, kWide);
        QVERIFY2((text.find(" left") != std::string::npos) == isShown, text.c_str());
    }
    void aResumedRunIsRatedFromWhereItWentOn()
    {
        ProgressLine line;
        line.hear({state("Running"), progress(100, 200)});
        line.text(0, kWide);
        line.hear({progress(120, 200)});
        const std::string text = line.text(10, kWide);
        QVERIFY2(text.find(", 2/s, 40 s left") != std::string::npos, text.c_str());
    }
    /// What takes longer than a step says what it is, in place of a rest that it is no part of.
    void aPhaseBetweenStepsIsNamedWhileItLasts()
    {
        ProgressLine line;
        line.hear({phase("loading data"), state("Running"), progress(0, 100)});
        line.text(0, kWide);
        line.hear({progress(50, 100)});
        QCOMPARE(line.text(20, kWide),
                 std::string("[############............]  50 % 50 of 100 steps, 2.5/s, 20 s left"));
        line.hear({phase("testing, 8 of 64 clips, 7 s left")});
        QCOMPARE(line.text(20, kWide), std::string("[#####.....]  50 % 50 of 100 steps, testing, "
                                                   "8 of 64 clips, 7 s left"));
        line.hear({phase("")});
        QVERIFY(line.text(21, kWide).ends_with("s left"));
    }
    void otherStatesAreNamedAndPromiseNothing()
    {
        ProgressLine line;
        line.hear({state("Running"), progress(0, 100)});
        line.text(0, kWide);
        line.hear({progress(50, 100), state("Paused")});
        const std::string text = line.text(20, kWide);
        QVERIFY2(text.find(", Paused") != std::string::npos, text.c_str());
        QVERIFY2(text.find("left") == std::string::npos, text.c_str());
    }
    void theBarIsFullAtTheEndAndNeverLonger()
    {
        ProgressLine line;
        line.hear({state("Completed"), progress(300, 200)});
        const std::string text = line.text(0, kWide);
        QVERIFY2(text.starts_with("[########################] "), text.c_str());
    }
    void theLineFitsTheTerminal()
    {
        ProgressLine line;
        line.hear({state("Running"), progress(5, 10)});
        QCOMPARE(line.text(0, 20).size(), std::size_t{20});
        QVERIFY(line.text(0, 0).size() > 20); // width unknown
    }
};

VERGENCE_TEST(TestProgressLine)
#include "tst_progress_line.moc"
