#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QTest>

#include "app/forms/config_form.h"
#include "core/run/run_client.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

const char* const kStream = "[general]\nparts = [\"stream\"]\n"
                            "[network]\nmodel_size = \"pico\"\nframe_size = 64\n"
                            "weights = \"shipped\"\n[sampler]\nsteps = 2\n[switches]\n"
                            "precision = \"fp32\"\n[parts]\nstream_frames = 1000000\n"
                            "[output]\nexport_clip = \"none\"\n";

} // namespace

/// A person moves the switches of a live denoiser in the form while it streams.
class TestLiveSwitches : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void switchesMoveWhileItStreams()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("live_diffusion", kStream);
        QVERIFY(gui.waitState(run, RunState::Running));
        const auto combo = [&](const char* key) {
            return gui.find<QComboBox>(QStringLiteral("configForm/") + key);
        };
        const auto rows = [&] {
            for (const auto& table : gui.window().runs().find(run)->session->client().tables())
                if (table.value("id", "") == "switches")
                    return table.at("rows");
            return nlohmann::json::array();
        };
        const auto newest = [&] {
            const auto all = rows();
            return all.empty() ? QString()
                               : QString::fromStdString(all.back()[0].get<std::string>());
        };
        QTRY_VERIFY(gui.find<QLineEdit>("configForm/stream_frames")->isReadOnly());
        for (const char* key : {"precision", "layout", "attention", "model_size", "sampler"})
            QVERIFY2(combo(key)->isEnabled(), key);
        for (const char* key : {"steps", "channel_rounding", "frame_size"})
            QVERIFY2(!gui.find<QLineEdit>(QStringLiteral("configForm/") + key)->isReadOnly(), key);

        // What this machine lacks cannot be chosen, and says why.
        const auto reason = [&](const char* value) {
            return combo("precision")
                ->itemData(combo("precision")->findText(value), Qt::ToolTipRole)
                .toString();
        };
        const auto isOpen = [&](const char* value) {
            QComboBox* box = combo("precision");
            const QModelIndex at = box->model()->index(box->findText(value), 0);
            return box->model()->flags(at).testFlag(Qt::ItemIsEnabled);
        };
        QTRY_VERIFY(!isOpen("tf32"));
        QVERIFY(reason("tf32").contains("tensor cores"));
        QVERIFY(isOpen("fp32") && reason("fp32").isEmpty());
        QCOMPARE(isOpen("bf16"), reason("bf16").isEmpty());
        QVERIFY(!gui.find<QWidget>("configForm/graph")->isEnabled());

        choose(combo("layout"), "nchw");
        QTRY_COMPARE(newest(), QString("layout nhwc to nchw"));
        QElapsedTimer back; // this plan is there already
        back.start();
        choose(combo("layout"), "nhwc");
        QTRY_COMPARE(newest(), QString("layout nchw to nhwc"));
        qInfo("back after %lld ms", back.elapsed());
        if (isOpen("bf16")) {
            choose(combo("precision"), "bf16");
            QTRY_COMPARE(newest(), QString("precision fp32 to bf16"));
            gui.find<QComboBox>("configLevel")->setCurrentText("Live");
            gui.find<ConfigForm>("configForm")->focusField("precision");
            QTest::qWait(1500);
            gui.shoot("live_switches");
            choose(combo("precision"), "fp32");
            QTRY_COMPARE(newest(), QString("precision bf16 to fp32"));
        }
        // The lab's own rules hold: no weights of that size come with it.
        choose(combo("model_size"), "nano");
        QTRY_VERIFY(gui.window().problems().rowCount() > 0);
        QTRY_COMPARE(combo("model_size")->currentText(), QString("pico")); // what it still is
        choose(combo("weights"), "bench");
        QTRY_COMPARE(newest(), QString("weights shipped to bench"));
        choose(combo("model_size"), "nano");
        QTRY_COMPARE(newest(), QString("size Pico to Nano, grid 32 to 16"));
        QCOMPARE(gui.window().runs().find(run)->state, RunState::Running);
        // What changes elsewhere is shown, too.
        RunClient elsewhere(gui.window().runs().find(run)->folder);
        elsewhere.attach();
        QTRY_VERIFY(elsewhere.isConnected());
        elsewhere.setLive("steps", "3");
        QTRY_COMPARE(gui.find<QLineEdit>("configForm/steps")->text(), QString("3"));
        QTRY_COMPARE(newest(), QString("steps 2 to 3"));
        for (const auto& row : rows())
            qInfo("%s: %s ms, then %s ms", row[0].get<std::string>().c_str(),
                  row[1].get<std::string>().c_str(), row[2].get<std::string>().c_str());
        gui.findAction("stop")->trigger();
        QVERIFY(gui.waitState(run, RunState::Stopped));
        QVERIFY(isOpen("tf32")); // the next run may be elsewhere
    }

private:
    /// As with keys: the entry, then Enter.
    static void choose(QComboBox* combo, const char* value)
    {
        combo->setFocus();
        const int at = combo->findText(value);
        QVERIFY(at >= 0);
        while (combo->currentIndex() != at) {
            const int before = combo->currentIndex();
            QTest::keyClick(combo, before < at ? Qt::Key_Down : Qt::Key_Up);
            QVERIFY(combo->currentIndex() != before);
        }
    }
};

VERGENCE_GUI_TEST(TestLiveSwitches)
#include "tst_live_switches.moc"
