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
