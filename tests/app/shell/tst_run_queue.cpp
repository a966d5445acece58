#include <QMimeData>
#include <QTest>

#include "tests/support/gui/gui_harness.h"

using namespace vergence;

/// Runs of the chaos plugin one after the other.
class TestRunQueue : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aFailureIsFollowedByTheNextRun()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        RunQueue& queue = gui.window().queue();
        queue.setPaused(true);
        queue.add({"chaos", {}, {"throw_at=1", "exit_code=1", "steps=3"}, {}});
        queue.add({"chaos", {}, {"steps=3"}, {}});
        queue.setPaused(false);
        QTRY_COMPARE_WITH_TIMEOUT(static_cast<int>(queue.item(1).state),
                                  static_cast<int>(RunQueue::ItemState::Done), 60'000);
        QCOMPARE(static_cast<int>(queue.item(0).state),
                 static_cast<int>(RunQueue::ItemState::Failed));
        QTRY_VERIFY(queue.index(0, RunQueue::Status).data().toString().contains("code 1"));
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
        QTRY_VERIFY_WITH_TIMEOUT(queue.isPaused(), 60'000);
        QCOMPARE(static_cast<int>(queue.item(1).state),
                 static_cast<int>(RunQueue::ItemState::Waiting));
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

VERGENCE_GUI_TEST_MAIN(TestRunQueue)
#include "tst_run_queue.moc"
