#include <cmath>
#include <limits>

#include <QApplication>
#include <QChartView>
#include <QClipboard>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QSignalSpy>
#include <QSlider>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>
#include <QWheelEvent>
#include <QtTest>

#include "app/charts/chart_card.h"
#include "app/charts/charts_panel.h"
#include "tests/app/charts/chart_samples.h"
#include "tests/support/test_program.h"

using namespace vergence;
using vergence::test::darkPalette;
using vergence::test::makeStore;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

} // namespace

class TestChartsPanel : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();
    void everySeriesHasACardInTheDeclaredOrder();
    void groupsAreTitledAndTheirNumbersOrdered();
    void labsThatShareANameKeepTheirTitles();
    void emptySaysWhatItWaitsFor();
    void backReturnsTheExactRange();
    void wheelZoomsAtTheCursor();
    void doubleClickFits();
    void notANumberIsMarked();
    void logLeavesOutAndSaysSo();
    void newPointsAppear();
    void hiddenDrawsNothing();
    void followMovesTheZoomOn();
    void crossHairIsLinked();
    void tableShowsEveryPoint();
    void csvHoldsEveryRawPoint();
    void jsonAndPicturesAreWritten();
    void sweepRowsCanBeClicked();
    void tablesOfTextAreNoCharts();
    void asManyColumnsAsFit();
    void pinsGoFirst();
    void runsCanLeave();
    void drawnPointsAreBounded();
    void controlsHaveNames();
    void pictures();
    void dockPictures();

private:
    ChartCard* card(const char* id) const
    {
        return m_panel->findChild<ChartCard*>(QStringLiteral("chartCard/") + QLatin1String(id));
    }
    QChartView* view(const char* id) const { return card(id)->findChild<QChartView*>(); }
    QAction* action(const char* name) const
    {
        return m_panel->findChild<QAction*>(QLatin1String(name));
    }
    /// Whether the first card stands higher, or in the same row further left.
    bool isBefore(const char* first, const char* second) const
    {
        const QPoint a = card(first)->pos(), b = card(second)->pos();
        return a.y() != b.y() ? a.y() < b.y() : a.x() < b.x();
    }
    bool isDrawn(const char* id) const { return card(id) != nullptr && !card(id)->isDirty(); }
    QByteArray exported(const char* name);
    /// Whether nothing was drawn anew in some rounds of the event loop.
    bool isSettled() const
    {
        for (int round = 0; round < 20; ++round) {
            QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
            for (const ChartCard* one : m_panel->findChildren<ChartCard*>())
                if (one->isDirty() && !one->visibleRegion().isEmpty())
                    return false;
        }
        return true;
    }
    void box(const char* id, double left, double top, double right, double bottom) const;

    std::unique_ptr<ChartsPanel> m_panel;
    MetricStore m_first, m_second;
    std::vector<ChartedRun> m_runs;
};

void TestChartsPanel::init()
{
    m_first = makeStore(2000, 1, 1);
    m_second = makeStore(1500, 2, 2);
    m_runs = {{"r1", "run 1", QColor(0x00, 0x72, 0xb2), &m_first},
              {"r2", "run 2", QColor(0xd5, 0x5e, 0x00), &m_second}};
    m_panel = std::make_unique<ChartsPanel>();
    m_panel->resize(900, 700);
    m_panel->setDeclarations({{"train/loss", "Loss", "", MetricDecl::Better::Lower, true},
                              {"train/psnr", "PSNR", "dB", MetricDecl::Better::Higher, false}});
    m_panel->setRuns(m_runs);
    m_panel->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_panel.get()));
    QTRY_VERIFY(isDrawn("train/loss") && isDrawn("train/psnr"));
}

void TestChartsPanel::cleanup()
{
    m_panel.reset();
}

void TestChartsPanel::box(const char* id, double left, double top, double right,
                          double bottom) const
{
    const QRectF plot = view(id)->chart()->plotArea();
    const auto at = [&](double x, double y) {
        return QPoint(qRound(plot.left() + x * plot.width()),
                      qRound(plot.top() + y * plot.height()));
    };
    QWidget* target = view(id)->viewport();
    QTest::mousePress(target, Qt::LeftButton, {}, at(left, top));
    QTest::mouseMove(target, at((left + right) / 2, (top + bottom) / 2));
    QTest::mouseMove(target, at(right, bottom));
    QTest::mouseRelease(target, Qt::LeftButton, {}, at(right, bottom));
}

void TestChartsPanel::everySeriesHasACardInTheDeclaredOrder()
{
    for (const char* id : {"train/loss", "train/psnr", "eval/error", "system/gpu_memory"})
        QVERIFY2(card(id) != nullptr, id);
    QCOMPARE(card("train/psnr")->title(), QStringLiteral("PSNR"));
    QCOMPARE(card("train/psnr")->unit(), QStringLiteral("dB"));
    QCOMPARE(card("system/gpu_memory")->title(), QStringLiteral("Gpu memory"));
    QCOMPARE(m_panel->pointCount(QStringLiteral("train/loss")), 3500);
    QCOMPARE(card("train/loss")->sources().size(), std::size_t(2));
    QVERIFY(isBefore("train/loss", "train/psnr"));
    QVERIFY(isBefore("train/psnr", "eval/error"));
    QVERIFY(isBefore("eval/error", "system/gpu_memory"));
    m_panel->setDeclarations({{"eval/error", "Error", "", MetricDecl::Better::Lower, false},
                              {"train/psnr", "PSNR", "dB", MetricDecl::Better::Higher, false},
                              {"train/loss", "Loss", "", MetricDecl::Better::Lower, true}});
    QTRY_VERIFY(isBefore("eval/error", "train/loss"));
    QVERIFY(isBefore("train/loss", "train/psnr")); // the headline comes second
}

void TestChartsPanel::groupsAreTitledAndTheirNumbersOrdered()
{
    MetricStore store;
    store.append({{0, 0, "icc/tiny/T16", 0.8},
                  {0, 0, "icc/tiny/T4", 0.5},
                  {0, 0, "other/x", 1},
                  {1, 1, "icc/tiny/T4", 0.6}});
    m_panel->setRuns({{"r", "run", Qt::blue, &store}});
    QTRY_VERIFY(card("icc/tiny/T16") != nullptr && card("other/x") != nullptr);
    QCOMPARE(card("icc/tiny/T16")->title(), QStringLiteral("tiny, T16"));
    m_panel->setDeclarations({{"icc", "ICC", "", MetricDecl::Better::Higher, false}});
    QTRY_COMPARE(card("icc/tiny/T16")->group(), QStringLiteral("ICC"));
    QVERIFY(card("other/x")->group().isEmpty());
    QTRY_VERIFY(isBefore("icc/tiny/T4", "icc/tiny/T16"));
    QVERIFY(isBefore("icc/tiny/T16", "other/x"));
    m_panel->setRuns(m_runs);
}

void TestChartsPanel::labsThatShareANameKeepTheirTitles()
{
    m_panel->setDeclarations({{"train/loss", "Loss of some lab", "a", {}, false},
                              {"train/loss", "Loss of another", "b", {}, false}});
    const std::vector<MetricDecl> own{{"train/loss", "Own loss", "dB", {}, false}};
    m_panel->setRuns({{"r1", "run 1", Qt::blue, &m_first, own}});
    QTRY_COMPARE(card("train/loss")->title(), QStringLiteral("Own loss"));
    QCOMPARE(card("train/loss")->unit(), QStringLiteral("dB"));
    // The first run that has the series speaks for the card of both.
    const std::vector<MetricDecl> others{{"train/loss", "Other loss", "", {}, false}};
    m_panel->setRuns(
        {{"r2", "run 2", Qt::red, &m_second, others}, {"r1", "run 1", Qt::blue, &m_first, own}});
    QTRY_COMPARE(card("train/loss")->title(), QStringLiteral("Other loss"));
    m_panel->setRuns(m_runs);
    QTRY_COMPARE(card("train/loss")->title(), QStringLiteral("Loss of some lab"));
}

void TestChartsPanel::emptySaysWhatItWaitsFor()
{
    ChartsPanel empty;
    empty.show();
    auto* text = empty.findChild<QLabel*>(QStringLiteral("chartsEmpty"));
    QVERIFY(text->isVisible());
    QCOMPARE(text->text(), QStringLiteral("No run is charted. Tick one in the list of runs."));
    MetricStore silent;
    empty.setRuns({{"a", "run a", Qt::blue, &silent}});
    QCOMPARE(text->text(), QStringLiteral("The run has not reported a number yet."));
    QVERIFY(!m_panel->findChild<QLabel*>(QStringLiteral("chartsEmpty"))->isVisible());
}

void TestChartsPanel::backReturnsTheExactRange()
{
    const Range x = card("train/loss")->xRange(), y = card("train/loss")->yRange();
    box("train/loss", 0.2, 0.3, 0.6, 0.8);
    QTRY_VERIFY(card("train/loss")->xRange() != x);
    const Range zoomedX = card("train/loss")->xRange(), zoomedY = card("train/loss")->yRange();
    QTRY_VERIFY(card("train/psnr")->xRange() == zoomedX); // X is common
    QVERIFY(std::abs(zoomedX.from - (x.from + 0.2 * x.width())) < 0.02 * x.width());
    QVERIFY(std::abs(zoomedY.to - (y.from + 0.7 * y.width())) < 0.02 * y.width());
    box("train/loss", 0.1, 0.1, 0.5, 0.5);
    QTRY_VERIFY(card("train/loss")->xRange() != zoomedX);
    QTest::keyClick(card("train/loss"), Qt::Key_Left, Qt::AltModifier);
    QTRY_VERIFY(card("train/loss")->xRange() == zoomedX);
    QVERIFY(card("train/loss")->yRange() == zoomedY);
    action("chartBack")->trigger();
    QTRY_VERIFY(card("train/loss")->xRange() == x);
    QVERIFY(card("train/loss")->yRange() == y);
    QVERIFY(!action("chartBack")->isEnabled());
    action("chartForward")->trigger();
    QTRY_VERIFY(card("train/loss")->xRange() == zoomedX);
}

void TestChartsPanel::wheelZoomsAtTheCursor()
{
    const Range x = card("train/loss")->xRange(), y = card("train/loss")->yRange();
    const QRectF plot = view("train/loss")->chart()->plotArea();
    const auto turn = [&](Qt::KeyboardModifiers modifiers) {
        const QPointF at(plot.left() + plot.width() / 4, plot.center().y());
        QWidget* target = view("train/loss")->viewport();
        QWheelEvent wheel(at, target->mapToGlobal(at), {}, QPoint(0, 120), Qt::NoButton, modifiers,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(target, &wheel);
    };
    turn(Qt::NoModifier);
    QTRY_VERIFY(card("train/loss")->xRange().width() < x.width());
    const Range zoomed = card("train/loss")->xRange();
    const double before = x.from + 0.25 * x.width(), after = zoomed.from + 0.25 * zoomed.width();
    QVERIFY(std::abs(before - after) < 0.01 * x.width()); // what is under the cursor stays there
    turn(Qt::ShiftModifier);
    QTRY_VERIFY(card("train/loss")->yRange().width() < 0.9 * y.width());
    QVERIFY(card("train/loss")->xRange() == zoomed);
}

void TestChartsPanel::doubleClickFits()
{
    const Range x = card("train/loss")->xRange();
    box("train/loss", 0.2, 0.3, 0.6, 0.8);
    QTRY_VERIFY(card("train/loss")->xRange() != x);
    QTest::mouseDClick(view("train/loss")->viewport(), Qt::LeftButton, {},
                       view("train/loss")->chart()->plotArea().center().toPoint());
    QTRY_VERIFY(card("train/loss")->xRange() == x);
}

void TestChartsPanel::notANumberIsMarked()
{
    QCOMPARE(card("train/loss")->markCount(), 2); // one of each run
    QCOMPARE(card("train/psnr")->markCount(), 0);
    QCOMPARE(card("eval/error")->markCount(), 0);
}

void TestChartsPanel::logLeavesOutAndSaysSo()
{
    auto* note = card("eval/error")->findChild<QLabel*>(QStringLiteral("chartNote"));
    QVERIFY(!note->isVisible());
    card("train/loss")->setFocus();
    QTest::keyClick(card("train/loss"), Qt::Key_L);
    QTRY_VERIFY(isDrawn("eval/error") && isDrawn("train/loss"));
    QTRY_VERIFY(note->isVisible());
    QVERIFY(!card("train/loss")->findChild<QLabel*>(QStringLiteral("chartNote"))->isVisible());
    QVERIFY(card("train/loss")->yRange().from > 0);
}

void TestChartsPanel::newPointsAppear()
{
    m_first.append({{2500, 130, "train/loss", 0.5}, {2500, 130, "train/fresh", 1}});
    m_panel->refresh();
    QTRY_VERIFY(card("train/fresh") != nullptr);
    QTRY_VERIFY(card("train/loss")->xRange().to >= 2500);
    QCOMPARE(m_panel->pointCount(QStringLiteral("train/loss")), 3501);
}

void TestChartsPanel::hiddenDrawsNothing()
{
    m_panel->hide();
    m_first.append({{2500, 130, "train/loss", 0.5}});
    m_panel->refresh();
    QCoreApplication::processEvents();
    QVERIFY(card("train/loss")->xRange().to < 2500);
    m_panel->show();
    QTRY_VERIFY(card("train/loss")->xRange().to >= 2500);
}

void TestChartsPanel::followMovesTheZoomOn()
{
    box("train/loss", 0.5, 0.1, 0.9, 0.9);
    QTRY_VERIFY(card("train/loss")->xRange().from > 500);
    const double width = card("train/loss")->xRange().width();
    action("chartFollow")->setChecked(true);
    m_first.append({{4000, 300, "train/loss", 0.5}});
    m_panel->refresh();
    QTRY_COMPARE(card("train/loss")->xRange().to, 4000.0);
    QVERIFY(std::abs(card("train/loss")->xRange().width() - width) < 1e-6);
}

void TestChartsPanel::crossHairIsLinked()
{
    const QRectF plot = view("train/loss")->chart()->plotArea();
    QTest::mouseMove(view("train/loss")->viewport(), plot.center().toPoint());
    QVERIFY2(card("train/loss")->crossText().contains(QLatin1String("run 1")),
             qPrintable(card("train/loss")->crossText()));
    QVERIFY(!card("train/psnr")->crossText().isEmpty());
    action("chartLink")->setChecked(false);
    QTRY_VERIFY(isDrawn("train/loss"));
    card("train/psnr")->showCross(std::nullopt);
    QTest::mouseMove(view("train/loss")->viewport(), plot.center().toPoint() + QPoint(9, 0));
    QVERIFY(card("train/psnr")->crossText().isEmpty());
    card("train/loss")->setFocus();
    const QString before = card("train/loss")->crossText();
    QTest::keyClick(card("train/loss"), Qt::Key_Right);
    QVERIFY(card("train/loss")->crossText() != before);
}

void TestChartsPanel::tableShowsEveryPoint()
{
    m_panel->findChild<QDoubleSpinBox*>(QStringLiteral("chartSmoothingValue"))->setValue(0.9);
    card("train/loss")->setFocus();
    QTest::keyClick(card("train/loss"), Qt::Key_T);
    auto* table = m_panel->findChild<QTableView*>(QStringLiteral("chartTable"));
    QVERIFY(table->isVisible());
    const auto* model = table->model();
    QCOMPARE(model->rowCount(), 3500);
    const auto cell = [&](int row, int column) {
        return model->index(row, column).data().toString();
    };
    const auto& values = m_first.find("train/loss")->values();
    const auto smoothed = smooth(values, 0.9);
    for (const int row : {0, 1, 999, 1999}) {
        QVERIFY(cell(row, 3).toDouble() == values[static_cast<std::size_t>(row)]);
        QVERIFY(std::abs(cell(row, 4).toDouble() - smoothed[static_cast<std::size_t>(row)]) <=
                1e-9);
    }
    QCOMPARE(cell(1000, 3), QStringLiteral("NaN"));
    QCOMPARE(cell(2000, 0), QStringLiteral("run 2"));
    m_first.append({{2500, 130, "train/loss", 0.25}});
    m_panel->refresh();
    QTRY_COMPARE(model->rowCount(), 3501);
    QTest::keyClick(table, Qt::Key_Escape);
    QVERIFY(!table->isVisible());
    QVERIFY(card("train/loss")->isVisible());
}

QByteArray TestChartsPanel::exported(const char* name)
{
    QTemporaryDir folder;
    action(name)->trigger();
    auto* dialog = m_panel->findChild<QFileDialog*>();
    if (dialog == nullptr)
        return {};
    QSignalSpy done(m_panel.get(), &ChartsPanel::exported);
    const QString path = folder.filePath(QStringLiteral("out"));
    Q_EMIT dialog->fileSelected(path);
    delete dialog;
    QFile file(path);
    return done.count() == 1 && file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void TestChartsPanel::csvHoldsEveryRawPoint()
{
    m_panel->findChild<QSlider*>(QStringLiteral("chartSmoothing"))->setValue(900);
    card("train/loss")->setFocus();
    const QByteArray csv = exported("chartExport/csv");
    const auto lines = csv.trimmed().split('\n');
    QCOMPARE(lines.size(), 2 + 3500);
    QVERIFY(lines[0].startsWith("# smoothing=0.9 x=step range="));
    QCOMPARE(lines[1], QByteArray("run,name,step,wall_s,value,smoothed"));
    const auto& values = m_first.find("train/loss")->values();
    for (int i = 0; i < 2000; ++i) {
        const auto cells = lines[2 + i].split(',');
        QCOMPARE(cells[2].toInt(), i);
        const double value = values[static_cast<std::size_t>(i)];
        QVERIFY(std::isnan(value) ? cells[4] == "nan" : cells[4].toDouble() == value);
    }
    QCOMPARE(exported("chartExport/csv/all").trimmed().split('\n').size(),
             2 + 2 * 3500 + 2 * (40 + 30));
}

void TestChartsPanel::jsonAndPicturesAreWritten()
{
    card("train/loss")->setFocus();
    const QJsonObject root = QJsonDocument::fromJson(exported("chartExport/json")).object();
    const QJsonArray curves = root[QLatin1String("curves")].toArray();
    QCOMPARE(curves.size(), 2);
    QCOMPARE(curves[0].toObject()[QLatin1String("points")].toArray().size(), 2000);
    QVERIFY(exported("chartExport/svg").contains("<svg"));
    const QImage picture = QImage::fromData(exported("chartExport/png"));
    QCOMPARE(picture.size(), card("train/loss")->size() * 2);
    QVERIFY(picture.text(QStringLiteral("Description")).contains(QLatin1String("smoothing=0")));
    QVERIFY(!QImage::fromData(exported("chartExport/png/all")).isNull());
    action("chartExport/copy")->trigger();
    QCOMPARE(QGuiApplication::clipboard()->text().count(u'\n'), 3501);
}

void TestChartsPanel::sweepRowsCanBeClicked()
{
    ChartTable table{"sweep",
                     "Sharpness",
                     {"distance", "mtf", "note"},
                     {{400, 0.8, kNaN}, {200, 0.5, kNaN}, {800, 0.6, kNaN}}};
    m_panel->setTables({table});
    QVERIFY(card("table/sweep") != nullptr);
    QCOMPARE(card("table/sweep")->sources().size(),
             std::size_t(1)); // the empty column has no curve
    m_panel->findChild<QScrollArea*>()->ensureWidgetVisible(card("table/sweep"));
    QTRY_VERIFY(isDrawn("table/sweep"));
    QTRY_VERIFY(!view("table/sweep")->chart()->plotArea().isEmpty() && isDrawn("table/sweep"));
    QSignalSpy activated(m_panel.get(), &ChartsPanel::tableRowActivated);
    const Range x = card("table/sweep")->xRange(), y = card("table/sweep")->yRange();
    const QRectF plot = view("table/sweep")->chart()->plotArea();
    const QPointF at(plot.left() + (400 - x.from) / x.width() * plot.width(),
                     plot.bottom() - (0.8 - y.from) / y.width() * plot.height());
    QTest::mouseClick(view("table/sweep")->viewport(), Qt::LeftButton, {}, at.toPoint());
    QCOMPARE(activated.count(), 1);
    QCOMPARE(activated[0][0].toString(), QStringLiteral("sweep"));
    QCOMPARE(activated[0][1].toInt(), 0);
}

void TestChartsPanel::tablesOfTextAreNoCharts()
{
    const ChartTable health{"health", "Health", {"figure", "value"}, {{kNaN, 0.5}, {kNaN, kNaN}}};
    const ChartTable words{"words", "Words", {"step", "text"}, {{1, kNaN}, {2, kNaN}}};
    const ChartTable sweep{"sweep", "Sweep", {"board", "mtf"}, {{26, 0.8}, {32, 0.5}}};
    m_panel->setTables({health, sweep, words});
    QVERIFY(card("table/health") == nullptr && card("table/words") == nullptr);
    QCOMPARE(card("table/sweep")->sources().size(), std::size_t(1));
    m_panel->setTables({health});
    QTRY_VERIFY(card("table/sweep") == nullptr);
}

void TestChartsPanel::asManyColumnsAsFit()
{
    const auto isOneRow = [&](const char* last) {
        return card("train/loss")->y() == card(last)->y() && card(last)->x() > 0;
    };
    m_panel->resize(800, 230);
    QTRY_VERIFY(isOneRow("eval/error") && !isOneRow("system/gpu_memory"));
    QVERIFY(card("train/loss")->width() >= 240);
    QVERIFY(card("train/loss")->height() <= 200); // whole without scrolling
    m_panel->resize(1200, 230);
    QTRY_VERIFY(isOneRow("system/gpu_memory"));
    m_panel->resize(300, 500);
    QTRY_VERIFY(!isOneRow("train/psnr"));
    m_panel->findChild<QComboBox*>(QStringLiteral("chartColumns"))->setCurrentIndex(2);
    QTRY_VERIFY(isOneRow("train/psnr") && !isOneRow("eval/error"));
}

void TestChartsPanel::pinsGoFirst()
{
    QTest::mouseClick(
        card("system/gpu_memory")->findChild<QToolButton*>(QStringLiteral("chartPin")),
        Qt::LeftButton);
    QTRY_VERIFY(isBefore("system/gpu_memory", "train/loss"));
}

void TestChartsPanel::runsCanLeave()
{
    QTest::keyClick(card("train/loss"), Qt::Key_T);
    m_panel->setRuns({m_runs[1]});
    QTRY_COMPARE(card("train/loss")->sources().size(), std::size_t(1));
    m_panel->setRuns({});
    QTRY_VERIFY(card("train/loss") == nullptr);
    QVERIFY(m_panel->findChild<QLabel*>(QStringLiteral("chartsEmpty"))->isVisible());
}

void TestChartsPanel::drawnPointsAreBounded()
{
    const double width = view("train/loss")->chart()->plotArea().width();
    QVERIFY(card("train/loss")->drawnPoints() <= 2 * 2 * width); // two runs, two points per pixel
    QVERIFY(card("train/loss")->drawnPoints() > width);
}

void TestChartsPanel::controlsHaveNames()
{
    for (QWidget* widget : m_panel->findChildren<QWidget*>()) {
        const bool isControl = qobject_cast<QComboBox*>(widget) != nullptr ||
                               qobject_cast<QSlider*>(widget) != nullptr ||
                               qobject_cast<QDoubleSpinBox*>(widget) != nullptr;
        if (isControl)
            QVERIFY2(!widget->accessibleName().isEmpty(), qPrintable(widget->objectName()));
    }
    QVERIFY(!card("train/loss")->accessibleName().isEmpty());
}

/// Writes pictures of the panel where VERGENCE_PICTURES names a folder.
void TestChartsPanel::pictures()
{
    const QString folder = qEnvironmentVariable("VERGENCE_PICTURES");
    if (folder.isEmpty())
        QSKIP("VERGENCE_PICTURES names no folder");
    std::vector<MetricStore> stores;
    for (int i = 0; i < 3; ++i)
        stores.push_back(makeStore(10000, 0.5 + i, i));
    const QColor colours[] = {QColor(0x00, 0x72, 0xb2), QColor(0xd5, 0x5e, 0x00),
                              QColor(0x00, 0x9e, 0x73)};
    std::vector<ChartedRun> runs;
    for (int i = 0; i < 3; ++i)
        runs.push_back({QString::number(i), QStringLiteral("run %1").arg(10 + i), colours[i],
                        &stores[static_cast<std::size_t>(i)]});
    const QPalette light = QApplication::palette();
    for (const bool isDark : {false, true}) {
        QApplication::setPalette(isDark ? darkPalette() : light);
        const QString end = isDark ? QStringLiteral("_dark.png") : QStringLiteral("_light.png");
        m_panel->setDarkPalette(isDark);
        m_panel->setRuns(runs);
        m_panel->resize(900, 300);
        m_panel->findChild<QDoubleSpinBox*>(QStringLiteral("chartSmoothingValue"))
            ->setValue(isDark ? 0.0 : 0.97);
        QTRY_VERIFY(isDrawn("train/loss") && isDrawn("train/psnr"));
        QTest::mouseMove(view("train/loss")->viewport(),
                         view("train/loss")->chart()->plotArea().center().toPoint());
        QTRY_VERIFY(isDrawn("train/loss"));
        QTRY_VERIFY(isSettled());
        QVERIFY(m_panel->grab().save(folder + QStringLiteral("/charts") + end));
        action("chartLogY")->setChecked(true);
        m_panel->setTables({{"sweep",
                             "Sharpness",
                             {"distance", "mtf", "psnr"},
                             {{200, 0.5, 0.4}, {400, 0.8, 0.7}, {800, 0.6, 0.9}}}});
        m_panel->findChild<QComboBox*>(QStringLiteral("chartAxis"))->setCurrentIndex(1);
        m_panel->resize(900, 800);
        QTRY_VERIFY(isDrawn("train/loss") && isDrawn("table/sweep") &&
                    isDrawn("system/gpu_memory"));
        QTRY_VERIFY(isSettled());
        QVERIFY(m_panel->grab().save(folder + QStringLiteral("/charts_tall") + end));
        m_panel->findChild<QComboBox*>(QStringLiteral("chartAxis"))->setCurrentIndex(0);
        action("chartLogY")->setChecked(false);
        m_panel->setTables({});
    }
    QApplication::setPalette(light);
    m_panel->setRuns({});
}

/// The same at the sizes of a dock, with the series that a lab reports.
void TestChartsPanel::dockPictures()
{
    const QString folder = qEnvironmentVariable("VERGENCE_PICTURES");
    if (folder.isEmpty())
        QSKIP("VERGENCE_PICTURES names no folder");
    const char* names[] = {"train/loss",          "train/psnr",      "heldout/psnr_roi",
                           "train/gradient_norm", "texels/at_zero",  "texels/at_one",
                           "time/forward_ms",     "time/adjoint_ms", "time/rays_per_s",
                           "sweep/psnr_roi",      "system/cpu",      "system/gpu_memory",
                           "extra/memory_bytes",  "system/ram"};
    const double scales[] = {0.06, 30, 25, 1e-4, 0.02, 0.3, 12, 30, 2.4e7, 26, 80, 2.5, 3e9, 8};
    MetricStore store;
    std::vector<MetricPoint> points;
    for (int i = 0; i < 258; ++i)
        for (int k = 0; k < 14; ++k)
            if (k % 3 != 2 || i % 10 == 0)
                points.push_back({i, i * 0.05, names[k],
                                  scales[k] * (0.1 + std::exp(-i / 60.0)) *
                                      (1 + 0.04 * std::sin(i * (k + 1.7)))});
    store.append(points);
    m_panel->setDeclarations(
        {{"train/loss", "Loss (mse)", "", MetricDecl::Better::Lower, false},
         {"train/psnr", "Training PSNR, whole frame", "dB", MetricDecl::Better::Higher, false},
         {"heldout/psnr_roi", "Held-out PSNR, ROI", "dB", MetricDecl::Better::Higher, true},
         {"train/gradient_norm", "Gradient norm", "", MetricDecl::Better::Neither, false},
         {"texels/at_zero", "Texels at 0", "", MetricDecl::Better::Neither, false}});
    const QPalette light = QApplication::palette();
    for (const bool isDark : {false, true}) {
        QApplication::setPalette(isDark ? darkPalette() : light);
        m_panel->setDarkPalette(isDark);
        m_panel->setRuns({{"r", "run 1", QColor(0x00, 0x72, 0xb2), &store}});
        for (const QSize& size : {QSize(800, 230), QSize(1200, 300), QSize(800, 760)}) {
            m_panel->resize(size);
            QTRY_VERIFY(isDrawn("train/loss") && isDrawn("heldout/psnr_roi"));
            if (size.height() > 700)
                QTRY_VERIFY(isDrawn("time/rays_per_s"));
            QTRY_VERIFY(isSettled());
            QVERIFY(m_panel->grab().save(QStringLiteral("%1/dock_%2_%3.png")
                                             .arg(folder)
                                             .arg(size.width() + size.height())
                                             .arg(isDark ? "dark" : "light")));
        }
    }
    QApplication::setPalette(light);
    m_panel->setRuns({});
}

VERGENCE_WINDOW_TEST(TestChartsPanel)
#include "tst_charts_panel.moc"
