#include <QAbstractItemView>
#include <QLineEdit>
#include <QTest>
#include <QToolButton>

#include "app/shell/watchdog.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

/// S15: I look for the error in a noisy log.
class TestNoisyLog : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theErrorIsFoundInTheFlood()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        Watchdog watchdog;
        const QString run = gui.start("chaos", "[run]\nsteps = 100000\nstep_ms = 20\n"
                                               "[chaos]\nflood = 5000\nthrow_at = 150\n");
        QVERIFY(gui.waitState(run, RunState::Failed, 60'000));
        LogModel& log = gui.window().runs().session(run)->log();
        QTRY_VERIFY2(log.rowCount() > 10'000, qPrintable(QString::number(log.rowCount())));
        QTRY_VERIFY(log.count(LogLevel::Error) >= 1);
        qInfo("%s", watchdog.report().constData());

        gui.window().docks().reveal("logDock");
        gui.findAction("nextProblem")->trigger(); // F8
        auto* view = gui.find<QAbstractItemView>("logView");
        QVERIFY(view->currentIndex().isValid());
        const QString line = view->currentIndex().siblingAtColumn(LogModel::Text).data().toString();
        QVERIFY2(line.contains("at step 150"), qPrintable(line));
    }
    void aMistakeInTheExpressionIsSaid()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run =
            gui.start("chaos", "[run]\nsteps = 5\nstep_ms = 50\n[chaos]\nflood = 200\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        gui.window().docks().reveal("logDock");
        auto* view = gui.find<QAbstractItemView>("logView");
        QTRY_VERIFY(view->model()->rowCount() > 20);
        gui.find<QToolButton>("logRegularExpression")->setChecked(true);
        auto* filter = gui.find<QLineEdit>("logFilter");
        filter->setText("line 1\\d of");
        QTRY_COMPARE(view->model()->rowCount(), 10);
        filter->setText("line 1(");
        QTRY_VERIFY(gui.find<QWidget>("logFeedback")->isVisible());
        QVERIFY(!gui.textOf("logFeedback").isEmpty());
        QCOMPARE(view->model()->rowCount(), 10); // not an empty list
        filter->clear();
        QVERIFY(view->model()->rowCount() > 20);
    }
};

VERGENCE_GUI_TEST(TestNoisyLog)
#include "tst_s15_noisy_log.moc"
