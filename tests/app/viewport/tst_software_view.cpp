#include <QLabel>
#include <QtTest>

#include "app/viewport/software_view.h"
#include "app/viewport/view_panel.h"
#include "tests/app/viewport/synthetic_frames.h"
#include "tests/support/test_program.h"

using namespace vergence;

class SoftwareViewTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void panelSaysThatTheViewIsReduced()
    {
        ViewPanel panel;
        panel.setStreams(test::labStreams());
        panel.setFrame(test::makePlain("eye_view", 8, 8, {200, 100, 50}));
        panel.resize(400, 300);
        panel.show();
        QVERIFY(panel.findChild<QWidget*>(QStringLiteral("softwareView")) != nullptr);
        QVERIFY(panel.findChild<QWidget*>(QStringLiteral("viewport")) == nullptr);
        QCOMPARE(panel.findChild<QLabel*>(QStringLiteral("viewTransport"))->text(),
                 QStringLiteral("reduced view"));
        const QImage image = panel.grabView();
        QCOMPARE(image.pixelColor(image.rect().center()), QColor(200, 100, 50));
        QVERIFY(panel.paintCount() > 0);
    }

    void wipeAndDifferenceAreDrawn()
    {
        ViewScene scene;
        scene.setStreams(test::labStreams());
        scene.setFrame(test::makePlain("eye_view", 10, 10, {100, 100, 100}));
        scene.setFrame(test::makePlain("target", 10, 10, {90, 110, 100}));
        scene.edit([](ViewSettings& s) { s.mode = ViewMode::Compare; });
        SoftwareView view(scene);
        view.resize(200, 200);
        QImage image = view.grab().toImage();
        QCOMPARE(image.pixelColor(50, 100), QColor(100, 100, 100));
        QCOMPARE(image.pixelColor(150, 100), QColor(90, 110, 100));
        scene.edit([](ViewSettings& s) {
            s.compare.mode = CompareMode::Difference;
            s.compare.gain = 8;
        });
        image = view.grab().toImage();
        QCOMPARE(image.pixelColor(100, 150), QColor(80, 80, 0));
    }

    void stackIsDrawn()
    {
        ViewScene scene;
        scene.setStreams(test::labStreams());
        scene.setFrame(test::makePlanes("planes", 32, 4));
        scene.edit([](ViewSettings& s) { s.mode = ViewMode::Stack3d; });
        SoftwareView view(scene);
        view.resize(300, 300);
        const QImage image = view.grab().toImage();
        QVERIFY(image.pixel(150, 150) != image.pixel(2, 2));
    }
};

VERGENCE_WINDOW_TEST(SoftwareViewTest)
#include "tst_software_view.moc"
