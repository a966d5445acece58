#include <algorithm>
#include <map>

#include <QRandomGenerator>
#include <QStatusBar>
#include <QTest>

#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

/// What became of the requests that a window made of one run.
class RequestBook : public QObject {
public:
    explicit RequestBook(RunClient& client)
    {
        connect(&client, &RunClient::requestAcknowledged, this,
                [this](const QString& request, double milliseconds) {
                    if (request != "view" && request != "watch")
                        acknowledged[request].push_back(milliseconds);
                });
        connect(&client, &RunClient::requestWaiting, this,
                [this](const QString& request) { ++waiting[request]; });
    }
    std::size_t count(const QString& request) const
    {
        const auto found = acknowledged.find(request);
        return found == acknowledged.end() ? 0 : found->second.size();
    }
    /// Every answer came within 2 s, or the window was told that it waits.
    bool isHonest() const
    {
        for (const auto& [request, times] : acknowledged) {
            int late = 0;
            for (const double milliseconds : times)
                late += milliseconds > 2000 + 250 ? 1 : 0; // looked at every 250 ms
            const auto told = waiting.find(request);
            if (late > (told == waiting.end() ? 0 : told->second))
                return false;
        }
        return true;
    }
    QString text() const
    {
        QStringList lines;
        for (const auto& [request, times] : acknowledged)
            lines << QString("%1 x%2: longest %3 ms")
                         .arg(request)
                         .arg(times.size())
                         .arg(*std::max_element(times.begin(), times.end()), 0, 'f', 1);
        return lines.join(", ");
    }

    std::map<QString, std::vector<double>> acknowledged;
    std::map<QString, int> waiting;
};

} // namespace

/// S9: I click around impatiently.
class TestImpatience : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void pauseResumeAndStopAreAnsweredAndShown()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run =
            gui.start("chaos", "[run]\nsteps = 4000\nstep_ms = 10\nsave_ms = 300\n");
        RequestBook book(gui.window().runs().session(run)->client());
        QVERIFY(gui.waitState(run, RunState::Running));
        gui.findAction("pause")->trigger(); // at once after the start
        QVERIFY(gui.waitState(run, RunState::Paused));
        QTRY_COMPARE(book.count("pause"), std::size_t{1});
        QVERIFY2(gui.window().statusBar()->currentMessage().contains("ms"),
                 qPrintable(gui.window().statusBar()->currentMessage()));
        gui.findAction("pause")->trigger(); // now it resumes
        QVERIFY(gui.waitState(run, RunState::Running));
        gui.findAction("checkpoint")->trigger();
        gui.findAction("stop")->trigger(); // while the checkpoint is saved
        QVERIFY(gui.waitState(run, RunState::Stopped));
        QTRY_COMPARE(book.count("stop"), std::size_t{1});
        QCOMPARE(book.count("resume"), std::size_t{1});
        QCOMPARE(book.count("checkpoint"), std::size_t{1});
        qInfo("%s", qPrintable(book.text()));
        QVERIFY2(book.isHonest(), qPrintable(book.text()));
    }
    void pauseBeforeTheRunIsUpIsNotLost()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 4000\nstep_ms = 10\n");
        RunClient& client = gui.window().runs().session(run)->client();
        RequestBook book(client);
        client.pause(); // long before the worker can hear it
        QTRY_COMPARE(book.count("pause"), std::size_t{1});
        const auto isLegal = [&] {
            const RunState state = gui.window().runs().find(run)->state;
            return state == RunState::Paused || state == RunState::Running;
        };
        QTRY_VERIFY(isLegal());
        gui.window().perform(RunAction::Stop, {run});
        QVERIFY(gui.waitState(run, RunState::Stopped));
    }
    void fiveHundredClicksBreakNothing()
    {
        {
            GuiHarness gui;
            QVERIFY(gui.waitForPlugins());
            const QString run =
                gui.start("chaos", "[run]\nsteps = 100000\nstep_ms = 2\nsave_ms = 50\n");
            RequestBook book(gui.window().runs().session(run)->client());
            QRandomGenerator random(7);
            const QStringList ids{"pause",     "checkpoint",  "fullScreen", "resetLayout", "newRun",
                                  "startPage", "nextProblem", "useConfig",  "explore",     "pause"};
            for (int click = 0; click < 500; ++click) {
                QAction* action = gui.findAction(ids[random.bounded(static_cast<int>(ids.size()))]);
                if (action->isEnabled())
                    action->trigger();
                QTest::qWait(2); // events are served between clicks, as with a real hand
            }
            if (gui.window().isFullScreen())
                gui.findAction("fullScreen")->trigger();
            const auto isSettled = [&] {
                const RunState state = gui.window().runs().find(run)->state;
                return state == RunState::Running || state == RunState::Paused;
            };
            QTRY_VERIFY(isSettled());
            gui.window().perform(RunAction::Stop, {run});
            QVERIFY(gui.waitState(run, RunState::Stopped));
            qInfo("%s", qPrintable(book.text()));
            QVERIFY2(book.isHonest(), qPrintable(book.text()));
            QVERIFY(book.count("pause") > 10);
        }
        // The worker stays a while for those who look at results, and ends with the window.
        QTRY_VERIFY(processesWith(GuiHarness::folder()).empty());
    }
};

VERGENCE_GUI_TEST(TestImpatience)
#include "tst_s09_impatience.moc"
