#include <QSignalSpy>
#include <QTest>

#include "app/shell/log_filter.h"
#include "app/shell/log_intake.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

LogRow line(const QString& text, LogLevel level = LogLevel::Info)
{
    return {"2026-03-02T10:15:07.123Z", "run", text, level, 1};
}

} // namespace

class TestLogModel : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void repeatsCollapseWithACount()
    {
        LogModel log;
        log.append({line("a"), line("a")});
        log.append({line("a"), line("b"), line("b")});
        QCOMPARE(log.rowCount(), 2);
        QCOMPARE(log.row(0).repeats, 3);
        QCOMPARE(log.row(1).repeats, 2);
        QCOMPARE(log.count(LogLevel::Info), 5);
        QVERIFY(log.index(0, LogModel::Text).data().toString().contains("× 3"));
    }
    void sameTextOfAnotherLevelIsAnotherLine()
    {
        LogModel log;
        log.append({line("a"), line("a", LogLevel::Error)});
        QCOMPARE(log.rowCount(), 2);
    }
    void capacityDropsTheOldest()
    {
        LogModel log(nullptr, 100);
        for (int i = 0; i < 250; ++i)
            log.append({line(QString::number(i))});
        QVERIFY(log.rowCount() <= 100);
        QCOMPARE(log.row(log.rowCount() - 1).text, QString("249"));
    }
    void aBatchAboveTheCapacityKeepsItsEnd()
    {
        LogModel log(nullptr, 10);
        std::vector<LogRow> rows;
        for (int i = 0; i < 25; ++i)
            rows.push_back(line(QString::number(i)));
        log.append(rows);
        QCOMPARE(log.rowCount(), 10);
        QCOMPARE(log.row(9).text, QString("24"));
    }
    void anIntakeHandsOnBatchesInOrder()
    {
        LogIntake intake(10, 100);
        for (int i = 0; i < 25; ++i)
            intake.add(line(QString::number(i)));
        QCOMPARE(intake.take().size(), std::size_t(10));
        QCOMPARE(intake.take().front().text, QString("10"));
        QCOMPARE(intake.take().size(), std::size_t(5));
        QVERIFY(intake.isEmpty());
        QCOMPARE(intake.droppedCount(), std::size_t(0));
    }
    void aFloodIsCutAndCountedButErrorsStay()
    {
        LogIntake intake(10, 50);
        intake.add(line("the cause", LogLevel::Error));
        for (int i = 0; i < 500; ++i)
            intake.add(line(QString::number(i)));
        std::vector<LogRow> all;
        while (!intake.isEmpty())
            for (LogRow& row : intake.take())
                all.push_back(row);
        QVERIFY(all.size() <= 52);
        QVERIFY(all[0].text.contains(QString("%L1").arg(intake.droppedCount())));
        QCOMPARE(all[1].text, QString("the cause"));
        QCOMPARE(all.back().text, QString("499"));
        QCOMPARE(intake.droppedCount() + all.size() - 1, std::size_t(501));
    }
    void filterByTextLevelAndExpression()
    {
        LogModel log;
        log.append({line("loading images"), line("step 1 of 20"),
                    line("disk is nearly full", LogLevel::Warning)});
        LogFilter filter;
        filter.setSourceModel(&log);
        QVERIFY(filter.setPattern("IMAGES", false).isEmpty());
        QCOMPARE(filter.rowCount(), 1);
        QVERIFY(filter.setPattern("step \\d+", true).isEmpty());
        QCOMPARE(filter.rowCount(), 1);
        QVERIFY(filter.setPattern({}, false).isEmpty());
        filter.setLevelShown(LogLevel::Info, false);
        QCOMPARE(filter.rowCount(), 1);
    }
    void aWrongExpressionKeepsTheEarlierFilter()
    {
        LogModel log;
        log.append({line("a"), line("b")});
        LogFilter filter;
        filter.setSourceModel(&log);
        QVERIFY(filter.setPattern("a", true).isEmpty());
        const QString fault = filter.setPattern("a(", true);
        QVERIFY(fault.contains("character"));
        QCOMPARE(filter.rowCount(), 1);
    }
};

VERGENCE_WINDOW_TEST(TestLogModel)
#include "tst_log_model.moc"
