#include <memory>

#include <QComboBox>
#include <QDialog>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTest>

#include "app/shell/watchdog.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

/// Work in one piece that is a fault on any machine: a file read, a model built, pictures by the
/// hundred. The 50 ms of a quiet machine are for people to read off the figures.
constexpr double kFaultMs = 500;

/// Watches the window through one act after another, and prints each.
class Acts {
public:
    void begin(const QString& name)
    {
        end();
        m_name = name;
        m_watchdog = std::make_unique<Watchdog>();
    }
    void end()
    {
        if (m_watchdog == nullptr)
            return;
        const QJsonObject report = QJsonDocument::fromJson(m_watchdog->report()).object();
        qInfo("%-28s longest %3.0f ms, of work %3.0f ms; over 50 ms: %d, of work %d",
              qPrintable(m_name), m_watchdog->longestBlockMs(), m_watchdog->longestBusyMs(),
              m_watchdog->blockCount(), report["busy_over_50_ms"].toInt());
        const QJsonArray blocks = report["blocks"].toArray();
        for (qsizetype i = 0; i < blocks.size(); ++i) {
            const QJsonObject block = blocks[i].toObject();
            qInfo(
                "   %.0f ms, of work %.0f ms: %s", block["blocked_ms"].toDouble(),
                block["busy_ms"].toDouble(),
                QJsonDocument(block["stack"].toArray()).toJson(QJsonDocument::Compact).constData());
        }
        m_longest = std::max(m_longest, m_watchdog->longestBusyMs());
        m_watchdog.reset();
    }
    double longestMs() const { return m_longest; }

private:
    QString m_name;
    std::unique_ptr<Watchdog> m_watchdog;
    double m_longest = 0;
};

} // namespace

/// The window is not stopped by a run that starts, goes on and ends, nor by what is done with one:
/// prints the longest piece of each act (50 ms are allowed on a quiet machine) and fails where it
/// does in the window what belongs elsewhere. Processor time counts, as other programs may hold the
/// cores.
class TestUnblocked : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        // The program does so itself, in the background.
        QProcess warmUp;
        warmUp.start(VERGENCE_BINARY_DIR "/bin/vergence-studio", {"--warm-shaders"});
        QVERIFY(warmUp.waitForFinished(60'000));
    }
    void aDemoNeverStopsTheWindow_data()
    {
        QTest::addColumn<QString>("plugin");
        for (const char* plugin :
             {"light_field", "sugar", "mc_embedding", "live_diffusion", "foveated_vlm"})
            QTest::newRow(plugin) << plugin;
    }
    void aDemoNeverStopsTheWindow()
    {
        QFETCH(QString, plugin);
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QTest::qWait(1000); // the window itself has settled
        Acts acts;
        acts.begin("start of the run");
        gui.window().startDemo(plugin);
        QTRY_VERIFY(!gui.window().currentRun().isEmpty());
        const QString run = gui.window().currentRun();
        QVERIFY(gui.waitState(run, RunState::Running));
        QTest::qWait(3000); // first texts, charts and pictures
        acts.begin("tabs of the docks");
        for (const char* dock : {"logDock", "queueDock", "devicesDock", "problemsDock",
                                 "inspectorDock", "setupDock", "chartsDock"}) {
            gui.window().docks().reveal(dock);
            QTest::qWait(200);
        }
        acts.begin("dark");
        changeTheme(gui, "dark");
        acts.begin("light");
        changeTheme(gui, "light");
        acts.begin("until the end");
        QVERIFY(gui.waitState(run, RunState::Completed));
        QTest::qWait(2000); // the result
        acts.begin("layouts");
        for (const QString& layout : DockLayout::names()) {
            gui.window().docks().apply(layout);
            QTest::qWait(300);
        }
        gui.window().docks().apply("Train");
        acts.end();
        gui.restart();
        QTRY_VERIFY(gui.window().runs().find(run) != nullptr &&
                    gui.window().runs().find(run)->isLoaded);
        QVERIFY(gui.waitForPlugins());
        QTest::qWait(1000);
        acts.begin("opening the finished run");
        gui.window().openRun(run, true);
        QTest::qWait(5000);
        acts.end();
        gui.endRuns();
        QVERIFY2(acts.longestMs() < kFaultMs, qPrintable(QString::number(acts.longestMs())));
    }

private:
    static void changeTheme(GuiHarness& gui, const QString& theme)
    {
        gui.findAction("preferences")->trigger();
        auto* combo = gui.find<QComboBox>("prefTheme");
        QVERIFY(combo != nullptr);
        combo->setCurrentIndex(combo->findData(theme));
        QTest::qWait(500);
        gui.find<QDialog>("preferencesDialog")->close();
        QTest::qWait(100);
    }
};

VERGENCE_GUI_TEST(TestUnblocked)
#include "tst_unblocked.moc"
