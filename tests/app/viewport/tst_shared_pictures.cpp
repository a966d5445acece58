#include <algorithm>

#include <QLabel>
#include <QMainWindow>
#include <QSignalSpy>
#include <QtTest>

#include "app/viewport/gl_viewport.h"
#include "app/viewport/view_panel.h"
#include "tests/app/viewport/fake_importer.h"
#include "tests/app/viewport/synthetic_frames.h"
#include "tests/app/viewport/viewport_of.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// Frames that lie in device memory, drawn from textures that an uploader fills. The uploader is a
/// fake; everything else is what the window uses. Needs OpenGL 3.3, Mesa's will do.
class SharedPicturesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();

    void pictureIsDrawnFromItsTexture();
    void valuesAreFetchedForThePointer();
    void numbersAreFetchedForTheirRange();
    void everyFormHasATextureOfItsOwn();
    void sameFormKeepsItsTexture();
    void waysMayChangeFromFrameToFrame();
    void pictureThatIsBeingWrittenComesLater();
    void failureKeepsThePictureAndAsksForHostPixels();
    void frameOfAnotherDeviceIsLeftOut();
    void pictureSurvivesTheRunAndAnotherWindow();
    void lastPictureOfADeadRunIsNoFailure();
    void startOfTheRunIsKept();

private:
    QImage grab();
    QColor centre();
    void show(const Frame& host);
    QWidget* viewport() { return test::viewportOf(*m_panel); }
    QString probe() { return m_panel->findChild<QLabel*>(QStringLiteral("viewProbe"))->text(); }

    std::unique_ptr<test::FakeCard> m_card;
    test::ImporterLog m_log;
    std::unique_ptr<ViewPanel> m_panel;
};

void SharedPicturesTest::init()
{
    m_card = std::make_unique<test::FakeCard>();
    m_log = {};
    m_panel = std::make_unique<ViewPanel>();
    m_panel->resize(640, 520);
    m_panel->setStreams(test::labStreams());
    m_panel->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_panel.get()));
    QVERIFY2(viewport() != nullptr, "this test needs OpenGL 3.3");
    QSignalSpy changed(m_panel.get(), &ViewPanel::sharedDeviceChanged);
    m_panel->setUploader(std::make_unique<test::FakeImporter>(*m_card, m_log));
    QCOMPARE(changed.size(), 1);
    QCOMPARE(m_panel->sharedDevice(), std::string(test::FakeCard::kUuid));
}

void SharedPicturesTest::cleanup()
{
    m_panel.reset();
    // Whatever was registered was unregistered before its texture went.
    for (const unsigned texture : m_log.uploaded)
        QVERIFY(std::ranges::find(m_log.forgotten, texture) != m_log.forgotten.end());
}

QImage SharedPicturesTest::grab()
{
    QCoreApplication::processEvents();
    return m_panel->grabView();
}

QColor SharedPicturesTest::centre()
{
    const QImage image = grab();
    return image.pixelColor(image.width() / 2, image.height() / 2);
}

/// The same picture, in device memory.
void SharedPicturesTest::show(const Frame& host)
{
    Frame frame{host.info, {}, SharedPixels{}};
    const std::uint64_t block = m_card->addBlock(host.pixels.size());
    m_card->write(block, 0, host.pixels.data(), host.pixels.size());
    frame.shared->deviceUuid = test::FakeCard::kUuid;
    std::memcpy(frame.shared->memoryHandle.data(), &block, sizeof(block));
    m_panel->setFrame(std::move(frame));
}

void SharedPicturesTest::pictureIsDrawnFromItsTexture()
{
    show(test::makePlain("eye_view", 8, 8, {200, 100, 50}));
    QCOMPARE(centre(), QColor(200, 100, 50));
    QCOMPARE(m_panel->transportName(), QStringLiteral("GPU interop"));
    show(test::makePlain("eye_view", 8, 8, {20, 30, 40}));
    QCOMPARE(centre(), QColor(20, 30, 40));
}

void SharedPicturesTest::valuesAreFetchedForThePointer()
{
    Frame picture = test::makePlain("eye_view", 8, 8, {10, 20, 30});
    test::setPixel(picture, 0, 7, 0, {40, 50, 60});
    show(picture);
    grab();
    QVERIFY(!m_panel->frameWithPixels("target"));
    QTest::mouseMove(viewport(), viewport()->rect().center());
    QTRY_VERIFY2(probe().endsWith(QStringLiteral("10 20 30")), qPrintable(probe()));
    const auto fetched = m_panel->frameWithPixels("eye_view");
    QVERIFY(fetched && fetched->pixels == picture.pixels);
    QCOMPARE(m_log.uploaded.size(),
             std::size_t{1}); // the texture holds them; nothing is opened anew
}

void SharedPicturesTest::numbersAreFetchedForTheirRange()
{
    m_panel->setStreams({{"error", "Error", StreamKind::HeatMap, "", ""}});
    const Frame numbers = test::makeNumbers("error", 32);
    m_panel->setFrame(numbers);
    const QImage fromHost = grab();
    show(numbers);
    QCOMPARE(grab(), fromHost); // colours and the bar beside them
    QCOMPARE(m_log.uploaded.size(), std::size_t{1});
}

void SharedPicturesTest::everyFormHasATextureOfItsOwn()
{
    m_panel->setStreams({{"planes", "Planes", StreamKind::ImageStack, "", ""}});
    std::vector<Frame> forms{test::makePlanes("planes", 16, 1), test::makePlanes("planes", 16, 4),
                             test::makePlanes("planes", 16, 6), test::makePlanes("planes", 24, 6),
                             test::makePlanes("planes", 24, 1)};
    forms.push_back(test::makeNumbers("planes", 24));
    for (const Frame& form : forms) {
        m_panel->setFrame(form);
        const QImage fromHost = grab();
        show(form);
        QCOMPARE(grab(), fromHost);
        m_panel->clear();
    }
    m_log.uploaded.clear();
    for (const Frame& form : forms) {
        show(form);
        grab();
    }
    QCOMPARE(m_log.uploaded.size(), forms.size());
    for (std::size_t i = 1; i < forms.size(); ++i) {
        QVERIFY(m_log.uploaded[i] != m_log.uploaded[i - 1]);
        QVERIFY(std::ranges::find(m_log.forgotten, m_log.uploaded[i - 1]) != m_log.forgotten.end());
    }
}

void SharedPicturesTest::sameFormKeepsItsTexture()
{
    for (int i = 0; i < 4; ++i) {
        show(test::makePlain("eye_view", 8, 8, {i, i, i}));
        QCOMPARE(centre(), QColor(i, i, i));
    }
    QCOMPARE(m_log.uploaded, std::vector<unsigned>(4, m_log.uploaded.front()));
    QVERIFY(m_log.forgotten.empty());
}

void SharedPicturesTest::waysMayChangeFromFrameToFrame()
{
    for (int i = 0; i < 6; ++i) {
        const Frame frame = test::makePlain("eye_view", 8, 8, {20 * i, 10, 10});
        if (i % 2 == 0)
            show(frame);
        else
            m_panel->setFrame(frame);
        QCOMPARE(centre(), QColor(20 * i, 10, 10));
        QCOMPARE(m_panel->transportName() == QStringLiteral("GPU interop"), i % 2 == 0);
    }
    QCOMPARE(m_log.uploaded.size(), std::size_t{3});
}

void SharedPicturesTest::pictureThatIsBeingWrittenComesLater()
{
    show(test::makePlain("eye_view", 8, 8, {200, 100, 50}));
    QCOMPARE(centre(), QColor(200, 100, 50));
    m_log.isReady = false;
    show(test::makePlain("eye_view", 8, 8, {20, 30, 40}));
    QCOMPARE(centre(), QColor(200, 100, 50)); // the one before stays
    m_log.isReady = true;
    QTRY_COMPARE(m_log.uploaded.size(), std::size_t{2}); // nobody had to ask again
    QCOMPARE(centre(), QColor(20, 30, 40));
}

void SharedPicturesTest::failureKeepsThePictureAndAsksForHostPixels()
{
    show(test::makePlain("eye_view", 8, 8, {200, 100, 50}));
    QCOMPARE(centre(), QColor(200, 100, 50));
    QSignalSpy changed(m_panel.get(), &ViewPanel::sharedDeviceChanged);
    m_log.fails = true;
    const Frame next = test::makePlain("eye_view", 8, 8, {20, 30, 40});
    show(next);
    QCOMPARE(centre(), QColor(200, 100, 50));
    QTRY_COMPARE(changed.size(), 1);
    QCOMPARE(m_panel->sharedDevice(), std::string());
    QCOMPARE(m_log.released, 1);
    m_panel->setFrame(next); // what the run then sends
    QCOMPARE(centre(), QColor(20, 30, 40));
    QVERIFY(m_panel->transportName() != QStringLiteral("GPU interop"));
    show(test::makePlain("eye_view", 8, 8, {1, 2, 3})); // one that was under way
    QCOMPARE(centre(), QColor(20, 30, 40));
    QCOMPARE(changed.size(), 1);
}

void SharedPicturesTest::frameOfAnotherDeviceIsLeftOut()
{
    m_panel->setFrame(test::makePlain("eye_view", 8, 8, {200, 100, 50}));
    Frame foreign = test::makePlain("eye_view", 8, 8, {1, 2, 3});
    foreign.pixels.clear();
    foreign.shared = SharedPixels{};
    foreign.shared->deviceUuid = "GPU-of another computer";
    m_panel->setFrame(foreign);
    QCOMPARE(centre(), QColor(200, 100, 50));
    QVERIFY(!m_panel->sharedDevice().empty());
}

void SharedPicturesTest::pictureSurvivesTheRunAndAnotherWindow()
{
    show(test::makePlain("eye_view", 8, 8, {200, 100, 50}));
    QCOMPARE(centre(), QColor(200, 100, 50));
    m_panel->closeSources();
    QCOMPARE(m_log.closed, 1);
    m_card->loseEverything();
    QMainWindow window; // with another OpenGL context
    window.resize(500, 400);
    window.setCentralWidget(m_panel.get());
    window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&window));
    QCOMPARE(centre(), QColor(200, 100, 50));
    QVERIFY(!m_panel->sharedDevice().empty());
    window.takeCentralWidget();
    m_panel->setParent(nullptr);
}

void SharedPicturesTest::lastPictureOfADeadRunIsNoFailure()
{
    m_panel->setFrame(test::makePlain("eye_view", 8, 8, {200, 100, 50}));
    QCOMPARE(centre(), QColor(200, 100, 50));
    m_card->loseEverything();
    m_log.isReady = false; // not drawn before the end is known
    show(test::makePlain("eye_view", 8, 8, {20, 30, 40}));
    m_card->loseEverything();
    m_log.isReady = true;
    m_panel->closeSources();
    QCOMPARE(centre(), QColor(200, 100, 50));
    QCOMPARE(m_panel->sharedDevice(), std::string(test::FakeCard::kUuid));
}

void SharedPicturesTest::startOfTheRunIsKept()
{
    const Frame first = test::makePlain("eye_view", 8, 8, {200, 100, 50});
    show(first);
    const auto kept = m_panel->frameWithPixels("eye_view"); // before anything was painted
    QVERIFY(kept && kept->pixels == first.pixels);
    QVERIFY(kept->info.stream == "eye_view");
}

VERGENCE_WINDOW_TEST(SharedPicturesTest)
#include "tst_shared_pictures.moc"
