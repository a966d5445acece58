#include <cmath>

#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>
#include <QToolButton>
#include <QtTest>

#include "app/viewport/view_panel.h"
#include "tests/app/viewport/synthetic_frames.h"
#include "tests/support/small_scene.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

const std::string kScene = "scene";

double distance(const std::vector<double>& camera, const std::array<double, 3>& point)
{
    return std::hypot(camera[12] - point[0], camera[13] - point[1], camera[14] - point[2]);
}

} // namespace

/// A panel with a run that draws what it is asked for, and the mouse and keys of a viewer.
class SceneNavigatorTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup() { m_panel.reset(); }

    void aSceneIsShownFirstAndAskedForInTheSizeOfTheCanvas();
    void pictureIsLetterboxed();
    void previewIsMagnifiedSmoothly();
    void leftDragCirclesTheTarget();
    void otherDragsShiftTheView_data();
    void otherDragsShiftTheView();
    void wheelComesNearer();
    void shiftWheelChangesTheFieldOfView();
    void flightEndsWithTheKey();
    void flightEndsWhenFocusIsLost();
    void homeReturnsToTheFirstCamera();
    void onlyAJumpMovesTheCameraOfTheWindow();
    void fitIsAskedForAndAnswered();
    void doubleClickAsksForFocus();
    void clickPicksAPixel();
    void hoveringTellsThePixelToNobodyElse();
    void digitsChooseTheMode();
    void otherStreamsSendNoCamera();
    void inputsAreAtLeastAFrameApart();
    void anotherRunBringsItsOwnCamera();

private:
    QWidget& canvas() { return *m_panel->findChild<QWidget*>(QStringLiteral("softwareView")); }
    QPoint middle() { return canvas().rect().center(); }
    ViewInput last()
    {
        return m_inputs->isEmpty() ? ViewInput() : m_inputs->last().first().value<ViewInput>();
    }
    const std::vector<double>& lastOf(const char* id)
    {
        m_last = last();
        return m_last.values[id];
    }
    void answer();
    void waitUntilStill();
    void drag(Qt::MouseButton button, QPoint by, Qt::KeyboardModifiers modifiers = {});
    void moveTo(QPoint to, Qt::MouseButtons buttons, Qt::KeyboardModifiers modifiers = {});
    void turnWheel(int eighths, Qt::KeyboardModifiers modifiers = {});

    std::unique_ptr<ViewPanel> m_panel;
    std::unique_ptr<QSignalSpy> m_inputs;
    test::SmallScene m_scene;
    ViewInput m_last;
};

void SceneNavigatorTest::init()
{
    m_scene = {};
    m_panel = std::make_unique<ViewPanel>();
    m_panel->resize(640, 420);
    m_panel->setStreams({{kScene, "Scene", StreamKind::Splats, "", ""},
                         {"loss", "Loss", StreamKind::Image, "", ""}});
    m_panel->show();
    m_inputs = std::make_unique<QSignalSpy>(m_panel.get(), &ViewPanel::viewInputChanged);
    m_panel->setFrame(m_scene.draw(kScene));
    QTRY_VERIFY(!m_inputs->isEmpty() && !lastOf("viewport").empty());
    QTRY_COMPARE(last().scalar("moving").value_or(-1), 0.0);
    answer();
    waitUntilStill();
    m_inputs->clear();
}

/// The run draws for the latest input.
void SceneNavigatorTest::answer()
{
    m_scene.take(last());
    m_panel->setFrame(m_scene.draw(kScene));
}

void SceneNavigatorTest::waitUntilStill()
{
    int before = -1;
    const auto isQuiet = [&] {
        return std::exchange(before, m_inputs->count()) == m_inputs->count();
    };
    do
        QTest::qWait(200); // longer than the wheel takes to come to rest
    while (!isQuiet());
}

void SceneNavigatorTest::moveTo(QPoint to, Qt::MouseButtons buttons,
                                Qt::KeyboardModifiers modifiers)
{
    QMouseEvent move(QEvent::MouseMove, to, canvas().mapToGlobal(to), Qt::NoButton, buttons,
                     modifiers);
    QCoreApplication::sendEvent(&canvas(), &move);
}

void SceneNavigatorTest::drag(Qt::MouseButton button, QPoint by, Qt::KeyboardModifiers modifiers)
{
    QTest::mousePress(&canvas(), button, modifiers, middle());
    moveTo(middle() + by, button, modifiers);
    QTest::mouseRelease(&canvas(), button, modifiers, middle() + by);
}

void SceneNavigatorTest::turnWheel(int eighths, Qt::KeyboardModifiers modifiers)
{
    QWheelEvent event(middle(), canvas().mapToGlobal(middle()), {}, {0, eighths}, Qt::NoButton,
                      modifiers, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&canvas(), &event);
}

void SceneNavigatorTest::aSceneIsShownFirstAndAskedForInTheSizeOfTheCanvas()
{
    QCOMPARE(m_panel->visibleStreams(), std::vector<std::string>{kScene});
    QVERIFY(canvas().isVisible());
    QCOMPARE(m_scene.width, canvas().width());
    QCOMPARE(m_scene.height, canvas().height());
    m_panel->resize(500, 300);
    QTRY_COMPARE(lastOf("viewport"),
                 (std::vector<double>{double(canvas().width()), double(canvas().height())}));
    QCOMPARE(last().scalar("moving").value_or(-1), 0.0);
}

void SceneNavigatorTest::pictureIsLetterboxed()
{
    test::SmallScene wide;
    wide.width = 200;
    wide.height = 50;
    m_panel->setFrame(wide.draw(kScene));
    const QImage shown = m_panel->grabView();
    const QColor background = m_panel->palette().color(QPalette::Window);
    const int x = shown.width() / 2, band = shown.width() / 4;
    QCOMPARE(shown.pixelColor(x, (shown.height() - band) / 2 - 3), background);
    QVERIFY(shown.pixelColor(x, (shown.height() - band) / 2 + 3) != background);
    QCOMPARE(shown.pixelColor(x, (shown.height() + band) / 2 + 3), background);
}

void SceneNavigatorTest::previewIsMagnifiedSmoothly()
{
    Frame small = test::makePlain(kScene, 2, 1, {0, 0, 0});
    test::setPixel(small, 0, 1, 0, {200, 200, 200});
    small.info.meta = R"({"isPreview": true})";
    m_panel->setFrame(small);
    const QImage shown = m_panel->grabView();
    const int between = shown.pixelColor(shown.rect().center()).red();
    QVERIFY2(between > 60 && between < 140, qPrintable(QString::number(between)));
    QVERIFY(m_panel->findChild<QLabel*>(QStringLiteral("viewStatus"))
                ->text()
                .contains(QStringLiteral("preview")));
}

void SceneNavigatorTest::leftDragCirclesTheTarget()
{
    const QImage before = m_panel->grabView();
    const std::vector<double> camera(m_scene.camera.begin(), m_scene.camera.end());
    QTest::mousePress(&canvas(), Qt::LeftButton, {}, middle());
    QVERIFY(m_inputs->isEmpty());
    moveTo(middle() + QPoint(80, 20), Qt::LeftButton);
    QTRY_VERIFY(!m_inputs->isEmpty());
    QCOMPARE(last().scalar("moving").value_or(-1), 1.0);
    QTest::mouseRelease(&canvas(), Qt::LeftButton, {}, middle() + QPoint(80, 20));
    QTRY_COMPARE(last().scalar("moving").value_or(-1), 0.0);
    const std::vector<double> now = lastOf("camera");
    QCOMPARE(now.size(), std::size_t{16});
    QVERIFY(now != camera);
    QVERIFY(std::abs(distance(now, m_scene.target) - distance(camera, m_scene.target)) < 1e-9);
    QVERIFY(!last().values.contains("pick"));
    answer();
    QVERIFY(m_panel->grabView() != before);
}

void SceneNavigatorTest::otherDragsShiftTheView_data()
{
    QTest::addColumn<int>("button");
    QTest::addColumn<int>("modifiers");
    QTest::newRow("right") << int(Qt::RightButton) << int(Qt::NoModifier);
    QTest::newRow("middle") << int(Qt::MiddleButton) << int(Qt::NoModifier);
    QTest::newRow("Shift and left") << int(Qt::LeftButton) << int(Qt::ShiftModifier);
}

void SceneNavigatorTest::otherDragsShiftTheView()
{
    QFETCH(int, button);
    QFETCH(int, modifiers);
    const auto before = m_scene.camera;
    drag(Qt::MouseButton(button), {60, 0}, Qt::KeyboardModifiers(modifiers));
    QTRY_VERIFY(!m_inputs->isEmpty() && last().scalar("moving") == 0.0);
    const std::vector<double> now = lastOf("camera");
    for (int i = 0; i < 12; ++i)
        QVERIFY(std::abs(now[i] - before[i]) < 1e-9); // looks the same way
    // 60 of the picture's pixels at the depth of the target, to the left
    const double depth = distance(now, m_scene.target) > 0 ? std::hypot(4, 0.5) : 0;
    QVERIFY(std::abs(before[12] - now[12] - 60 * depth / (1.2 * canvas().height())) < 1e-9);
    QVERIFY(std::abs(now[14] - before[14]) < 1e-9);
}

void SceneNavigatorTest::wheelComesNearer()
{
    const std::vector<double> before(m_scene.camera.begin(), m_scene.camera.end());
    turnWheel(360);
    QTRY_VERIFY(!m_inputs->isEmpty());
    QCOMPARE(last().scalar("moving").value_or(-1), 1.0);
    QVERIFY(std::abs(distance(lastOf("camera"), m_scene.target) -
                     distance(before, m_scene.target) / 2) < 1e-9);
    QTRY_COMPARE(last().scalar("moving").value_or(-1), 0.0);
}

void SceneNavigatorTest::shiftWheelChangesTheFieldOfView()
{
    const std::vector<double> before(m_scene.camera.begin(), m_scene.camera.end());
    turnWheel(-360, Qt::ShiftModifier);
    QTRY_VERIFY(!m_inputs->isEmpty() && last().scalar("moving") == 0.0);
    QCOMPARE(last().scalar("focal").value_or(0), 0.6);
    QVERIFY(std::abs(distance(lastOf("camera"), m_scene.target) -
                     distance(before, m_scene.target)) < 1e-9);
}

void SceneNavigatorTest::flightEndsWithTheKey()
{
    const std::vector<double> before(m_scene.camera.begin(), m_scene.camera.end());
    QTest::keyPress(&canvas(), Qt::Key_W);
    QTRY_VERIFY(m_inputs->count() > 3);
    QCOMPARE(last().scalar("moving").value_or(-1), 1.0);
    QTest::keyRelease(&canvas(), Qt::Key_W);
    QTRY_COMPARE(last().scalar("moving").value_or(-1), 0.0);
    const std::vector<double> now = lastOf("camera");
    double along = 0, aside = 0;
    for (int i = 0; i < 3; ++i) {
        along += (now[12 + i] - before[12 + i]) * before[8 + i];
        aside += (now[12 + i] - before[12 + i]) * before[i];
    }
    QVERIFY(along > 0 && std::abs(aside) < 1e-9);
    waitUntilStill();
    QCOMPARE(lastOf("camera"), now);
}

void SceneNavigatorTest::flightEndsWhenFocusIsLost()
{
    QTest::keyPress(&canvas(), Qt::Key_E);
    QTRY_VERIFY(!m_inputs->isEmpty() && last().scalar("moving") == 1.0);
    QFocusEvent away(QEvent::FocusOut);
    QCoreApplication::sendEvent(&canvas(), &away);
    QTRY_COMPARE(last().scalar("moving").value_or(-1), 0.0);
    QTest::keyRelease(&canvas(), Qt::Key_E);
}

void SceneNavigatorTest::homeReturnsToTheFirstCamera()
{
    const std::vector<double> first(m_scene.camera.begin(), m_scene.camera.end());
    drag(Qt::LeftButton, {90, -40});
    turnWheel(120);
    QTest::keyClick(&canvas(), Qt::Key_Home);
    waitUntilStill();
    const std::vector<double> now = lastOf("camera");
    for (int i = 0; i < 16; ++i)
        QVERIFY(std::abs(now[i] - first[i]) < 1e-9);
}

void SceneNavigatorTest::onlyAJumpMovesTheCameraOfTheWindow()
{
    m_scene.lookFrom({4, 0, 2});
    m_panel->setFrame(m_scene.draw(kScene));
    waitUntilStill();
    QVERIFY(m_inputs->isEmpty());
    m_scene.jump = 7;
    m_panel->setFrame(m_scene.draw(kScene));
    QTRY_VERIFY(!m_inputs->isEmpty());
    QVERIFY(std::abs(lastOf("camera")[12] - 4) < 1e-9);
    m_inputs->clear();
    m_scene.lookFrom({0, 4, 2}); // still the same jump
    m_panel->setFrame(m_scene.draw(kScene));
    waitUntilStill();
    QVERIFY(m_inputs->isEmpty());
}

void SceneNavigatorTest::fitIsAskedForAndAnswered()
{
    QTest::keyClick(&canvas(), Qt::Key_F);
    QTRY_VERIFY(!m_inputs->isEmpty() && last().scalar("fit") == 1.0);
    answer();
    QTRY_VERIFY(std::abs(lastOf("camera")[13] + 8) < 1e-9); // where the run has gone
    QTest::mouseClick(m_panel->findChild<QToolButton*>(QStringLiteral("fitButton")),
                      Qt::LeftButton);
    QTRY_VERIFY(last().scalar("fit") == 2.0);
}

void SceneNavigatorTest::doubleClickAsksForFocus()
{
    QTest::mouseDClick(&canvas(), Qt::LeftButton, {}, {30, 40});
    QTRY_VERIFY(!m_inputs->isEmpty());
    const auto focus = lastOf("focus");
    QCOMPARE(focus.size(), std::size_t{3});
    QCOMPARE(focus[0], 30.0);
    QCOMPARE(focus[1], 40.0);
    answer();
    m_inputs->clear();
    drag(Qt::LeftButton, {70, 0});
    QTRY_VERIFY(!m_inputs->isEmpty() && last().scalar("moving") == 0.0);
    QVERIFY(std::abs(distance(lastOf("camera"), {1, 0, 0.5}) - std::hypot(1, 4, 0.5)) < 1e-9);
}

void SceneNavigatorTest::clickPicksAPixel()
{
    QTest::mouseClick(&canvas(), Qt::LeftButton, {}, {20, 50});
    QTRY_VERIFY(!m_inputs->isEmpty());
    QCOMPARE(last().texts.at("pick_stream"), kScene);
    QCOMPARE(lastOf("pick"), (std::vector<double>{20, 50, 0, 1}));
    QVERIFY(!last().values.contains("focus"));
}

void SceneNavigatorTest::hoveringTellsThePixelToNobodyElse()
{
    moveTo(middle(), Qt::NoButton);
    QVERIFY(!m_panel->findChild<QLabel*>(QStringLiteral("viewProbe"))->text().isEmpty());
    waitUntilStill();
    QVERIFY(m_inputs->isEmpty());
}

void SceneNavigatorTest::digitsChooseTheMode()
{
    ViewControl mode{.id = "mode", .title = "Mode"};
    mode.kind = ViewControl::Kind::Choice;
    mode.value = {0};
    mode.labels = {"Colour", "Depth", "Normals"};
    m_panel->setControls({mode});
    QTest::keyClick(&canvas(), Qt::Key_3);
    QTRY_VERIFY(!m_inputs->isEmpty());
    QCOMPARE(last().scalar("mode").value_or(-1), 2.0);
    QCOMPARE(m_panel->findChild<QComboBox*>(QStringLiteral("controls/mode"))->currentText(),
             QStringLiteral("Normals"));
    QTest::keyClick(&canvas(), Qt::Key_9); // no such mode
    waitUntilStill();
    QCOMPARE(last().scalar("mode").value_or(-1), 2.0);
    m_panel->setControls({});
    QTest::keyClick(&canvas(), Qt::Key_Home);
    QTRY_VERIFY(!last().values.contains("mode"));
    QVERIFY(last().values.contains("camera"));
}

void SceneNavigatorTest::otherStreamsSendNoCamera()
{
    m_panel->setFrame(test::makePlain("loss", 40, 40, {200, 100, 50}));
    auto* modes = m_panel->findChild<QComboBox*>(QStringLiteral("viewModeCombo"));
    modes->setCurrentIndex(modes->findText(QStringLiteral("Image")));
    Q_EMIT modes->activated(modes->currentIndex());
    QCOMPARE(m_panel->visibleStreams(), std::vector<std::string>{"loss"});
    waitUntilStill();
    m_inputs->clear();
    drag(Qt::LeftButton, {60, 10});
    turnWheel(120);
    QTest::keyClick(&canvas(), Qt::Key_W);
    waitUntilStill();
    for (const auto& input : *m_inputs)
        QCOMPARE(input.first().value<ViewInput>().scalar("moving").value_or(0), 0.0);
}

void SceneNavigatorTest::inputsAreAtLeastAFrameApart()
{
    QElapsedTimer clock;
    clock.start();
    QTest::mousePress(&canvas(), Qt::LeftButton, {}, middle());
    while (clock.elapsed() < 300)
        moveTo(middle() + QPoint(20 + static_cast<int>(clock.elapsed()) / 10, 0), Qt::LeftButton),
            QCoreApplication::processEvents();
    QVERIFY(m_inputs->count() > 2);
    QVERIFY2(m_inputs->count() <= clock.elapsed() / 16 + 1,
             qPrintable(QString::number(m_inputs->count())));
    QTest::mouseRelease(&canvas(), Qt::LeftButton, {}, middle());
}

void SceneNavigatorTest::anotherRunBringsItsOwnCamera()
{
    m_panel->clear();
    m_scene.lookFrom({0, 6, 3});
    m_panel->setFrame(m_scene.draw(kScene));
    QTRY_VERIFY(!m_inputs->isEmpty());
    QVERIFY(std::abs(lastOf("camera")[13] - 6) < 1e-9);
}

VERGENCE_WINDOW_TEST(SceneNavigatorTest)
#include "tst_scene_navigator.moc"
