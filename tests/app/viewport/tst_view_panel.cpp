#include <QComboBox>
#include <QLabel>
#include <QMainWindow>
#include <QOpenGLWidget>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>
#include <QtTest>

#include "app/viewport/gl_viewport.h"
#include "app/viewport/view_panel.h"
#include "tests/app/viewport/synthetic_frames.h"
#include "tests/app/viewport/viewport_of.h"
#include "tests/support/small_scene.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// Needs a display with OpenGL 3.3; Mesa's software renderer under Xvfb will do.
class ViewPanelTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup() { m_panel.reset(); }

    void colourPixelsReachTheScreen();
    void theScreenFollowsOnceShadersAreReady();
    void theWindowIsComposedWithoutOpenGlWhereThereIsNoGpu();
    void numbersAreMapped();
    void halfFloatsAreEncoded();
    void newFrameReplacesTheOld();
    void wipeHalvesComeFromAAndB();
    void wipeSliderMovesByKeys();
    void holdingSpaceExchangesAAndB();
    void differenceIsAmplified_data();
    void differenceIsAmplified();
    void oneToOneShowsPixelForPixel();
    void wheelZoomsAndFitReturns();
    void gridClickSelectsALayer();
    void clickedPixelOfAPictureIsSent();
    void bracketsStepLayers();
    void nearPlaneHidesTheFar();
    void orbitChangesThePictureAndSendsTheCamera();
    void sceneOfSplatsFollowsTheMouse();
    void controlsAndPointerAreSent();
    void panelSurvivesOtherWindows();
    void aMeshThatIsNotThereYetIsSaidInWords();
    void emptyPanelSaysSo();
    void clearReturnsToTheMessage();

private:
    QImage grab();
    QColor at(QPointF fraction);
    void choose(const char* name, const QString& text);
    QWidget* viewport() { return test::viewportOf(*m_panel); }

    std::unique_ptr<ViewPanel> m_panel;
};

void ViewPanelTest::init()
{
    m_panel = std::make_unique<ViewPanel>();
    m_panel->resize(640, 520);
    m_panel->setStreams(test::labStreams());
    m_panel->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_panel.get()));
    QVERIFY2(viewport() != nullptr, "this test needs OpenGL 3.3");
}

QImage ViewPanelTest::grab()
{
    QCoreApplication::processEvents();
    return m_panel->grabView();
}

QColor ViewPanelTest::at(QPointF fraction)
{
    const QImage image = grab();
    return image.pixelColor(static_cast<int>(fraction.x() * image.width()),
                            static_cast<int>(fraction.y() * image.height()));
}

void ViewPanelTest::choose(const char* name, const QString& text)
{
    auto* combo = m_panel->findChild<QComboBox*>(QLatin1String(name));
    QVERIFY2(combo != nullptr, name);
    const int index = combo->findText(text);
    QVERIFY2(index >= 0, qPrintable(text));
    combo->setCurrentIndex(index);
    Q_EMIT combo->activated(index);
}

void ViewPanelTest::colourPixelsReachTheScreen()
{
    Frame frame = test::makePlain("eye_view", 2, 2, {10, 20, 30});
    test::setPixel(frame, 0, 1, 0, {200, 0, 0});
    test::setPixel(frame, 0, 0, 1, {0, 210, 0});
    test::setPixel(frame, 0, 1, 1, {0, 0, 220});
    m_panel->setFrame(frame);
    QTRY_VERIFY(m_panel->paintCount() > 0);
    QCOMPARE(at({0.4, 0.25}), QColor(10, 20, 30));
    QCOMPARE(at({0.6, 0.25}), QColor(200, 0, 0));
    QCOMPARE(at({0.4, 0.75}), QColor(0, 210, 0));
    QCOMPARE(at({0.6, 0.75}), QColor(0, 0, 220));
    QVERIFY(!m_panel->transportName().isEmpty());
}

/// Unlike a grab, the screen gets its parts in several drawings, and nobody asks for them.
void ViewPanelTest::theScreenFollowsOnceShadersAreReady()
{
    m_panel->setFrame(test::makePlain("eye_view", 2, 2, {200, 0, 0}));
    const auto colourOnScreen = [this] {
        const QPoint middle = viewport()->mapToGlobal(viewport()->rect().center());
        const QPixmap pixel = m_panel->screen()->grabWindow(0, middle.x(), middle.y(), 1, 1);
        return pixel.toImage().pixelColor(0, 0);
    };
    QTRY_COMPARE(colourOnScreen(), QColor(200, 0, 0));
    QTest::qWait(50); // whatever was left to draw
    const int before = m_panel->paintCount();
    QTest::qWait(100);
    QCOMPARE(m_panel->paintCount(), before);
}

void ViewPanelTest::theWindowIsComposedWithoutOpenGlWhereThereIsNoGpu()
{
    if (!GlViewport::isWithoutGpu())
        QSKIP("here the window is composed by a GPU, or as if");
    QVERIFY(m_panel->findChildren<QOpenGLWidget*>().isEmpty());
    m_panel->setFrame(test::makePlain("eye_view", 2, 2, {200, 0, 0}));
    QTRY_VERIFY(m_panel->paintCount() > 0);
    QTest::qWait(50); // whatever was left to draw
    const int before = m_panel->paintCount();
    viewport()->repaint(); // as when something beside it has changed
    QCOMPARE(m_panel->paintCount(), before);
    m_panel->setFrame(test::makePlain("eye_view", 2, 2, {0, 200, 0}));
    viewport()->repaint();
    QVERIFY(m_panel->paintCount() > before);
}

void ViewPanelTest::numbersAreMapped()
{
    Frame frame = test::makeNumbers("error", 2);
    const std::array<float, 4> values{-1, 1, 0, 0};
    std::memcpy(frame.pixels.data(), values.data(), sizeof values);
    m_panel->setFrame(frame);
    choose("streamCombo", QStringLiteral("Error"));
    const auto isNear = [](QColor a, QRgb b) {
        return qAbs(a.red() - qRed(b)) < 4 && qAbs(a.green() - qGreen(b)) < 4 &&
               qAbs(a.blue() - qBlue(b)) < 4;
    };
    QVERIFY(isNear(at({0.4, 0.25}), mapColour(FalseColour::Diverging, 0)));
    QVERIFY(isNear(at({0.6, 0.25}), mapColour(FalseColour::Diverging, 1)));
    QVERIFY(isNear(at({0.4, 0.75}), mapColour(FalseColour::Diverging, 0.5)));
    choose("colourMapCombo", QStringLiteral("Grey"));
    QVERIFY(isNear(at({0.4, 0.25}), qRgb(0, 0, 0)));
    QVERIFY(isNear(at({0.6, 0.25}), qRgb(255, 255, 255)));
}

void ViewPanelTest::halfFloatsAreEncoded()
{
    Frame frame;
    frame.info.stream = "eye_view";
    frame.info.format = PixelFormat::Rgba16F;
    frame.info.width = frame.info.height = 1;
    // 0.5, 0.0, 1.0, 1.0 as half floats; linear light, so 0.5 is shown as 188.
    for (const int byte : {0x00, 0x38, 0x00, 0x00, 0x00, 0x3c, 0x00, 0x3c})
        frame.pixels.push_back(static_cast<std::byte>(byte));
    m_panel->setFrame(frame);
    const QColor colour = at({0.5, 0.5});
    QVERIFY(qAbs(colour.red() - 188) <= 1);
    QCOMPARE(colour.green(), 0);
    QCOMPARE(colour.blue(), 255);
}

void ViewPanelTest::newFrameReplacesTheOld()
{
    m_panel->setFrame(test::makePlain("eye_view", 4, 4, {255, 0, 0}));
    QCOMPARE(at({0.5, 0.5}), QColor(255, 0, 0));
    const int painted = m_panel->paintCount();
    m_panel->setFrame(test::makePlain("eye_view", 8, 4, {0, 0, 255}));
    QTRY_VERIFY(m_panel->paintCount() > painted);
    QCOMPARE(at({0.5, 0.5}), QColor(0, 0, 255));
}

void ViewPanelTest::wipeHalvesComeFromAAndB()
{
    m_panel->setFrame(test::makePlain("eye_view", 8, 8, {250, 10, 10}));
    m_panel->setFrame(test::makePlain("target", 8, 8, {10, 250, 10}));
    choose("viewModeCombo", QStringLiteral("Compare"));
    QVERIFY(m_panel->findChild<QWidget*>(QStringLiteral("compareView"))->isVisible());
    QCOMPARE(at({0.45, 0.5}), QColor(250, 10, 10));
    QCOMPARE(at({0.55, 0.5}), QColor(10, 250, 10));
    m_panel->findChild<QSlider*>(QStringLiteral("wipeSlider"))->setValue(30);
    QCOMPARE(at({0.45, 0.5}), QColor(10, 250, 10));
    choose("compareA", QStringLiteral("Target"));
    choose("compareB", QStringLiteral("Eye view"));
    m_panel->findChild<QSlider*>(QStringLiteral("wipeSlider"))->setValue(50);
    QCOMPARE(at({0.45, 0.5}), QColor(10, 250, 10));
    QCOMPARE(at({0.55, 0.5}), QColor(250, 10, 10));
}

void ViewPanelTest::wipeSliderMovesByKeys()
{
    choose("viewModeCombo", QStringLiteral("Compare"));
    auto* slider = m_panel->findChild<QSlider*>(QStringLiteral("wipeSlider"));
    QVERIFY(slider->focusPolicy() & Qt::TabFocus);
    const int before = slider->value();
    QTest::keyClick(slider, Qt::Key_Right);
    QCOMPARE(slider->value(), before + 1);
}

void ViewPanelTest::holdingSpaceExchangesAAndB()
{
    m_panel->setFrame(test::makePlain("eye_view", 8, 8, {250, 10, 10}));
    m_panel->setFrame(test::makePlain("target", 8, 8, {10, 250, 10}));
    choose("viewModeCombo", QStringLiteral("Compare"));
    choose("compareMode", QStringLiteral("Blink (hold Space)"));
    QCOMPARE(at({0.5, 0.5}), QColor(250, 10, 10));
    QTest::keyPress(viewport(), Qt::Key_Space);
    QCOMPARE(at({0.5, 0.5}), QColor(10, 250, 10));
    QTest::keyRelease(viewport(), Qt::Key_Space);
    QCOMPARE(at({0.5, 0.5}), QColor(250, 10, 10));
}

void ViewPanelTest::differenceIsAmplified_data()
{
    QTest::addColumn<QString>("gain");
    QTest::addColumn<QColor>("expected");
    QTest::newRow("once") << QStringLiteral("×1") << QColor(10, 10, 0);
    QTest::newRow("8") << QStringLiteral("×8") << QColor(80, 80, 0);
    QTest::newRow("clipped") << QStringLiteral("×32") << QColor(255, 255, 0);
}

void ViewPanelTest::differenceIsAmplified()
{
    QFETCH(QString, gain);
    QFETCH(QColor, expected);
    m_panel->setFrame(test::makePlain("eye_view", 8, 8, {100, 100, 100}));
    m_panel->setFrame(test::makePlain("target", 8, 8, {90, 110, 100}));
    choose("viewModeCombo", QStringLiteral("Compare"));
    choose("compareMode", QStringLiteral("Difference"));
    choose("compareGain", gain);
    const QColor shown = at({0.5, 0.5});
    QVERIFY(qAbs(shown.red() - expected.red()) <= 1);
    QVERIFY(qAbs(shown.green() - expected.green()) <= 1);
    QCOMPARE(shown.blue(), expected.blue());
}

void ViewPanelTest::oneToOneShowsPixelForPixel()
{
    Frame frame = test::makePlain("eye_view", 64, 64, {0, 0, 0});
    for (int i = 0; i < 64; ++i)
        test::setPixel(frame, 0, i, i, {255, 255, 255});
    m_panel->setFrame(frame);
    m_panel->findChild<QToolButton*>(QStringLiteral("oneToOneButton"))->click();
    const QImage image = grab();
    const QPoint corner((image.width() + 1) / 2 - 32, (image.height() + 1) / 2 - 32);
    for (int i = 0; i < 64; ++i)
        for (int j = 0; j < 64; ++j)
            QCOMPARE(qRed(image.pixel(corner + QPoint(i, j))), i == j ? 255 : 0);
}

void ViewPanelTest::wheelZoomsAndFitReturns()
{
    m_panel->setFrame(test::makePlain("eye_view", 8, 8, {255, 255, 255}));
    const QColor corner = at({0.01, 0.01});
    QVERIFY(corner != QColor(Qt::white));
    const QPointF centre = viewport()->rect().center();
    QWheelEvent wheel(centre, viewport()->mapToGlobal(centre), {}, {0, 720}, Qt::NoButton,
                      Qt::NoModifier, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(viewport(), &wheel);
    QCOMPARE(at({0.01, 0.01}), QColor(Qt::white));
    QTest::keyClick(viewport(), Qt::Key_F);
    QCOMPARE(at({0.01, 0.01}), corner);
}

void ViewPanelTest::gridClickSelectsALayer()
{
    m_panel->setFrame(test::makePlanes("planes", 32, 4));
    choose("viewModeCombo", QStringLiteral("Grid"));
    QVERIFY(m_panel->findChild<QWidget*>(QStringLiteral("stackGrid")) != nullptr);
    auto* layer = m_panel->findChild<QSpinBox*>(QStringLiteral("layerSpin"));
    QCOMPARE(layer->value(), 1);
    QSignalSpy spy(m_panel.get(), &ViewPanel::viewInputChanged);
    QTest::mouseClick(viewport(), Qt::LeftButton, {},
                      QPoint(viewport()->width() * 9 / 10, viewport()->height() * 9 / 10));
    QCOMPARE(layer->value(), 4);
    QTRY_VERIFY(!spy.isEmpty() && spy.last().first().value<ViewInput>().values.contains("pick"));
    const auto input = spy.last().first().value<ViewInput>();
    QCOMPARE(input.texts.at("pick_stream"), std::string("planes"));
    QCOMPARE(input.values.at("pick")[2], 3.0); // the layer, counted from 0
    QCOMPARE(input.values.at("pick")[3], 1.0);
}

void ViewPanelTest::clickedPixelOfAPictureIsSent()
{
    m_panel->setFrame(test::makeEyeView("eye_view", 32, 1));
    choose("viewModeCombo", QStringLiteral("Image"));
    QSignalSpy spy(m_panel.get(), &ViewPanel::viewInputChanged);
    QTest::mouseClick(viewport(), Qt::LeftButton, {}, viewport()->rect().center());
    QTRY_VERIFY(!spy.isEmpty() && spy.last().first().value<ViewInput>().values.contains("pick"));
    const auto input = spy.last().first().value<ViewInput>();
    QCOMPARE(input.texts.at("pick_stream"), std::string("eye_view"));
    QVERIFY(qAbs(input.values.at("pick")[0] - 16) < 1);
    QVERIFY(qAbs(input.values.at("pick")[1] - 16) < 1);
    QCOMPARE(input.values.at("pick")[3], 1.0);
}

void ViewPanelTest::bracketsStepLayers()
{
    m_panel->setFrame(test::makePlanes("planes", 32, 4));
    choose("viewModeCombo", QStringLiteral("Grid"));
    auto* layer = m_panel->findChild<QSpinBox*>(QStringLiteral("layerSpin"));
    QTest::keyClick(viewport(), Qt::Key_BracketRight);
    QTest::keyClick(viewport(), Qt::Key_BracketRight);
    QCOMPARE(layer->value(), 3);
    QTest::keyClick(viewport(), Qt::Key_BracketLeft);
    QCOMPARE(layer->value(), 2);
}

void ViewPanelTest::nearPlaneHidesTheFar()
{
    Frame frame = test::makeRgba("planes", 4, 4, 2);
    for (int layer = 0; layer < 2; ++layer)
        for (int i = 0; i < 16; ++i)
            test::setPixel(frame, layer, i % 4, i / 4,
                           layer ? test::Colour{0, 0, 255} : test::Colour{255, 0, 0});
    frame.info.meta = R"({"depth":[0,1],"width":[1,1]})";
    m_panel->setFrame(frame);
    choose("viewModeCombo", QStringLiteral("Stack in 3-D"));
    m_panel->findChild<QSlider*>(QStringLiteral("opacitySlider"))->setValue(100);
    QTest::keyClick(viewport(), Qt::Key_1, Qt::KeypadModifier);
    QCOMPARE(at({0.5, 0.5}), QColor(255, 0, 0));
    QTest::keyClick(viewport(), Qt::Key_1, Qt::KeypadModifier | Qt::ControlModifier);
    QCOMPARE(at({0.5, 0.5}), QColor(0, 0, 255));
    m_panel->findChild<QSlider*>(QStringLiteral("opacitySlider"))->setValue(50);
    const QColor mixed = at({0.5, 0.5});
    QVERIFY(mixed.blue() > mixed.red() && mixed.red() > 40);
}

void ViewPanelTest::orbitChangesThePictureAndSendsTheCamera()
{
    m_panel->setFrame(test::makePlanes("planes", 32, 4));
    choose("viewModeCombo", QStringLiteral("Stack in 3-D"));
    const QImage before = grab();
    QSignalSpy spy(m_panel.get(), &ViewPanel::viewInputChanged);
    const QPoint centre = viewport()->rect().center();
    QTest::mousePress(viewport(), Qt::LeftButton, {}, centre);
    QMouseEvent move(QEvent::MouseMove, centre + QPoint(80, 20),
                     viewport()->mapToGlobal(centre + QPoint(80, 20)), Qt::NoButton, Qt::LeftButton,
                     Qt::NoModifier);
    QCoreApplication::sendEvent(viewport(), &move);
    QTest::mouseRelease(viewport(), Qt::LeftButton, {}, centre + QPoint(80, 20));
    QVERIFY(grab() != before);
    QTRY_VERIFY(!spy.isEmpty());
    QCOMPARE(spy.last().first().value<ViewInput>().values.at("camera").size(), std::size_t(16));
    QTest::keyClick(viewport(), Qt::Key_Home);
    QCOMPARE(grab(), before);
}

/// The run draws in the size of the canvas; smaller pictures are magnified without edges.
void ViewPanelTest::sceneOfSplatsFollowsTheMouse()
{
    m_panel->setStreams({{"scene", "Scene", StreamKind::Splats, "", ""}});
    QSignalSpy spy(m_panel.get(), &ViewPanel::viewInputChanged);
    test::SmallScene scene;
    m_panel->setFrame(scene.draw("scene"));
    const auto last = [&] { return spy.last().first().value<ViewInput>(); };
    QTRY_VERIFY(!spy.isEmpty() && last().values.contains("viewport"));
    scene.take(last());
    const double ratio = viewport()->devicePixelRatioF();
    QCOMPARE(scene.width, qRound(viewport()->width() * ratio));
    m_panel->setFrame(scene.draw("scene"));
    const QImage before = grab();
    QCOMPARE(before.size(), QSize(scene.width, scene.height));
    const QPoint centre = viewport()->rect().center();
    QTest::mousePress(viewport(), Qt::LeftButton, {}, centre);
    QMouseEvent move(QEvent::MouseMove, centre + QPoint(80, 20),
                     viewport()->mapToGlobal(centre + QPoint(80, 20)), Qt::NoButton, Qt::LeftButton,
                     Qt::NoModifier);
    QCoreApplication::sendEvent(viewport(), &move);
    QTRY_COMPARE(last().scalar("moving").value_or(0), 1.0);
    scene.take(last());
    QVERIFY(scene.isPreview);
    const Frame small = scene.draw("scene");
    m_panel->setFrame(small);
    const QImage moving = grab();
    QVERIFY(moving != before);
    QCOMPARE(moving.size(), before.size());
    QTest::mouseRelease(viewport(), Qt::LeftButton, {}, centre + QPoint(80, 20));
    QTRY_COMPARE(last().scalar("moving").value_or(1), 0.0);
    scene.take(last());
    const Frame full = scene.draw("scene");
    m_panel->setFrame(full);
    const QImage still = grab();
    for (const QPoint at : {QPoint(5, 7), QPoint(300, 200), QPoint(still.width() - 1, 0)}) {
        const auto pixel = pixelAt(full, 0, at.x(), at.y());
        QCOMPARE(still.pixelColor(at), QColor(int(pixel[0]), int(pixel[1]), int(pixel[2])));
    }
}

void ViewPanelTest::controlsAndPointerAreSent()
{
    m_panel->setControls(test::labControls());
    m_panel->setFrame(test::makePlain("eye_view", 100, 100, {50, 60, 70}));
    QSignalSpy spy(m_panel.get(), &ViewPanel::viewInputChanged);
    QTest::keyClick(viewport(), Qt::Key_2);
    // An event of our own: the pointer of the display may be anywhere.
    const QPointF centre = viewport()->rect().center();
    QMouseEvent move(QEvent::MouseMove, centre, viewport()->mapToGlobal(centre), Qt::NoButton,
                     Qt::NoButton, Qt::NoModifier);
    QCoreApplication::sendEvent(viewport(), &move);
    QTRY_VERIFY(!spy.isEmpty() && spy.last().first().value<ViewInput>().values.contains("pointer"));
    const auto input = spy.last().first().value<ViewInput>();
    QCOMPARE(input.values.at("planes"), (std::vector<double>{0, 1, 0, 0, 0, 0, 0, 0}));
    QCOMPARE(input.texts.at("pointer_stream"), std::string("eye_view"));
    QVERIFY(m_panel->findChild<QLabel*>(QStringLiteral("viewProbe"))
                ->text()
                .endsWith(QStringLiteral("50 60 70")));
}

void ViewPanelTest::panelSurvivesOtherWindows()
{
    m_panel->setFrame(test::makePlain("eye_view", 8, 8, {200, 100, 50}));
    QCOMPARE(at({0.5, 0.5}), QColor(200, 100, 50));
    for (int i = 0; i < 3; ++i) {
        QMainWindow window;
        window.resize(500, 400);
        window.setCentralWidget(m_panel.get());
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        QCOMPARE(at({0.5, 0.5}), QColor(200, 100, 50));
        QCOMPARE(test::glOf(*m_panel).contextCount(), 1);
        window.takeCentralWidget();
        m_panel->setParent(nullptr);
        m_panel->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_panel.get()));
        QCOMPARE(at({0.5, 0.5}), QColor(200, 100, 50));
        QCOMPARE(test::glOf(*m_panel).contextCount(), 1);
    }
}

void ViewPanelTest::aMeshThatIsNotThereYetIsSaidInWords()
{
    m_panel->setStreams({{"mesh", "Mesh", StreamKind::Mesh, "", ""}});
    auto* message = m_panel->findChild<QLabel*>(QStringLiteral("viewMessage"));
    QVERIFY(message->isVisible());
    QVERIFY(message->text().contains(QStringLiteral("No mesh yet")));
}

void ViewPanelTest::emptyPanelSaysSo()
{
    auto* message = m_panel->findChild<QLabel*>(QStringLiteral("viewMessage"));
    QVERIFY(message->isVisible());
    m_panel->setMessage(QStringLiteral("The run starts."));
    QCOMPARE(message->text(), QStringLiteral("The run starts."));
}

void ViewPanelTest::clearReturnsToTheMessage()
{
    auto* message = m_panel->findChild<QLabel*>(QStringLiteral("viewMessage"));
    m_panel->setFrame(test::makePlain("eye_view", 8, 8, {200, 100, 50}));
    QVERIFY(!message->isVisible());
    m_panel->clear();
    QVERIFY(message->isVisible());
}

VERGENCE_WINDOW_TEST(ViewPanelTest)
#include "tst_view_panel.moc"
