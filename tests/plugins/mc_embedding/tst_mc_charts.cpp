#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <QRectF>
#include <QXmlStreamReader>
#include <QtTest>

#include "core/artifact/plot/stroke_face.h"
#include "plugins/mc_embedding/report/charts.h"
#include "plugins/mc_embedding/report/cloud_view.h"
#include "plugins/mc_embedding/report/plots.h"
#include "plugins/mc_embedding/report/published.h"
#include "tests/plugins/mc_embedding/synthetic_study.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

/// Every chart that a state with all data has.
std::vector<Chart> chartsOf(const StudyState& state)
{
    const Look look{0, state.models.front().passes.size() - 1, "trace_pre"};
    std::vector<std::optional<Chart>> charts{
        spearmanChart(state, look),       gatesChart(state, look),
        scalingChart(state, look),        histogramChart(state, look),
        trialScatterChart(state, look),   classBoxChart(state, look),
        spectrumChart(state, look),       offdiagChart(state, look),
        preAgainstPostChart(state, look), dimensionChart(state, look),
        crossModelChart(state, look),     rankRankChart(state, look, 1),
        comparisonChart(state, look),     ambiguityChart(state, look),
        rocChart(state, look, 20),        accuracyChart(state, look),
        setSizeChart(state, look),        pairedChart(state, look)};
    CloudLook clouds{.model = 0, .clouds = {0, 1}};
    const CloudProjection projection = projectClouds(state, clouds);
    for (const bool is3d : {false, true})
        charts.push_back(chartOf(is3d ? "cloud_3d" : "cloud", "cloud", "",
                                 {cloudPlot(state, clouds, projection, {.is3d = is3d})}));
    std::vector<Chart> present;
    for (auto& chart : charts)
        if (chart)
            present.push_back(std::move(*chart));
    return present;
}

QRectF boxOf(const Diagram::Text& text)
{
    const double length = plot::strokedText(text.text, text.size).width;
    const double shift = text.anchor == "left" ? 0 : text.anchor == "right" ? length : length / 2;
    const double half = 0.36 * text.size;
    return text.isUpright ? QRectF(text.x - half, text.y - shift, 2 * half, length)
                          : QRectF(text.x - shift, text.y - half, length, 2 * half);
}

const std::vector<Chart>& fullCharts()
{
    static const std::vector<Chart> kCharts = chartsOf(test::makeStudy());
    return kCharts;
}

} // namespace

class ChartsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aFullStudyHasEveryChart() { QCOMPARE(fullCharts().size(), std::size_t{20}); }

    void textsStayOnTheSheetAndApart_data() { addChartRows(); }
    void textsStayOnTheSheetAndApart()
    {
        QFETCH(int, chart);
        const Diagram& sheet = fullCharts()[static_cast<std::size_t>(chart)].drawing;
        const QRectF page(QPointF(sheet.left, sheet.bottom), QPointF(sheet.right, sheet.top));
        for (std::size_t i = 0; i < sheet.texts.size(); ++i) {
            const QRectF box = boxOf(sheet.texts[i]);
            QVERIFY2(page.contains(box), sheet.texts[i].text.c_str());
            for (std::size_t j = 0; j < i; ++j)
                QVERIFY2(!box.intersects(boxOf(sheet.texts[j])),
                         (sheet.texts[i].text + " over " + sheet.texts[j].text).c_str());
        }
    }

    void svgIsWellFormedAndAlone_data() { addChartRows(); }
    void svgIsWellFormedAndAlone()
    {
        QFETCH(int, chart);
        const std::string svg = toSvg(fullCharts()[static_cast<std::size_t>(chart)].drawing);
        QXmlStreamReader reader(QByteArray::fromStdString(svg));
        while (!reader.atEnd()) {
            reader.readNext();
            QVERIFY(!reader.attributes().hasAttribute("href"));
        }
        QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
        QVERIFY(svg.find("nan") == std::string::npos);
    }

    void drawingsSurviveTheirTrip_data() { addChartRows(); }
    void drawingsSurviveTheirTrip()
    {
        QFETCH(int, chart);
        const std::string json = fullCharts()[static_cast<std::size_t>(chart)].drawing.toJson();
        QVERIFY(json.size() < 256 * 1024); // what a frame may carry
        QCOMPARE(Diagram::fromJson(json).toJson(), json);
    }

    void picturesAreTwiceTheSheet()
    {
        const Chart& chart = fullCharts().front();
        const Image image = toImage(chart.drawing);
        QCOMPARE(image.width, static_cast<int>(2 * chart.drawing.right));
        QCOMPARE(image.height, static_cast<int>(2 * chart.drawing.top));
        QCOMPARE(image.channels, 3);
        QVERIFY(image.row(1)[0] == 255 && image.row(1)[1] == 255 && image.row(1)[2] == 255);
        // For looking at them: VERGENCE_PICTURES names a folder.
        if (const char* folder = std::getenv("VERGENCE_PICTURES"))
            for (const Chart& each : fullCharts())
                writePng(std::filesystem::path(folder) / (each.id + ".png"), toImage(each.drawing));
    }

    void noNameBelowAnAxisIsLost_data()
    {
        QTest::addColumn<int>("classes");
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("isUpright");
        QTest::newRow("one row") << 12 << "c %1" << false;
        QTest::newRow("two rows") << 12 << "gradient noise %1" << false;
        QTest::newRow("upright") << 24 << "horizontal gradient %1" << true;
        QTest::newRow("shortened") << 24 << "a very long name of a class, %1, and more" << true;
    }
    void noNameBelowAnAxisIsLost()
    {
        QFETCH(int, classes);
        QFETCH(QString, name);
        QFETCH(bool, isUpright);
        test::SyntheticStudy wanted;
        wanted.classes = classes;
        StudyState state = test::makeStudy(wanted);
        for (StudyImage& image : state.images.images)
            image.label = name.arg(image.label.substr(6).c_str()).toStdString();
        const Diagram sheet = classBoxChart(state, {0, 2, "trace_pre"})->drawing;
        const QString start = name.section("%1", 0, 0);
        int names = 0;
        for (std::size_t i = 0; i < sheet.texts.size(); ++i) {
            const Diagram::Text& text = sheet.texts[i];
            if (!QString::fromStdString(text.text).startsWith(start.left(12)) ||
                text.text.starts_with("class,"))
                continue;
            ++names;
            QCOMPARE(text.isUpright, isUpright);
            QVERIFY2(boxOf(text).left() >= 0 && boxOf(text).right() <= sheet.right &&
                         boxOf(text).top() >= 0,
                     text.text.c_str());
            for (std::size_t j = 0; j < i; ++j)
                QVERIFY2(!boxOf(text).intersects(boxOf(sheet.texts[j])), text.text.c_str());
        }
        QCOMPARE(names, classes);
    }

    void classesAreNamedWhereTheirImagesSit()
    {
        const StudyState state = test::makeStudy();
        const CloudLook look{.model = 0, .clouds = {0, 1}, .isPooled = false};
        const CloudProjection projection = projectClouds(state, look);
        QCOMPARE(projection.places.rows, std::size_t{120});
        const Plot plot = cloudPlot(state, look, projection, {});
        QCOMPARE(plot.notes.size(), std::size_t{12});
        double x = 0; // of the first class: every twelfth image
        for (std::size_t i = 0; i < 120; i += 12)
            x += projection.places(i, 0) / 10;
        QCOMPARE(plot.notes.front().text, std::string("class 1"));
        QVERIFY(std::abs(plot.notes.front().x - x) < 1e-12);
        const Diagram sheet = layOut(plot);
        for (std::size_t i = 0; i < sheet.texts.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                QVERIFY2(!boxOf(sheet.texts[i]).intersects(boxOf(sheet.texts[j])),
                         sheet.texts[i].text.c_str());
        QVERIFY(cloudPlot(state, {.clouds = {0}}, projectClouds(state, {.clouds = {0}}), {})
                    .notes.empty());
    }

    void aHalfFinishedStudyCountsWhatIsKnown()
    {
        test::SyntheticStudy wanted;
        wanted.done = 40;
        const StudyState state = test::makeStudy(wanted);
        const auto scores = scoresOf(state, {0, 2, "trace_pre"});
        QCOMPARE(scores->columns, std::size_t{40});
        QCOMPARE(scores->images.back(), std::size_t{39});
        for (const Chart& chart : chartsOf(state))
            QVERIFY2(toSvg(chart.drawing).find("nan") == std::string::npos, chart.id.c_str());
        wanted.done = 1;
        QVERIFY(!scoresOf(test::makeStudy(wanted), {0, 2, "trace_pre"}));
    }

    /// Trials that contradict each other: ICC is −0.2, the median ρ −1.
    void reliabilityBelowZeroIsDrawnInsideTheChart()
    {
        StudyState state = test::makeStudy();
        Matrix& scores = state.models[0].scores["trace_pre"][0];
        for (std::size_t k = 0; k < scores.rows; ++k)
            for (std::size_t i = 0; i < scores.columns; ++i)
                scores(k, i) = 8e-3 + (k % 2 == 0 ? 1e-5 : -1e-5) * (static_cast<double>(i) - 60);
        const auto chart = scalingChart(state, {0, 2, "trace_pre"});
        QVERIFY(chart);
        for (const Diagram::Points& points : chart->drawing.points)
            for (const double y : points.y)
                QVERIFY2(y > chart->drawing.bottom, qPrintable(QString::number(y)));
    }

    void anEmptyStudyHasNoCharts()
    {
        const StudyState nothing;
        QVERIFY(!spearmanChart(nothing, {}) && !scalingChart(nothing, {}) &&
                !comparisonChart(nothing, {}) && !gatesChart(nothing, {}) &&
                !crossModelChart(nothing, {}) && !pairedChart(nothing, {}) &&
                !siteProfileChart(nothing, {}) && !histogramChart(nothing, {}) &&
                !spectrumChart(nothing, {}) && !dimensionChart(nothing, {}));
    }

    void singleSiteRunsMakeAProfile()
    {
        StudyState state = test::makeStudy();
        state.models[1].tower = state.models[0].tower;
        state.models[0].sites = {{siteNumber(3, SiteCode::Fc1), 1, 1}};
        state.models[1].sites = {{siteNumber(5, SiteCode::Fc2), 1, 1}};
        const auto chart = siteProfileChart(state, {});
        QVERIFY(chart);
        QVERIFY(chart->csv.find("Where the spread comes from,cell,3,fc1,") != std::string::npos);
        QVERIFY(chart->csv.find(",cell,5,fc2,") != std::string::npos);
    }

    void dataComeAsCsv()
    {
        const auto chart = spearmanChart(test::makeStudy(), {0, 2, "trace_pre"});
        QVERIFY(chart->csv.starts_with("panel,kind,series,x,y,low,high\n"));
        QVERIFY(chart->csv.find("Spearman ρ between trials,cell,1,1,1,,\n") != std::string::npos);
        QCOMPARE(std::ranges::count(chart->csv, '\n'), 1 + 36);
    }

    void publishedValuesStandBesideOurs()
    {
        const auto rows = comparisonRows(test::makeStudy());
        QCOMPARE(rows.size(), std::size_t{3});
        QVERIFY2(rows[1][2].grey.starts_with("0.486"), rows[1][2].grey.c_str());
        QVERIFY2(rows[2][3].grey.starts_with("15.0"), rows[2][3].grey.c_str());
        QVERIFY(rows[2][6].grey.empty()); // no labels: nothing of ours to compare
        QCOMPARE(publishedReliability().size(), std::size_t{18});
        QCOMPARE(publishedReliability("siglip2_so400m", 64, true)->icc, 0.860);
        QCOMPARE(*publishedCrossModel("siglip2_b16", "clip_b32"), 0.54);
        // ICC = (K·SNR − 1)/(K·SNR + K − 1) with K = 10, to the digits of the report.
        for (const PublishedReliability& row : publishedReliability())
            QVERIFY2(std::abs((10 * row.snr - 1) / (10 * row.snr + 9) - row.icc) < 2e-3,
                     row.model.c_str());
    }

    void theSilhouetteHoldsTheCloud()
    {
        const StudyState state = test::makeStudy();
        const CloudLook look{.model = 0, .clouds = {1}};
        const CloudProjection projection = projectClouds(state, look);
        QCOMPARE(projection.passes, 64);
        QCOMPARE(projection.items.front().points.rows, std::size_t{6 * 64});
        const Plot few = cloudPlot(state, look, projection, {.passes = 3, .is3d = true}),
                   all = cloudPlot(state, look, projection, {.is3d = true});
        QCOMPARE(*few.x.high, *all.x.high); // axes do not move while passes arrive
        const auto shown = [](const Plot& plot) {
            std::size_t count = 0;
            for (const Plot::Marks& marks : plot.marks)
                count += marks.label.starts_with("trial") ? marks.x.size() : 0;
            return count;
        };
        QCOMPARE(shown(few), std::size_t{6 * 3});
        QCOMPARE(shown(all), std::size_t{6 * 64});
        // About 86 % of a normal cloud lie inside two standard deviations in the plane.
        const Plot::Curve& outline = all.curves.back();
        QPolygonF polygon;
        for (std::size_t i = 0; i < outline.x.size(); ++i)
            polygon << QPointF(outline.x[i], outline.y[i]);
        int inside = 0;
        for (const Plot::Marks& marks : all.marks)
            for (std::size_t i = 0; marks.label.starts_with("trial") && i < marks.x.size(); ++i)
                inside += polygon.containsPoint({marks.x[i], marks.y[i]}, Qt::OddEvenFill);
        QVERIFY2(inside > 0.80 * 384 && inside < 0.92 * 384, qPrintable(QString::number(inside)));
    }

    void numbersAreShort_data()
    {
        QTest::addColumn<double>("value");
        QTest::addColumn<QString>("text");
        QTest::newRow("zero") << 0.0 << "0.00";
        QTest::newRow("small") << 0.00751 << "0.00751";
        QTest::newRow("tiny") << 2.84e-6 << "2.84e-06";
        QTest::newRow("one") << 1.014 << "1.01";
        QTest::newRow("hundreds") << 211.4 << "211";
        QTest::newRow("none") << static_cast<double>(NAN) << "–";
    }
    void numbersAreShort()
    {
        QFETCH(double, value);
        QFETCH(QString, text);
        QCOMPARE(QString::fromStdString(shortNumber(value)), text);
    }

private:
    void addChartRows()
    {
        QTest::addColumn<int>("chart");
        for (std::size_t i = 0; i < fullCharts().size(); ++i)
            QTest::newRow(fullCharts()[i].id.c_str()) << static_cast<int>(i);
    }
};

VERGENCE_TEST(ChartsTest)
#include "tst_mc_charts.moc"
