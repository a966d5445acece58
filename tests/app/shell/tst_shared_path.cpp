#include <QLabel>
#include <QSignalSpy>
#include <QTest>

#include "app/shell/frame_pump.h"
#include "app/viewport/view_panel.h"
#include "tests/app/viewport/fake_importer.h"
#include "tests/core/run/live_worker.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::testing;

namespace {

/// A paused run on a fake card, followed over its socket by a view that opens the card's memory.
class Bench {
public:
    Bench() : worker(std::make_shared<test::FakeCardDevice>(card))
    {
        pictures.info.stream = "eye_view";
        pictures.info.width = pictures.info.height = 16;
        worker.script.inPrepare = [](RunContext& context) {
            context.declareStreams({{"eye_view", "Eye view", StreamKind::Image, "", ""}});
        };
        worker.script.inView = [this](RunContext& context) { pictures.publish(context); };
        worker.start();
    }

    bool open()
    {
        const bool isPaused =
            test::waitFor([&] { return worker.controller().requestPause(); }) &&
            test::waitFor([&] { return worker.controller().state() == RunState::Paused; });
        client = std::make_unique<RunClient>(worker.folder());
        panel = std::make_unique<ViewPanel>();
        panel->resize(480, 400);
        pump = std::make_unique<FramePump>(*client, *panel);
        panel->setUploader(std::make_unique<test::FakeImporter>(card, importer));
        client->attach();
        panel->show();
        pump->setVisible(true);
        return isPaused && QTest::qWaitForWindowExposed(panel.get());
    }

    /// The run draws a picture of this grey; true once it is on the screen.
    bool shows(int grey)
    {
        pictures.value = grey;
        client->setView({});
        return isShown(grey);
    }
    bool isShown(int grey)
    {
        return test::waitFor([&] {
            const QImage image = panel->grabView();
            return image.pixelColor(image.rect().center()) == QColor(grey, grey, grey);
        });
    }

    test::FakeCard card;
    test::ImporterLog importer;
    PlainPictures pictures;
    LiveWorker worker;
    std::unique_ptr<RunClient> client;
    std::unique_ptr<ViewPanel> panel;
    std::unique_ptr<FramePump> pump;
};

} // namespace

/// The way of a picture from a run's device memory to the screen, over the real socket and ring.
/// The card and the uploader that opens its memory are fakes. Needs OpenGL 3.3.
class TestSharedPath : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void picturesGoFromDeviceToTexture()
    {
        Bench bench;
        QVERIFY(bench.open());
        for (const int grey : {250, 130, 251, 131})
            QVERIFY(bench.shows(grey));
        QVERIFY(bench.importer.uploaded.size() >= 4);
        QCOMPARE(bench.panel->transportName(), QStringLiteral("GPU interop"));
    }

    void failedImportLosesNoPicture()
    {
        Bench bench;
        QVERIFY(bench.open());
        QVERIFY(bench.shows(250));
        bench.importer.fails = true;
        QVERIFY(bench.shows(130)); // the run is paused: this very picture came again
        QVERIFY(bench.panel->sharedDevice().empty());
        QVERIFY(bench.panel->transportName() != QStringLiteral("GPU interop"));
        const std::size_t uploads = bench.importer.uploaded.size();
        QVERIFY(bench.shows(251));
        QCOMPARE(bench.importer.uploaded.size(), uploads);
    }

    void formsFollowOneAnother()
    {
        Bench bench;
        QVERIFY(bench.open());
        int grey = 200;
        for (const std::uint32_t layers : {1u, 3u, 2u, 1u}) {
            bench.pictures.info.layers = layers;
            bench.pictures.info.width = 16 * layers;
            QVERIFY(bench.shows(++grey));
        }
    }

    void lastPictureStaysWhenTheWorkerDies()
    {
        Bench bench;
        QVERIFY(bench.open());
        QVERIFY(bench.shows(250));
        QSignalSpy lost(bench.client.get(), &RunClient::connectionLost);
        bench.worker.die();
        bench.card.loseEverything();
        QTRY_COMPARE(lost.size(), 1);
        QTRY_COMPARE(bench.importer.closed, 1);
        QVERIFY(bench.isShown(250));
        QCOMPARE(bench.panel->sharedDevice(), std::string(test::FakeCard::kUuid));
    }

    void startCanBeComparedThoughItsSlotIsWrittenAgain()
    {
        Bench bench;
        QVERIFY(bench.open());
        QVERIFY(bench.shows(250));
        for (const int grey : {10, 20, 30, 40})
            QVERIFY(bench.shows(grey));
        QVERIFY(bench.pump->hasPictures());
        QVERIFY(bench.pump->compareWithStart());
        QTest::qWait(0);
        const auto start = bench.panel->frameWithPixels("start:eye_view");
        QVERIFY(start);
        QVERIFY(start->pixels.front() != std::byte{40}); // not what the slot holds by now
    }
};

VERGENCE_WINDOW_TEST(TestSharedPath)
#include "tst_shared_path.moc"
