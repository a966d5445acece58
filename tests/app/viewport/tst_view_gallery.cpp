#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QLabel>
#include <QStyleFactory>
#include <QtTest>

#include "app/viewport/view_panel.h"
#include "tests/app/viewport/synthetic_frames.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// Every mode with frames as a lab publishes them, in a light and a dark palette. With
/// VERGENCE_SCREENSHOTS=<folder> the pictures are kept for people.
class ViewGalleryTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void everyModeShowsAPicture_data();
    void everyModeShowsAPicture();
};

namespace {

QPalette darkPalette()
{
    QPalette palette(QColor(0x2b, 0x2d, 0x30), QColor(0x2b, 0x2d, 0x30));
    palette.setColor(QPalette::Base, QColor(0x1f, 0x20, 0x22));
    palette.setColor(QPalette::WindowText, QColor(0xe6, 0xe6, 0xe6));
    palette.setColor(QPalette::Text, QColor(0xe6, 0xe6, 0xe6));
    palette.setColor(QPalette::ButtonText, QColor(0xe6, 0xe6, 0xe6));
    palette.setColor(QPalette::Mid, QColor(0x70, 0x73, 0x78));
    palette.setColor(QPalette::Highlight, QColor(0x4a, 0x9e, 0xff));
    palette.setColor(QPalette::HighlightedText, Qt::white);
    return palette;
}

void choose(ViewPanel& panel, const char* name, const QString& text)
{
    auto* combo = panel.findChild<QComboBox*>(QLatin1String(name));
    QVERIFY(combo != nullptr);
    const int index = combo->findText(text);
    QVERIFY2(index >= 0, qPrintable(text));
    combo->setCurrentIndex(index);
    Q_EMIT combo->activated(index);
}

bool isUniform(const QImage& image)
{
    const QRgb first = image.pixel(image.width() / 2, image.height() / 2);
    for (int y = 0; y < image.height(); y += 3)
        for (int x = 0; x < image.width(); x += 3)
            if (image.pixel(x, y) != first)
                return false;
    return true;
}

} // namespace

void ViewGalleryTest::initTestCase()
{
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
}

void ViewGalleryTest::everyModeShowsAPicture_data()
{
    QTest::addColumn<QString>("mode");
    QTest::addColumn<QString>("stream");
    QTest::addColumn<QString>("compare");
    QTest::addColumn<bool>("isDark");
    QTest::addColumn<QSize>("size");
    const auto add = [](const char* name, const char* mode, const char* stream,
                        const char* compare) {
        for (const bool isDark : {false, true})
            for (const QSize size : {QSize(640, 340), QSize(900, 600)})
                QTest::addRow("%s-%s-%d", name, isDark ? "dark" : "light", size.width())
                    << QString::fromLatin1(mode) << QString::fromLatin1(stream)
                    << QString::fromLatin1(compare) << isDark << size;
    };
    add("image", "Image", "Eye view", "");
    add("error", "Image", "Error", "");
    add("wipe", "Compare", "", "Wipe");
    add("side", "Compare", "", "Side by side");
    add("blink", "Compare", "", "Blink (hold Space)");
    add("difference", "Compare", "", "Difference");
    add("three", "Compare", "", "Three-up");
    add("grid", "Grid", "Display planes", "");
    add("stack3d", "Stack in 3-D", "Display planes", "");
    add("diagram", "Diagram", "Optics", "");
    add("empty", "", "", "");
}

void ViewGalleryTest::everyModeShowsAPicture()
{
    QFETCH(QString, mode);
    QFETCH(QString, stream);
    QFETCH(QString, compare);
    QFETCH(bool, isDark);
    QFETCH(QSize, size);
    QApplication::setPalette(isDark ? darkPalette() : QApplication::style()->standardPalette());
    ViewPanel panel;
    panel.resize(size);
    if (!mode.isEmpty()) {
        panel.setStreams(test::labStreams());
        panel.setControls(test::fullControls());
        panel.setFrame(test::makeEyeView("eye_view", 256, 1.0));
        panel.setFrame(test::makeEyeView("target", 256, 0.0));
        panel.setFrame(test::makeNumbers("error", 256));
        panel.setFrame(test::makePlanes("planes", 128, 8));
        panel.setFrame(test::makeOpticsDiagram("optics"));
        choose(panel, "viewModeCombo", mode);
    }
    panel.show();
    QVERIFY(QTest::qWaitForWindowExposed(&panel));
    if (!stream.isEmpty())
        choose(panel, "streamCombo", stream);
    if (!compare.isEmpty())
        choose(panel, "compareMode", compare);
    if (compare == QLatin1String("Difference"))
        choose(panel, "compareGain", QStringLiteral("×4"));
    QTRY_VERIFY(mode.isEmpty() || mode == QLatin1String("Diagram") || panel.paintCount() > 0);
    QTRY_VERIFY(!isUniform(panel.grabView()));
    const QString folder = qEnvironmentVariable("VERGENCE_SCREENSHOTS");
    if (!folder.isEmpty())
        QVERIFY(panel.grab().save(QDir(folder).filePath(QLatin1String(QTest::currentDataTag()) +
                                                        QStringLiteral(".png"))));
}

VERGENCE_WINDOW_TEST(ViewGalleryTest)
#include "tst_view_gallery.moc"
