#include <QComboBox>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QStandardItemModel>
#include <QTest>

#include "core/artifact/artifact_store.h"
#include "core/artifact/gif.h"
#include "core/artifact/video/video.h"
#include "tests/support/cli/command_line.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

constexpr int kFrames = 24, kWidth = 320, kHeight = 240;

/// A turntable as a run would leave it: a bar that goes round.
void addTurntable(const RunFolder& folder)
{
    ArtifactStore store(folder);
    for (int frame = 0; frame < kFrames; ++frame) {
        Image image;
        image.width = kWidth;
        image.height = kHeight;
        image.channels = 3;
        image.pixels.assign(static_cast<std::size_t>(kWidth * kHeight * 3), 30);
        for (int y = 0; y < kHeight; ++y)
            for (int x = frame * 13; x < frame * 13 + 20 && x < kWidth; ++x)
                image.pixels[static_cast<std::size_t>((y * kWidth + x) * 3)] = 230;
        store.writePng("turntable/frame-" + std::to_string(frame + 1) + ".png", image, "preview");
    }
}

} // namespace

/// S20: I make a GIF.
class TestGif : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void windowAndTerminalMakeTheSameAnimation()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 3\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        const RunFolder folder = gui.window().runs().find(run)->folder;
        addTurntable(folder);

        gui.findAction("export")->trigger();
        gui.find<QListWidget>("exportWhat")->setCurrentRow(1); // Media
        auto* kind = gui.find<QComboBox>("exportMediaKind");
        QVERIFY(kind->currentText().startsWith("GIF"));
        gui.find<QSpinBox>("exportDelay")->setValue(6);
        QVERIFY(gui.textOf("exportFacts").contains("320 × 240"));
        gui.click("exportButton");
        QTRY_VERIFY(gui.textOf("exportResult").contains(".gif"));
        std::filesystem::path made;
        for (const auto& entry : std::filesystem::directory_iterator(folder.exports()))
            made = entry.path();
        QCOMPARE(made.extension(), std::filesystem::path(".gif"));

        const QString typed = GuiHarness::folder() + "/typed.gif";
        const auto outcome = test::runCommand(
            {"export", "gif", QString::fromStdString(folder.root.string()), "--images",
             "artifacts/turntable/frame-*.png", "--delay", "60", "--output", typed},
            GuiHarness::folder());
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));

        const GifContent a = readGif(made), b = readGif(typed.toStdString());
        QCOMPARE(a.frames.size(), std::size_t{kFrames});
        QCOMPARE(a.frames.front().width, kWidth);
        QCOMPARE(a.frames.front().height, kHeight);
        QVERIFY(a.loops);
        QCOMPARE(a.delaysCentiseconds, std::vector<int>(kFrames, 6));
        QCOMPARE(b.frames.size(), a.frames.size());
        QCOMPARE(b.delaysCentiseconds, a.delaysCentiseconds);
        QCOMPARE(b.loops, a.loops);
        for (std::size_t i = 0; i < a.frames.size(); ++i)
            QVERIFY(a.frames[i].pixels == b.frames[i].pixels);
        QVERIFY(a.frames[0].pixels != a.frames[12].pixels);
    }
    void largeAndImpossibleChoicesAreSaid()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 3\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        addTurntable(gui.window().runs().find(run)->folder);
        gui.findAction("export")->trigger();
        gui.find<QListWidget>("exportWhat")->setCurrentRow(1);
        QVERIFY(!gui.find<QLabel>("exportWarning")->isVisible());
        auto* scale = gui.find<QComboBox>("exportScale");
        scale->setCurrentIndex(scale->count() - 1);
        QTRY_VERIFY(gui.find<QLabel>("exportWarning")->isVisible());
        QVERIFY2(gui.textOf("exportWarning").contains("20 MB"),
                 qPrintable(gui.textOf("exportWarning")));
        const auto* kinds = gui.find<QComboBox>("exportMediaKind");
        const auto* model = qobject_cast<const QStandardItemModel*>(kinds->model());
        const int mp4 = kinds->findText("MP4", Qt::MatchStartsWith);
        QVERIFY(mp4 >= 0);
        QCOMPARE(model->item(mp4)->isEnabled(), videoModule() != nullptr);
        QCOMPARE(kinds->itemText(mp4).contains("video module"), videoModule() == nullptr);
    }
};

VERGENCE_GUI_TEST(TestGif)
#include "tst_s20_gif.moc"
