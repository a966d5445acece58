#include <QComboBox>
#include <QDialog>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QTest>

#include "tests/support/gui/gui_harness.h"

using namespace vergence;

/// S8: I let it work overnight.
class TestNight : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theOrderIsKeptAndAFailureIsFollowedByTheNext()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        RunQueue& queue = gui.window().queue();
        queue.setPaused(true);
        queue.add({"chaos", {}, {"throw_at=1", "exit_code=1", "steps=3"}, {}});
        for (const char* rate : {"rate=1", "rate=2", "rate=3"})
            queue.add({"chaos", {}, {rate, "steps=3"}, {}});
        QStringList started;
        connect(&queue, &RunQueue::runStarted, this, [&](const QString& run) { started << run; });
        queue.setPaused(false);
        QTRY_COMPARE(queue.item(3).state, RunQueue::ItemState::Done);
        QCOMPARE(queue.item(0).state, RunQueue::ItemState::Failed);
        QTRY_VERIFY(queue.index(0, RunQueue::Status).data().toString().contains("code 1"));
        QCOMPARE(started.size(), 4);
        for (int row = 0; row < 4; ++row)
            QCOMPARE(queue.item(row).runId, started[row]);
        for (int row = 1; row < 4; ++row)
            QCOMPARE(gui.window().runs().find(started[row])->state, RunState::Completed);
    }
    void aSweepIsAGroupColouredByItsSetting()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        gui.window().setup().choose("chaos", {});
        gui.window().setup().loadToml("[run]\nsteps = 3\n", "test", "chaos");
        RunQueue& queue = gui.window().queue();
        queue.setPaused(true);
        queue.add({"chaos", {}, {"throw_at=1", "exit_code=1", "steps=3"}, {}});
        gui.findAction("sweep")->trigger();
        QTRY_VERIFY(gui.find<QDialog>("sweepDialog") != nullptr);
        auto* field = gui.find<QComboBox>("sweepField");
        field->setCurrentIndex(field->findData("rate"));
        QVERIFY(field->currentIndex() >= 0);
        auto* add = gui.find<QPushButton>("sweepAdd");
        auto* list = gui.find<QLineEdit>("sweepList");
        list->setText("1, 2, 101");
        QVERIFY(!add->isEnabled());
        QVERIFY2(gui.textOf("sweepSummary").contains("101 is above"),
                 qPrintable(gui.textOf("sweepSummary")));
        list->setText("1, 2, 4");
        QVERIFY(gui.textOf("sweepSummary").startsWith("3 runs: 1, 2, 4."));
        bool hasEarlier = false;
        for (int row = 0; row < gui.window().runs().rowCount(); ++row)
            hasEarlier |= gui.window().runs().entry(row).state == RunState::Completed;
        QVERIFY(
            gui.textOf("sweepSummary").contains(hasEarlier ? "earlier run" : "No estimate yet"));
        QTRY_VERIFY(add->isEnabled()); // once every run was checked
        gui.shoot("sweep_dialog");
        add->click();
        QCOMPARE(queue.rowCount(), 4);
        QCOMPARE(queue.item(2).draft.flags, QStringList({"steps=3", "rate=2"}));
        QVERIFY(queue.isPaused()); // nothing starts by itself
        queue.setPaused(false);
        QTRY_COMPARE(queue.item(3).state, RunQueue::ItemState::Done);
        QCOMPARE(queue.item(0).state, RunQueue::ItemState::Failed); // and the sweep went on
        RunListModel& runs = gui.window().runs();
        for (int row = 1; row < 4; ++row) {
            const RunEntry* run = runs.find(queue.item(row).runId);
            QVERIFY(run->isCharted && run->sweep);
            QCOMPARE(run->sweep->group, runs.find(queue.item(1).runId)->sweep->group);
            QCOMPARE(run->colour, sweepColour(0.5 * (row - 1)));
            QVERIFY2(run->name.endsWith(QString("rate=%1").arg(1 << (row - 1))),
                     qPrintable(run->name));
            // Kept with the run, for the next time it is seen.
            QTRY_COMPARE(loadRunEntry(run->folder).name, run->name);
            QCOMPARE(loadRunEntry(run->folder).sweep->value, QString::number(1 << (row - 1)));
        }
        gui.shoot("sweep_done");
    }
    void aWaitingSweepSurvivesARestart()
    {
        GuiHarness gui;
        RunQueue& queue = gui.window().queue();
        queue.setPaused(true);
        Field rate;
        rate.key = "rate";
        for (const RunDraft& draft : sweepDrafts({"chaos", {}, {}, {}}, rate, {"1", "2", "3"}))
            queue.add(draft);
        gui.restart();
        RunQueue& again = gui.window().queue();
        QCOMPARE(again.waitingCount(), 3);
        QCOMPARE(again.item(1).draft.sweep->value, QString("2"));
        QCOMPARE(again.item(1).draft.sweep->share, 0.5);
        for (int row = 2; row >= 0; --row)
            again.remove(row);
    }
    void stopIfFailedLeavesTheRestWaiting()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        RunQueue& queue = gui.window().queue();
        queue.setPaused(true);
        queue.setContinuesAfterFailure(false);
        queue.add({"chaos", {}, {"throw_at=1", "exit_code=1", "steps=3"}, {}});
        queue.add({"chaos", {}, {"steps=3"}, {}});
        queue.setPaused(false);
        QTRY_VERIFY(queue.isPaused());
        QCOMPARE(queue.item(1).state, RunQueue::ItemState::Waiting);
        queue.remove(1);
    }
    void aWaitingRunCanBeDraggedToAnotherPlace()
    {
        GuiHarness gui;
        RunQueue& queue = gui.window().queue();
        queue.setPaused(true);
        for (const char* steps : {"steps=1", "steps=2", "steps=3"})
            queue.add({"chaos", {}, {steps}, {}});
        const auto drop = [&queue](int from, int before) {
            const std::unique_ptr<QMimeData> data(queue.mimeData({queue.index(from, 0)}));
            return queue.dropMimeData(data.get(), Qt::MoveAction, before, 0, {});
        };
        const auto order = [&queue] {
            QString steps;
            for (int row = 0; row < queue.rowCount(); ++row)
                steps += queue.item(row).draft.flags.front().back();
            return steps;
        };
        QVERIFY(queue.flags(queue.index(0, 0)).testFlag(Qt::ItemIsDragEnabled));
        QVERIFY(drop(2, 0));
        QCOMPARE(order(), QString("312"));
        QVERIFY(drop(0, 3));
        QCOMPARE(order(), QString("123"));
        QVERIFY(drop(0, 2));
        QCOMPARE(order(), QString("213"));
        QMimeData foreign;
        QVERIFY(!queue.dropMimeData(&foreign, Qt::MoveAction, 0, 0, {}));
        for (int row = 2; row >= 0; --row)
            queue.remove(row);
    }
    void orderCanBeChangedAndIsKept()
    {
        GuiHarness gui;
        RunQueue& queue = gui.window().queue();
        queue.setPaused(true);
        queue.add({"chaos", {}, {"steps=1"}, {}});
        queue.add({"chaos", {}, {"steps=2"}, {}});
        queue.move(1, -1);
        QCOMPARE(queue.item(0).draft.flags, QStringList("steps=2"));
        gui.restart();
        RunQueue& again = gui.window().queue();
        QCOMPARE(again.waitingCount(), 2);
        QVERIFY(again.isPaused()); // nothing starts by itself
        QCOMPARE(again.item(0).draft.flags, QStringList("steps=2"));
        again.remove(0);
        again.remove(0);
    }
};

VERGENCE_GUI_TEST(TestNight)
#include "tst_s08_night.moc"
