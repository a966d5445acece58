#include <QInputDialog>
#include <QLineEdit>
#include <QTest>

#include "core/artifact/manifest.h"
#include "core/base/file.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

/// S12: I want more steps afterwards, or the same again with another setting.
class TestExtend : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aCompletedRunGoesOn()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 30\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        QTRY_VERIFY(gui.findAction("extend")->isEnabled());
        gui.findAction("extend")->trigger();
        auto* dialog = gui.find<QInputDialog>("extendDialog");
        QVERIFY(dialog != nullptr);
        dialog->setIntValue(50);
        dialog->accept();
        QTRY_COMPARE(gui.window().runs().find(run)->total, 80);
        QVERIFY(gui.waitState(run, RunState::Completed));
        QCOMPARE(gui.window().runs().rowCount(), 1); // the same run
        QTRY_COMPARE(gui.valuesOf(run, "train/loss").size(), std::size_t{80});
        const Series* loss =
            gui.window().runs().session(run)->client().metrics().find("train/loss");
        for (std::size_t i = 0; i < loss->size(); ++i) // one curve
            QCOMPARE(loss->steps()[i], static_cast<std::int64_t>(i));
        const auto manifest = readManifest(gui.window().runs().find(run)->folder);
        QCOMPARE(manifest.at("resumed").at(0).at("step").get<int>(), 30);
    }
    void anotherSettingIsAnotherRunAndTouchesNothing()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 30\nrate = 2.0\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        const RunFolder folder = gui.window().runs().find(run)->folder;
        const std::string before = readFile(folder.metrics());
        gui.findAction("useConfig")->trigger();
        gui.window().docks().apply("Setup");
        QCOMPARE(gui.find<QLineEdit>("configForm/rate")->text().toDouble(), 2.0);
        gui.type("rate", "3");
        gui.click("startButton");
        const QString other = gui.window().currentRun();
        QVERIFY(other != run);
        QVERIFY(gui.waitState(other, RunState::Completed));
        QCOMPARE(readFile(folder.metrics()), before);
        QTRY_COMPARE(gui.valuesOf(other, "train/loss").size(), std::size_t{30});
        QVERIFY(gui.valuesOf(other, "train/loss") != gui.valuesOf(run, "train/loss"));
    }
};

VERGENCE_GUI_TEST(TestExtend)
#include "tst_s12_extend.moc"
