#include <algorithm>

#include <QCryptographicHash>
#include <QElapsedTimer>
#include <QPushButton>
#include <QTest>

#include "app/charts/chart_card.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

QByteArray hashOf(const QImage& image)
{
    return QCryptographicHash::hash(
        QByteArrayView(reinterpret_cast<const char*>(image.constBits()), image.sizeInBytes()),
        QCryptographicHash::Sha1);
}

ChartCard* chartOf(MainWindow& window, const QString& series)
{
    for (ChartCard* card : window.findChildren<ChartCard*>())
        if (card->id() == series && card->isVisible())
            return card;
    return nullptr;
}

} // namespace

/// S2: I press the one big button. The demo is a real run of the light-field lab.
class TestDemo : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theBigButtonEndsInAResult()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        std::vector<RunState> states;
        connect(&gui.window().runs(), &RunListModel::runStateChanged, this,
                [&](const QString&, RunState state) { states.push_back(state); });
        QElapsedTimer timer;
        timer.start();
        gui.click("demoButton");
        QCOMPARE(gui.window().docks().current(), QString("Train"));
        QTRY_VERIFY(!gui.window().currentRun().isEmpty());
        const QString run = gui.window().currentRun();
        QCOMPARE(gui.window().runs().find(run)->state, RunState::Starting);

        int changes = 0;
        QByteArray last;
        RunView* view = gui.window().views().current();
        QVERIFY(view != nullptr);
        connect(&view->pump(), &FramePump::frameShown, this, [&] {
            const QByteArray now = hashOf(view->panel().grabView());
            changes += !last.isEmpty() && now != last ? 1 : 0;
            last = now;
        });
        QVERIFY(gui.waitState(run, RunState::Running));
        gui.shoot("demo_running");
        QVERIFY(gui.waitState(run, RunState::Completed));
        qInfo("completed after %lld ms, the preview changed %d times", timer.elapsed(), changes);

        const std::vector<RunState> wanted{RunState::Running, RunState::Completed};
        std::vector<RunState> seen;
        for (const RunState state : states)
            if (std::find(wanted.begin(), wanted.end(), state) != wanted.end() &&
                (seen.empty() || seen.back() != state))
                seen.push_back(state);
        QCOMPARE(seen, wanted);
        QVERIFY2(changes >= 3, qPrintable(QString::number(changes)));

        QTRY_VERIFY(gui.valuesOf(run, "train/loss").size() >= 20);
        QTRY_VERIFY(chartOf(gui.window(), "train/loss") != nullptr);
        ChartCard* chart = chartOf(gui.window(), "train/loss");
        QTRY_VERIFY(chart->drawnPoints() >= 20);
        const std::vector<double> loss = gui.valuesOf(run, "train/loss");
        qInfo("loss %g -> %g in %zu points", loss.front(), loss.back(), loss.size());
        QVERIFY(loss.back() < 0.2 * loss.front());

        QTRY_VERIFY(gui.find<QWidget>("successBar")->isVisible());
        const QString sentence = gui.textOf("successSentence");
        QVERIFY2(sentence.startsWith("Done in") && sentence.contains("→"), qPrintable(sentence));
        for (const char* offer : {"successCompare", "successExport", "successAgain"}) {
            auto* button = gui.find<QPushButton>(offer);
            QVERIFY2(button->isVisible() && button->isEnabled(), offer);
        }
        gui.shoot("demo_done");
        gui.click("successCompare");
        QTRY_VERIFY(gui.find<QWidget>("compareView")->isVisible());
        gui.click("successExport");
        QTRY_VERIFY(gui.find<QDialog>("exportDialog")->isVisible());
        gui.find<QDialog>("exportDialog")->close();
        gui.click("successAgain");
        QVERIFY(gui.find<QPushButton>("startButton")->isEnabled());
    }
};

VERGENCE_GUI_TEST(TestDemo)
#include "tst_s02_demo.moc"
