#include <QSignalSpy>
#include <QTest>

#include "tests/core/run/live_worker.h"
#include "tests/support/fake_card.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::testing;

namespace {

const std::string kStream = "picture";

/// A paused run on a fake card whose view publishes a plain picture.
class Bench {
public:
    explicit Bench(std::shared_ptr<Device> device) : worker(std::move(device))
    {
        pictures.info.stream = kStream;
        pictures.info.width = pictures.info.height = 4;
        pictures.value = 7;
        worker.script.inView = [this](RunContext& context) { pictures.publish(context); };
        worker.start();
    }
    Bench() : Bench(std::make_shared<test::FakeCardDevice>(card)) {}

    bool isPaused()
    {
        return test::waitFor([&] { return worker.controller().requestPause(); }) &&
               test::waitFor([&] { return worker.controller().state() == RunState::Paused; });
    }
    std::unique_ptr<RunClient> attach()
    {
        auto client = std::make_unique<RunClient>(worker.folder());
        client->attach();
        const bool isConnected = test::waitFor([&] { return client->isConnected(); });
        return isConnected ? std::move(client) : nullptr;
    }

    test::FakeCard card;
    PlainPictures pictures;
    LiveWorker worker;
};

/// The next frame after `seen`, waited for; with sequence 0 where none came.
Frame nextFrame(RunClient& client, std::uint64_t seen = 0)
{
    std::optional<Frame> frame;
    const bool hasCome =
        test::waitFor([&] { return (frame = client.frame(kStream, seen)).has_value(); });
    return hasCome ? *frame : Frame{};
}

bool isPlain(const std::vector<std::byte>& pixels, int value)
{
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        if (std::to_integer<int>(pixels[i]) != (i % 4 == 3 ? 255 : value))
            return false;
    }
    return pixels.size() == 64;
}

} // namespace

/// Frames stay in device memory as long as every viewer opens it: what is agreed over the socket,
/// and that no picture is lost when it no longer holds.
class TestSharedWatch : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void framesStayOnTheDeviceThatTheViewerOpens()
    {
        Bench bench;
        QVERIFY(bench.isPaused());
        const auto client = bench.attach();
        QVERIFY(client);
        client->setWatched(true, test::FakeCard::kUuid);
        const Frame frame = nextFrame(*client);
        QVERIFY(frame.shared && frame.pixels.empty());
        QCOMPARE(frame.shared->deviceUuid, std::string(test::FakeCard::kUuid));
        const auto pixels = bench.card.read(*frame.shared, frame.info.pixelBytes());
        QVERIFY(pixels && isPlain(*pixels, 7));
    }

    void otherViewersGetHostPixels_data()
    {
        QTest::addColumn<QString>("device");
        QTest::newRow("no interop") << QString();
        QTest::newRow("another GPU") << "GPU-0a1b2c3d-0000-0000-0000-000000000002";
    }
    void otherViewersGetHostPixels()
    {
        QFETCH(QString, device);
        Bench bench;
        QVERIFY(bench.isPaused());
        const auto client = bench.attach();
        QVERIFY(client);
        client->setWatched(true, device.toStdString());
        const Frame frame = nextFrame(*client);
        QVERIFY(!frame.shared && isPlain(frame.pixels, 7));
    }

    void runOnTheCpuSharesNothing()
    {
        Bench bench(makeCpuDevice(1));
        QVERIFY(bench.isPaused());
        const auto client = bench.attach();
        QVERIFY(client);
        client->setWatched(true, "cpu");
        const Frame frame = nextFrame(*client);
        QVERIFY(!frame.shared && isPlain(frame.pixels, 7));
    }

    void pictureThatCannotBeOpenedComesThroughTheHost()
    {
        Bench bench;
        QVERIFY(bench.isPaused());
        const auto client = bench.attach();
        QVERIFY(client);
        client->setWatched(true, test::FakeCard::kUuid);
        const Frame lost = nextFrame(*client);
        QVERIFY(lost.shared);
        client->setWatched(true); // opening it failed; no step follows that would bring another
        const Frame again = nextFrame(*client, lost.info.sequence);
        QVERIFY(!again.shared && isPlain(again.pixels, 7));
        QCOMPARE(again.info.step, lost.info.step);
    }

    void oneViewerWithoutInteropBringsAllToTheHost()
    {
        Bench bench;
        QVERIFY(bench.isPaused());
        const auto first = bench.attach(), second = bench.attach();
        QVERIFY(first && second);
        first->setWatched(true, test::FakeCard::kUuid);
        const Frame shared = nextFrame(*first);
        QVERIFY(shared.shared);
        QSignalSpy heard(second.get(), &RunClient::requestAcknowledged);
        second->setWatched(true);
        const Frame host = nextFrame(*first, shared.info.sequence);
        QVERIFY(!host.shared && isPlain(host.pixels, 7));
        QVERIFY(isPlain(nextFrame(*second, shared.info.sequence).pixels, 7));

        second->setWatched(false);
        QTRY_COMPARE(heard.size(), 2);
        first->setView({});
        QVERIFY(nextFrame(*first, host.info.sequence).shared);
    }

    void nothingIsDrawnForALeavingViewer()
    {
        Bench bench;
        QVERIFY(bench.isPaused());
        const auto client = bench.attach();
        QVERIFY(client);
        QSignalSpy heard(client.get(), &RunClient::requestAcknowledged);
        client->setWatched(true, test::FakeCard::kUuid);
        QVERIFY(nextFrame(*client).shared);
        QTRY_COMPARE(heard.size(), 1);
        const int drawn = bench.worker.script.viewed;
        const int stepped = bench.worker.script.stepped;
        client->setWatched(false, test::FakeCard::kUuid);
        client->resume(); // what was asked before is served first
        QTRY_COMPARE(heard.size(), 3);
        QTRY_VERIFY(bench.worker.script.stepped > stepped);
        QCOMPARE(bench.worker.script.viewed.load(), drawn);
    }

    void formsFollowOneAnother()
    {
        Bench bench;
        QVERIFY(bench.isPaused());
        const auto client = bench.attach();
        QVERIFY(client);
        client->setWatched(true, test::FakeCard::kUuid);
        Frame frame = nextFrame(*client);
        bench.pictures.info.layers = 5; // the run is paused: its thread reads this with the view
        bench.pictures.info.format = PixelFormat::R32F;
        client->setView({});
        frame = nextFrame(*client, frame.info.sequence);
        QVERIFY(frame.shared);
        QCOMPARE(frame.info.layers, 5u);
        QVERIFY(frame.info.format == PixelFormat::R32F);
        QVERIFY(bench.card.read(*frame.shared, frame.info.pixelBytes()));
    }

    void deviceMemoryEndsWithItsWorker()
    {
        Bench bench;
        QVERIFY(bench.isPaused());
        const auto client = bench.attach();
        QVERIFY(client);
        client->setWatched(true, test::FakeCard::kUuid);
        QVERIFY(nextFrame(*client).shared);
        QSignalSpy lost(client.get(), &RunClient::connectionLost);
        bench.worker.die();
        QTRY_COMPARE(lost.size(), 1);
        QVERIFY(!client->frame(kStream, 0));
    }
};

VERGENCE_TEST(TestSharedWatch)
#include "tst_shared_watch.moc"
