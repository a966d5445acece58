#include <algorithm>
#include <array>

#include <QtTest>

#include "core/artifact/plot/diagram_style.h"
#include "core/artifact/plot/plot.h"
#include "core/artifact/plot/stroke_face.h"
#include "core/base/error.h"
#include "core/metrics/statistics.h"
#include "plugins/live_diffusion/view/history_chart.h"
#include "plugins/live_diffusion/view/live_picture.h"
#include "plugins/live_diffusion/view/numbers_card.h"
#include "plugins/live_diffusion/view/picture_sheet.h"
#include "plugins/live_diffusion/view/targets_table.h"
#include "tests/plugins/live_diffusion/view_scenes.h"
#include "tests/support/diagrams.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::live;
using test::hasText;
using namespace vergence::live::testing;

namespace {

using Rgb = std::array<int, 3>;

Rgb pixel(const Image& image, int x, int y)
{
    const std::uint8_t* at = image.row(y) + x * image.channels;
    return {at[0], at[1], at[2]};
}

Rgb inkPixel(const std::string& colour, bool isDark)
{
    const plot::Ink ink = plot::inkOf(colour, isDark);
    return {ink.rgb[0], ink.rgb[1], ink.rgb[2]};
}

/// Where a value lies along an axis, from two ticks with numbers: those of y stand right-aligned,
/// those of x centred in one line.
double placeOf(const Diagram& drawing, bool isVertical, double value)
{
    std::vector<std::pair<double, double>> ticks; // value, place
    for (const Diagram::Text& text : drawing.texts) {
        bool isNumber = false;
        const double number = QString::fromStdString(text.text).toDouble(&isNumber);
        const bool isOfAxis = text.anchor == (isVertical ? "right" : "centre") && !text.isBold;
        if (isNumber && isOfAxis && text.colour == "muted")
            ticks.emplace_back(number, isVertical ? text.y : text.x);
    }
    if (ticks.size() < 2)
        return NAN;
    const auto [a, b] = std::pair{ticks.front(), ticks.back()};
    return a.second + (value - a.first) / (b.first - a.first) * (b.second - a.second);
}

/// The drawing with everything at places that can be drawn, inside its sheet.
bool isSound(const Diagram& drawing)
{
    const auto areInside = [&](const auto& items) {
        return std::ranges::all_of(items, [&](const auto& item) {
            return std::ranges::all_of(item.x,
                                       [&](double x) { return x >= 0 && x <= drawing.right; }) &&
                   std::ranges::all_of(item.y,
                                       [&](double y) { return y >= 0 && y <= drawing.top; });
        });
    };
    return areInside(drawing.polygons) && areInside(drawing.lines) && areInside(drawing.points);
}

/// Texts that stand over others or beyond the sheet; widths as estimated.
QStringList badTexts(const Diagram& drawing)
{
    struct Box {
        double left, right, bottom, top;
        const Diagram::Text* text;
    };
    std::vector<Box> boxes;
    QStringList bad;
    for (const Diagram::Text& text : drawing.texts) {
        const double wide = plot::strokedText(text.text, text.size).width, high = 0.72 * text.size;
        const double shift = text.anchor == "left" ? 0 : text.anchor == "right" ? wide : wide / 2;
        Box box{text.x - shift, text.x - shift + wide, text.y - high / 2, text.y + high / 2, &text};
        if (text.isUpright)
            box = {text.x - high / 2, text.x + high / 2, text.y - shift, text.y - shift + wide,
                   &text};
        if (box.left < -0.5 || box.bottom < -0.5 || box.right > drawing.right + 0.5 ||
            box.top > drawing.top + 0.5)
            bad << QString::fromStdString(text.text + " (beyond the sheet)");
        for (const Box& other : boxes)
            if (box.left < other.right - 1 && other.left < box.right - 1 &&
                box.bottom < other.top - 1 && other.bottom < box.top - 1)
                bad << QString::fromStdString(text.text + " over " + other.text->text);
        boxes.push_back(box);
    }
    return bad;
}

#define QVERIFY_READABLE(drawing)                                                                  \
    QVERIFY(isSound(drawing));                                                                     \
    QCOMPARE(badTexts(drawing), QStringList())

} // namespace

/// Drawings of the live lab.
class TestLiveView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void framesStandBesideEachOther()
    {
        const Image input = makeImage(64, 64, 3, 40), output = makeImage(64, 64, 3, 200);
        LiveLook look;
        look.edge = 128;
        const Image picture = livePicture(input, output, {}, look);
        QCOMPARE(picture.channels, 4);
        QCOMPARE(picture.width, 12 + 128 + 6 + 128 + 12);
        QCOMPARE(picture.height, 12 + 22 + 128 + 12);
        QCOMPARE(pixel(picture, 12 + 64, 34 + 64), (Rgb{40, 40, 40}));
        QCOMPARE(pixel(picture, 12 + 128 + 6 + 64, 34 + 64), (Rgb{200, 200, 200}));
        const plot::Ink paper = plot::paperInk(true); // between the frames
        QCOMPARE(pixel(picture, 12 + 128 + 3, 34 + 64),
                 (Rgb{paper.rgb[0], paper.rgb[1], paper.rgb[2]}));
    }

    void theWipeShowsTheInputLeftOfItsEdge()
    {
        const Image input = makeImage(100, 50, 3, 10), output = makeImage(100, 50, 3, 250);
        LiveLook look;
        look.mode = LiveMode::Wipe;
        look.edge = 100;
        for (const double wipe : {0.0, 0.3, 1.0}) {
            look.wipe = wipe;
            const Image plain = plainPicture(input, output, look);
            QCOMPARE(plain.width, 100);
            QCOMPARE(plain.height, 50);
            for (int x = 0; x < 100; ++x)
                QCOMPARE(pixel(plain, x, 25)[0], x < 100 * wipe ? 10 : 250);
        }
    }

    void differencesAreAmountsTimesTheGain()
    {
        Image input = makeImage(96, 96, 3, 100), output = makeImage(96, 96, 3, 100);
        output.row(3)[0] = 110;
        output.row(3)[1] = 85;
        output.row(3)[2] = 200;
        LiveLook look;
        look.mode = LiveMode::Difference;
        look.edge = 96;
        const Image plain = plainPicture(input, output, look);
        QCOMPARE(pixel(plain, 0, 3), (Rgb{40, 60, 255}));
        QCOMPARE(pixel(plain, 1, 3), (Rgb{0, 0, 0}));
    }

    void badgesWrapAndStayOnThePicture()
    {
        const std::vector<Badge> badges{{"Pico"},
                                        {"fp32"},
                                        {"2 steps"},
                                        {"random weights", true},
                                        {"64 px, grid 32"},
                                        {"skipped"},
                                        {"deadline keeper: steps 2 to 1", true}};
        const Image input = ballImage(64, 0, 1, true), output = ballImage(64, 0);
        for (const bool isDark : {true, false})
            for (const auto& [mode, name] : {std::pair{LiveMode::SideBySide, "side"},
                                             {LiveMode::Wipe, "wipe"},
                                             {LiveMode::Difference, "difference"}}) {
                LiveLook look;
                look.isDark = isDark;
                look.mode = mode;
                look.edge = 256;
                const Image picture = livePicture(input, output, badges, look);
                keepPicture(std::string("live_") + name + (isDark ? "_dark" : "_light"), picture);
                QVERIFY(picture.height > 12 + 22 + 256 + 12 + 20);
            }
        LiveLook narrow;
        narrow.edge = 96;
        narrow.mode = LiveMode::Wipe;
        keepPicture("live_narrow", livePicture(input, output, badges, narrow));
    }

    void unequalFramesAreRefused()
    {
        QVERIFY_THROWS_EXCEPTION(ContractError,
                                 livePicture(makeImage(64, 64, 3), makeImage(64, 32, 3), {}));
        QVERIFY_THROWS_EXCEPTION(ContractError, livePicture(Image{}, Image{}, {}));
    }

    void budgetLinesStandAtTheirHeight()
    {
        LatencyLook look;
        look.budgetMs = 25;
        const Diagram drawing = latencyTimeline(timings(700), look);
        keepDrawing("timeline", drawing);
        QVERIFY_READABLE(drawing);
        for (const auto& [ms, colour] :
             {std::pair{16.0, "accent"}, {40.0, "warning"}, {25.0, "text"}}) {
            const double y = placeOf(drawing, true, ms);
            const auto line = std::ranges::find_if(drawing.lines, [&](const Diagram::Line& l) {
                return l.isDashed && l.colour == colour;
            });
            QVERIFY(line != drawing.lines.end());
            QVERIFY2(std::abs(line->y.front() - y) < 0.1, qPrintable(QString::number(y)));
            // Its first dash is on the picture.
            const Image image = plot::toImage(drawing, 1);
            const int row = int(drawing.top - y), column = int(line->x.front()) + 2;
            int nearest = 1000;
            for (int dy = -2; dy <= 2; ++dy) {
                const Rgb at = pixel(image, column, row + dy), ink = inkPixel(colour, false);
                nearest = std::min(nearest, std::abs(at[0] - ink[0]) + std::abs(at[1] - ink[1]) +
                                                std::abs(at[2] - ink[2]));
            }
            QVERIFY2(nearest < 60, qPrintable(QString::number(nearest)));
        }
    }

    void stagesAddUpToTheFrame()
    {
        FrameTiming frame;
        frame.frame = 7;
        frame.ms = {5, 2, NAN, 3, 10};
        const Diagram drawing = latencyTimeline({&frame, 1});
        QVERIFY_READABLE(drawing);
        double top = 0;
        for (const Diagram::Polygon& area : drawing.polygons)
            if (area.colour.starts_with("series") && area.opacity > 0.7)
                top = std::max(top, std::ranges::max(area.y));
        QVERIFY(std::abs(top - placeOf(drawing, true, 20)) < 0.1);
    }

    void outliersDoNotSetTheScale()
    {
        std::vector<FrameTiming> frames = timings(200);
        frames[50].ms[2] = 4000;
        const Diagram drawing = latencyTimeline(frames);
        QVERIFY_READABLE(drawing);
        QVERIFY(placeOf(drawing, true, 40) > drawing.top / 2);
        QVERIFY(hasText(drawing, "beyond the axis"));
        QVERIFY(hasText(drawing, "dropped, "));
    }

    void emptyChartsSaySo()
    {
        for (const Diagram& drawing :
             {latencyTimeline({}), latencyHistogram({}), roofline({}, {}), layerBars({}),
              memoryTimeline({}), memoryOverTime({}), abWaterfall({}), abTable({}), claimsTable({}),
              driftCharts({}), targetsTable({})}) {
            QVERIFY(!drawing.texts.empty());
            QVERIFY_READABLE(drawing);
        }
        const std::vector<double> nothing{NAN, INFINITY};
        QVERIFY(hasText(latencyHistogram(nothing), "No frame yet."));
        QVERIFY(hasText(memoryOverTime(std::vector<MemorySample>{{0, NAN, NAN}}), "Nothing"));
        keepPicture("training_empty", trainingStrip({}));
        keepPicture("ablation_empty", ablationGrid({}));
    }

    void histogramMarksPercentilesAndBudgets()
    {
        std::vector<double> values;
        for (int i = 0; i < 600; ++i)
            values.push_back(11 + 4 * hashed(i) * hashed(3 * i) + (i % 60 == 0 ? 9 : 0));
        values.push_back(900);
        values.push_back(NAN);
        for (const bool isLog : {false, true}) {
            LatencyLook look;
            look.isLog = isLog;
            look.width = 560;
            look.budgetMs = 20;
            const Diagram drawing = latencyHistogram(values, look);
            keepDrawing(isLog ? "histogram_log" : "histogram", drawing);
            QVERIFY_READABLE(drawing);
            QVERIFY(hasText(drawing, "p95"));
            QVERIFY(hasText(drawing, "1 of them beyond the axis"));
            QVERIFY(hasText(drawing, "1 not measured"));
            const std::vector<double> known(values.begin(), values.end() - 1);
            const auto line = std::ranges::find_if(
                drawing.lines, [](const Diagram::Line& l) { return l.label.starts_with("p50"); });
            QVERIFY(line != drawing.lines.end());
            QVERIFY(std::abs(line->x.front() - placeOf(drawing, false, quantile(known, 0.5))) <
                    0.2);
        }
        const Diagram one = latencyHistogram(std::vector{2.5});
        keepDrawing("histogram_one", one);
        QVERIFY_READABLE(one);
        QVERIFY(hasText(one, "40 ms lies far above"));
    }

    void roofsBendAtTheRidge()
    {
        const std::vector<Roof> roofs{{"fp16, data sheet", 71e12, 936e9, false},
                                      {"measured", 58e12, 840e9, true}};
        std::vector<LayerTime> made = layers(1);
        made[3].flop = 0;
        made[4].microseconds = NAN;
        const Diagram drawing = roofline(made, roofs);
        keepDrawing("roofline", drawing);
        QVERIFY_READABLE(drawing);
        QVERIFY(hasText(drawing, "ridge 75.9"));
        QVERIFY(hasText(drawing, "2 without products or time left out"));
        // Dots name their operations, the slowest first, and their areas follow the times.
        const auto slowest = std::ranges::max_element(made, {}, [](const LayerTime& layer) {
            return layer.flop > 0 && std::isfinite(layer.microseconds) ? layer.microseconds : 0;
        });
        const Diagram::Points& first = drawing.points[drawing.points.size() - (made.size() - 2)];
        QVERIFY(first.label.starts_with(slowest->name));
        QCOMPARE(first.radius, 10.0);
    }

    void layerBarsKeepTheOrderOfTheNetwork()
    {
        const std::vector<LayerTime> a = layers(1), b = layers(1.7);
        const Diagram alone = layerBars(a), both = layerBars(a, b, {760, 0, "fp32", "fused"});
        keepDrawing("layers", alone);
        keepDrawing("layers_ab", both);
        QVERIFY_READABLE(alone);
        QVERIFY_READABLE(both);
        std::vector<std::string> names;
        for (const Diagram::Text& text : alone.texts)
            if (text.anchor == "right" && text.colour == "text")
                names.push_back(text.text);
        QCOMPARE(names.size(), std::size_t(23));
        QCOMPARE(names.front(), std::string("input"));
        QCOMPARE(names.back(), std::string("head"));
        const Diagram one = layerBars(std::vector<LayerTime>{{"c", "head", NAN, 0, 0}});
        QVERIFY_READABLE(one);
    }

    void memoryIsStackedWithItsPeak()
    {
        const std::vector<MemoryStep> naive = memorySteps(true), flash = memorySteps(false);
        const Diagram drawing = memoryTimeline(naive);
        keepDrawing("memory_naive", drawing);
        keepDrawing("memory_flash", memoryTimeline(flash));
        QVERIFY_READABLE(drawing);
        double most = 0;
        for (const MemoryStep& step : naive)
            most = std::max(most, step.weights + step.caches + step.arena + step.workspace);
        QVERIFY(hasText(drawing, "Most: " + byteText(most)));
        double top = 0;
        for (const Diagram::Polygon& area : drawing.polygons)
            if (area.colour.starts_with("series") && area.opacity > 0.7)
                top = std::max(top, std::ranges::max(area.y));
        QVERIFY(std::abs(top - placeOf(drawing, true, most / (1024 * 1024))) < 0.1);
        const Diagram broken = memoryTimeline(std::vector<MemoryStep>{{"a", NAN, 0, 0, 0, 0}});
        QVERIFY_READABLE(broken);
        std::vector<MemorySample> samples;
        for (int i = 0; i < 100; ++i)
            samples.push_back({i * 0.1, 7e7 + (i > 40 ? 6e7 : 0),
                               i % 17 == 3 ? NAN : 3.1e8 + (i > 42 ? 6.5e7 : 0)});
        const Diagram time = memoryOverTime(samples);
        keepDrawing("memory_time", time);
        QVERIFY_READABLE(time);
        QCOMPARE(byteText(0), std::string("0 KiB"));
        QCOMPARE(byteText(1536.0 * 1024), std::string("1.5 MiB"));
        QCOMPARE(byteText(NAN), std::string("–"));
    }

    void theWaterfallEndsWhereTheLastRowIs()
    {
        const std::vector<AbRow> rows = abRows();
        const Diagram drawing = abWaterfall(rows);
        keepDrawing("waterfall", drawing);
        QVERIFY_READABLE(drawing);
        const auto all = std::ranges::find_if(drawing.polygons, [](const Diagram::Polygon& area) {
            return area.label.starts_with("all: ");
        });
        QVERIFY(all != drawing.polygons.end());
        QVERIFY(std::abs(std::ranges::max(all->y) - placeOf(drawing, true, 5.3)) < 0.1);
        QVERIFY(hasText(drawing, "(4.04×)"));
        std::vector<AbRow> gaps(rows.begin(), rows.begin() + 1);
        gaps.push_back(rows[8]);
        gaps.back().ms = NAN;
        QVERIFY_READABLE(abWaterfall(gaps));
        QVERIFY(hasText(abWaterfall(gaps), "not measured"));
    }

    void tablesGiveEveryTextItsRoom()
    {
        const Diagram table = abTable(abRows());
        keepDrawing("ab_table", table);
        QVERIFY_READABLE(table);
        QVERIFY(hasText(table, "0.999997"));
        const std::vector<ClaimCheck> claims{
            {"fp16 speed-up, Replica-A", "1.96×", "1.41× (1.38 to 1.44)", "1.52×",
             "baseline with TF32 on"},
            {"memory, fp32 to fp16", "−98.4 %", "−49.6 %", "−97.9 %", "peak counted auto-tuning"},
            {"frames per second, \"30M\"", "3,891", "612", "3,672 evals/s", "6 evals a sequence"}};
        const Diagram drawn = claimsTable(claims);
        keepDrawing("claims", drawn);
        QVERIFY_READABLE(drawn);
    }

    void driftShowsEveryVariant()
    {
        const DriftStudy study = driftStudy();
        const Diagram charts = driftCharts(study);
        keepDrawing("drift", charts);
        QVERIFY_READABLE(charts);
        for (const DriftVariant& variant : study.variants)
            QVERIFY(hasText(charts, variant.name));
        QVERIFY(hasText(charts, "stable between 0.8 and 1.25"));
        for (const bool isDark : {true, false})
            keepPicture(isDark ? "ablation_dark" : "ablation_light",
                        ablationGrid(study, 72, isDark));
        // Row 0 is the target, row 1 the first variant; both show frame 0 alike.
        const Image grid = ablationGrid(study, 64);
        const int left = 12 + 12 + int(std::ceil(plot::textLength("noise + memory + blend", 13)));
        for (int y = 0; y < 64; y += 9)
            for (int x = 0; x < 64; x += 9)
                QCOMPARE(pixel(grid, left + x, 56 + y), pixel(grid, left + x, 56 + 68 + y));
        DriftStudy odd;
        odd.variants.push_back({"one", false, {NAN, 21}, {}, {0.5}, {}, {}, {}, 0.1, "stable", {}});
        QVERIFY_READABLE(driftCharts(odd));
        keepPicture("ablation_odd", ablationGrid(odd));
    }

    void samplesStandBetweenInputAndTarget()
    {
        const TrainingStrip strip = trainingSamples();
        for (const bool isDark : {true, false})
            keepPicture(isDark ? "training_dark" : "training_light",
                        trainingStrip(strip, 80, 8, isDark));
        const Image picture = trainingStrip(strip, 64, 2);
        const Rgb target = pixel(strip.targets[1], 20, 30), input = pixel(strip.inputs[1], 20, 30);
        QCOMPARE(pixel(picture, 12 + 20, 48 + 68 + 30), input);
        QCOMPARE(pixel(picture, 12 + 3 * 68 + 24 + 20, 48 + 68 + 30), target);
        // First and last moment are kept: grey at first, the target in the end.
        QCOMPARE(pixel(picture, 12 + 68 + 12 + 20, 48 + 68 + 30), (Rgb{128, 128, 128}));
        QCOMPARE(pixel(picture, 12 + 2 * 68 + 12 + 20, 48 + 68 + 30), target);
    }

    void bigNumbersBringTheirDefinitions()
    {
        std::vector<BigNumber> numbers{
            {"frames per second", "47.3", "94.6 evals/s", "finished frames by wall time"},
            {"network", "9.81 ms", "p95 11.2, p99 14.0 ms", "time of everything for one frame"},
            {"pipeline latency", "15.2 ms", "p95 17.0, p99 22.1 ms", "host to host"},
            {"glass latency", "", "no camera", "capture to buffer swap"},
            {"steady memory", "1,024.0 MiB of 143,771 MiB", "weights 61, arena 5 MiB", "see plan"},
            {"missed 16 ms", "12.4 %", "of paced frames", "", true}};
        const Diagram card = numbersCard(numbers);
        keepDrawing("numbers", card);
        QVERIFY_READABLE(card);
        QCOMPARE(card.polygons.size(), numbers.size());
        QCOMPARE(card.polygons[2].label, std::string("host to host"));
        const auto marks = std::ranges::count(card.texts, "?", &Diagram::Text::text);
        QCOMPARE(std::int64_t(marks), std::int64_t(5));
        QVERIFY(hasText(card, "–"));
        QVERIFY_READABLE(numbersCard({}));
    }

    void historyKeepsConfigurationsApart()
    {
        std::vector<HistoryPoint> points;
        for (int i = 0; i < 9; ++i)
            points.push_back({i % 2 ? "S 64 fp32" : "Pico 64 fp32", "11-" + std::to_string(10 + i),
                              (i % 2 ? 21.0 : 8.0) - 0.3 * i, (i % 2 ? 20.5 : 7.8) - 0.3 * i,
                              (i % 2 ? 21.7 : 8.3) - 0.3 * i});
        points[4].ms = NAN;
        const Diagram chart = benchmarkHistory(points);
        keepDrawing("history", chart);
        QVERIFY_READABLE(chart);
        QVERIFY(hasText(chart, "S 64 fp32"));
        const auto line = std::ranges::find_if(chart.lines, [](const Diagram::Line& l) {
            return l.colour == "series 0" && l.x.size() == 4;
        });
        QVERIFY(line != chart.lines.end()); // five of one kind, one not measured
        QVERIFY(std::abs(line->y.front() - placeOf(chart, true, 8.0)) < 0.1);
        QVERIFY_READABLE(benchmarkHistory({}));
        QVERIFY_READABLE(benchmarkHistory(std::span(points).first(1)));
    }

    void targetsShowTheMeasuredPosition()
    {
        Targets xl;
        xl.device = "RTX 3090";
        xl.model = "XL";
        xl.boundMs = 8.13;
        xl.measuredMs = {15.4, 31.2};
        const Diagram table = targetsTable(xl);
        keepDrawing("targets", table);
        QVERIFY_READABLE(table);
        for (const char* share : {"20 %", "41 %", "82 %", "59 %", "52 %", "84 %", "impossible"})
            QVERIFY2(hasText(table, share), share);
        QVERIFY(hasText(table, "15.4 ms holds"));
        QVERIFY(hasText(table, "15.4 ms misses"));
        QVERIFY(hasText(table, "not measured"));
    }

    void picturesAreAveragedWhenTheyShrink()
    {
        Image image = makeImage(4, 2, 3, 0);
        image.row(0)[0] = 100;
        image.row(1)[3] = 60;
        const Image half = resized(image, 2, 1);
        QCOMPARE(pixel(half, 0, 0), (Rgb{40, 0, 0}));
        const Image twice = resized(image, 8, 4);
        QCOMPARE(pixel(twice, 1, 1), (Rgb{100, 0, 0}));
        QCOMPARE(pixel(twice, 2, 1), (Rgb{0, 0, 0}));
        PictureSheet sheet(80, 80, true);
        sheet.picture(60, 60, 64, ballImage(64, 0)); // beyond the edge: cut
        QCOMPARE(std::move(sheet).take().width, 80);
    }
};

VERGENCE_TEST(TestLiveView)
#include "tst_live_view.moc"
