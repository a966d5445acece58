#include <cmath>

#include <QComboBox>
#include <QFileDialog>
#include <QTest>

#include "plugins/sugar/io/gaussian_files.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

constexpr int kGaussians = 1000;
const std::string kSplats = "splats";

/// Red Gaussians of a sphere of radius 1, each a ball of 0.05.
sugar::GaussianCloud redSphere()
{
    sugar::GaussianCloud cloud;
    for (int i = 0; i < kGaussians; ++i) {
        const float z = 1 - 2 * (static_cast<float>(i) + 0.5F) / kGaussians;
        const float turn = 2.399963F * static_cast<float>(i); // golden angle: evenly spread
        const float radius = std::sqrt(1 - z * z);
        cloud.position.insert(cloud.position.end(),
                              {radius * std::cos(turn), radius * std::sin(turn), z});
        cloud.logScale.insert(cloud.logScale.end(), 3, std::log(0.05F));
        cloud.rotation.insert(cloud.rotation.end(), {1, 0, 0, 0});
        cloud.opacity.push_back(3);
        cloud.shDc.insert(cloud.shDc.end(), {1.5F, -1.5F, -1.5F});
    }
    return cloud;
}

void writeCloud(const std::filesystem::path& path)
{
    if (path.extension() == ".ply")
        sugar::writeGaussianPly(path, redSphere(), {0, false, false});
    else if (path.extension() == ".splat")
        sugar::writeSplat(path, redSphere());
    else
        sugar::writeSpz(path, redSphere());
}

/// Share of the pixels in which red prevails.
double redShare(const QImage& image)
{
    int count = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) {
            const QRgb pixel = image.pixel(x, y);
            count += qRed(pixel) > 100 && qRed(pixel) > 2 * qGreen(pixel) ? 1 : 0;
        }
    return static_cast<double>(count) / (image.width() * image.height());
}

} // namespace

/// S16: I look at results in 3D. Here files of Gaussians, which a worker of their lab draws.
class TestSplats : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aFileOfGaussiansIsOpenedByItsLab_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name : {"sphere.ply", "sphere.splat", "sphere.spz"})
            QTest::newRow(name) << name;
    }
    void aFileOfGaussiansIsOpenedByItsLab()
    {
        QFETCH(QString, name);
        const QString path = GuiHarness::folder() + '/' + name;
        writeCloud(path.toStdString());
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        gui.findAction("open")->trigger(); // File > Open
        auto* dialog = gui.window().findChild<QFileDialog*>();
        QVERIFY(dialog != nullptr);
        QVERIFY2(dialog->nameFilters().join(' ').contains("*." + name.section('.', 1)),
                 qPrintable(dialog->nameFilters().join(' ')));
        dialog->selectFile(path);
        static_cast<QDialog*>(dialog)->accept();

        QTRY_VERIFY(!gui.window().currentRun().isEmpty());
        const QString run = gui.window().currentRun();
        QCOMPARE(gui.window().runs().find(run)->plugin, QString("sugar"));
        ViewPanel& panel = gui.window().views().current()->panel();
        QTRY_VERIFY(panel.frameWithPixels(kSplats).has_value());
        QTRY_VERIFY(redShare(panel.grabView()) > 0.02);
        qInfo("%.1f %% of the view is red", 100 * redShare(panel.grabView()));
        gui.shoot("splats_" + name.section('.', 1));

        auto* canvas = panel.findChild<QWidget*>("viewport");
        if (canvas == nullptr)
            canvas = panel.findChild<QWidget*>("softwareView");
        const double home = redShare(panel.grabView());
        QTest::keyPress(canvas, Qt::Key_W); // towards them
        QTRY_VERIFY(redShare(panel.grabView()) > 1.1 * home);
        QTest::keyRelease(canvas, Qt::Key_W);
        QCOMPARE(gui.window().problems().errorCount(), 0);
        QVERIFY(gui.card() == nullptr);
        gui.endRuns();
    }
    void aDamagedFileSaysSo()
    {
        const std::filesystem::path path = (GuiHarness::folder() + "/torn.spz").toStdString();
        writeCloud(path);
        std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        gui.window().openPath(QString::fromStdString(path.string()));
        QTRY_VERIFY(!gui.window().currentRun().isEmpty());
        QVERIFY(gui.waitState(gui.window().currentRun(), RunState::Failed, 60'000));
        QTRY_VERIFY(gui.card() != nullptr);
        QVERIFY2(gui.card()->content().whatHappened.contains("torn.spz"),
                 qPrintable(gui.card()->content().whatHappened));
        QCOMPARE(GuiHarness::visibleDialogs(), 0);
    }
};

VERGENCE_GUI_TEST(TestSplats)
#include "tst_s16_splats.moc"
