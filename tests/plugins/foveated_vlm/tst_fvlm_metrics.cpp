#include <algorithm>
#include <cmath>
#include <set>

#include <QtTest>

#include "core/artifact/plot/diagram_image.h"
#include "core/compute/rng.h"
#include "plugins/foveated_vlm/view/metric_decls.h"
#include "plugins/foveated_vlm/view/training_charts.h"
#include "tests/plugins/foveated_vlm/gaze_scenes.h"
#include "tests/support/diagrams.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using test::hasText;

namespace {

/// A run of 1,200 micro-steps in made-up numbers.
MetricStore story()
{
    MetricStore store;
    const Rng rng(3);
    std::uint64_t draw = 0;
    std::vector<MetricPoint> points;
    const auto add = [&](int step, const char* name, double value) {
        points.push_back({step, 0.1 * step, name, value});
    };
    for (int step = 0; step < 1'200; step += 4) {
        const double decay = std::exp(-step / 300.0);
        const double fine = 0.6 + 3.2 * decay + 0.3 * rng.uniform(draw++);
        const double coarse = fine * (1.25 - 0.25 * decay) + 0.05 * rng.uniform(draw++);
        add(step, "loss_fine", fine);
        add(step, "loss_coarse", coarse);
        add(step, "ratio", coarse / fine);
        add(step, "grad_norm", 2 + rng.uniform(draw++));
        add(step, "lr_connector", 2e-3 * std::min(1.0, (step + 1) / 60.0));
        add(step, "lr_vit", 1e-5);
        add(step, "clips_per_s", 120 + 5 * rng.uniform(draw++));
        add(step, "gpu_busy", 97 + rng.uniform(draw++));
        add(step, "gpu_util", 90 + 9 * rng.uniform(draw++));
        if (step % 200 == 0) {
            add(step, "val_fine", fine + 0.1);
            add(step, "val_coarse", coarse + 0.1);
            add(step, "val_seq", fine + 0.11);
            add(step, "uniformity_f", 0.6 + 0.35 * decay);
            add(step, "uniformity_c", 0.9);
            add(step, "exact_match", 100 * (1 - decay));
        }
    }
    store.append(points);
    return store;
}

const ChartGroup& group(const char* id)
{
    return *std::ranges::find(chartGroups(), std::string(id), &ChartGroup::id);
}

} // namespace

/// What series are called and which share an axis.
class TestFvlmMetrics : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everySeriesIsDeclaredOnce()
    {
        std::set<std::string> names, titles;
        int headlines = 0;
        for (const MetricDecl& decl : metricDecls()) {
            QVERIFY2(names.insert(decl.name).second, decl.name.c_str());
            QVERIFY2(titles.insert(decl.title).second, decl.title.c_str());
            QVERIFY(!decl.title.empty());
            headlines += decl.isHeadline;
        }
        QCOMPARE(headlines, 1);
        for (const char* name : {"loss",
                                 "loss_fine",
                                 "loss_coarse",
                                 "ratio",
                                 "ratio_t2",
                                 "loss_text",
                                 "loss_recon",
                                 "dpo_accuracy",
                                 "dpo_margin",
                                 "grad_norm",
                                 "grad_norm_connector",
                                 "grad_norm_vit",
                                 "grad_norm_llm",
                                 "lr_connector",
                                 "lr_vit",
                                 "lr_llm",
                                 "it_per_s",
                                 "clips_per_s",
                                 "samples_seen",
                                 "epoch",
                                 "gpu_util",
                                 "gpu_busy",
                                 "mfu",
                                 "vram_gb",
                                 "power_w",
                                 "data_wait_ms",
                                 "skipped_updates",
                                 "val_coarse",
                                 "val_fine",
                                 "val_seq",
                                 "exact_match",
                                 "nats_below_blind",
                                 "entropy_c",
                                 "entropy_f",
                                 "peak_c",
                                 "peak_f",
                                 "cls_mass_c",
                                 "cls_mass_f",
                                 "feature_sim",
                                 "query_sim",
                                 "query_std"})
            QVERIFY2(names.contains(name), name);
    }

    void groupsNameDeclaredSeries()
    {
        std::set<std::string> declared, ids;
        for (const MetricDecl& decl : metricDecls())
            declared.insert(decl.name);
        for (const ChartGroup& each : chartGroups()) {
            QVERIFY(ids.insert(each.id).second);
            QVERIFY(!each.title.empty() && !each.yTitle.empty() && !each.lines.empty());
            for (const ChartGroup::Line& line : each.lines)
                QVERIFY2(declared.contains(line.series), line.series.c_str());
        }
        QCOMPARE(group("ratio").reference, std::optional(1.0));
        QVERIFY(group("rates").isLog);
        for (const char* id : {"blind", "exact"}) // as recorded
            QVERIFY(group(id).lines.front().label.starts_with("sequential"));
    }

    void chartsShowTheirSeries()
    {
        const MetricStore store = story();
        const Diagram losses = trainingChart(group("loss"), store);
        int lines = 0;
        for (const Diagram::Line& line : losses.lines)
            if (line.label == "fine" || line.label == "coarse") {
                ++lines;
                QCOMPARE(line.isDashed, line.label == "coarse"); // neither hides the other
                QVERIFY(line.x.size() > 100 && line.x.size() <= 400);
                QVERIFY(std::ranges::is_sorted(line.x));
                QVERIFY(line.y.front() > line.y.back()); // losses fall; y is up
            }
        QCOMPARE(lines, 2);
        QVERIFY(!hasText(losses, "latents"));
        QVERIFY(hasText(trainingChart(group("ratio"), store), "Above 1, looking helps"));
        QVERIFY(!hasPoints(group("power"), store));
        QVERIFY(hasText(trainingChart(group("power"), store), "Not reported yet."));
    }

    void levelsOfOtherRunsAreDrawn()
    {
        ChartLook look;
        look.references = {{"loss", 0.777, "published, early"}, {"ratio", 0.997, "published"}};
        const Diagram drawing = lossChart(story(), look);
        QVERIFY(hasText(drawing, "published, early") && hasText(drawing, "published"));
        testing::keepPicture("charts_loss", plot::toImage(drawing, 1.5));
    }

    void pagesHoldWhatARunHas()
    {
        const Diagram page = chartPage(story());
        testing::keepPicture("charts_page", plot::toImage(page, 1, true));
        QVERIFY(hasText(page, "Learning rates") && hasText(page, "Held-out loss"));
        QVERIFY(!hasText(page, "Power"));
        QVERIFY(hasText(chartPage(MetricStore{}), "Not reported yet."));
        QVERIFY(hasText(lossChart(MetricStore{}), "Not reported yet."));
    }

    void pointsThatAreNotFiniteAreLeftOut()
    {
        MetricStore store;
        store.append({{0, 0, "loss_fine", NAN}, {1, 0, "loss_fine", INFINITY}});
        QVERIFY(!hasPoints(group("loss"), store));
        QVERIFY(hasText(trainingChart(group("loss"), store), "Not reported yet."));
        store.append({{2, 0, "loss_fine", 1.5}});
        const Diagram one = trainingChart(group("loss"), store);
        QVERIFY(std::ranges::any_of(one.points,
                                    [](const Diagram::Points& p) { return p.x.size() == 1; }));
        testing::keepPicture("charts_point", plot::toImage(one, 1.5));
    }

    void framesHaveABarEach()
    {
        MetricStore store;
        std::vector<MetricPoint> points;
        for (int step = 0; step < 100; ++step)
            for (int frame = 1; frame <= 6; ++frame)
                points.push_back({step, 0, "loss_frame_" + std::to_string(frame),
                                  step < 90    ? 50.0
                                  : frame == 1 ? 1.3
                                               : 0.15});
        store.append(points);
        const Diagram bars = frameLossChart(store);
        testing::keepPicture("charts_frames", plot::toImage(bars, 1.5));
        QVERIFY(std::ranges::any_of(
            bars.polygons, [](const Diagram::Polygon& bar) { return bar.label == "1.300"; }));
        QCOMPARE(std::ranges::count(bars.polygons, std::string("0.1500"), &Diagram::Polygon::label),
                 5);
        QVERIFY(hasText(frameLossChart(MetricStore{}), "variant A"));
    }
};

VERGENCE_TEST(TestFvlmMetrics)
#include "tst_fvlm_metrics.moc"
