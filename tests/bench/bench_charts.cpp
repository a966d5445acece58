// What the form and the charts cost the GUI thread. Run with QT_QPA_PLATFORM=offscreen.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>

#include <QApplication>
#include <QDoubleSpinBox>
#include <QElapsedTimer>
#include <QLineEdit>

#include <benchmark/benchmark.h>

#include "app/charts/chart_card.h"
#include "app/charts/charts_panel.h"
#include "app/forms/config_form.h"

using namespace vergence;

namespace {

constexpr int kCards = 12;

std::string seriesName(int card)
{
    return "train/series_" + std::to_string(card);
}

/// Stores of `runs` runs with kCards series of `points` points each.
std::vector<MetricStore>& stores(int runs, int points)
{
    static std::map<std::pair<int, int>, std::vector<MetricStore>> kept;
    auto& made = kept[{runs, points}];
    if (!made.empty())
        return made;
    made.resize(static_cast<std::size_t>(runs));
    for (int run = 0; run < runs; ++run) {
        for (int card = 0; card < kCards; ++card) {
            std::vector<MetricPoint> series;
            for (int i = 0; i < points; ++i)
                series.push_back({i, i * 0.01, seriesName(card),
                                  std::exp(-3.0 * i / points) + 0.1 * std::sin(i * 1.7) + run});
            made[static_cast<std::size_t>(run)].append(series);
        }
    }
    return made;
}

/// One new point per series, then events until every visible card is drawn. `longest_ms` is the
/// longest time for which the GUI thread answered nothing.
void chartsRefresh(benchmark::State& state)
{
    const int runs = static_cast<int>(state.range(0)), points = static_cast<int>(state.range(1));
    auto& all = stores(runs, points);
    ChartsPanel panel;
    std::vector<ChartedRun> charted;
    for (int run = 0; run < runs; ++run)
        charted.push_back({QString::number(run), QStringLiteral("run %1").arg(run),
                           QColor::fromHsv(run * 35, 200, 200),
                           &all[static_cast<std::size_t>(run)]});
    panel.resize(1200, 900);
    panel.setRuns(charted);
    panel.findChild<QDoubleSpinBox*>(QStringLiteral("chartSmoothingValue"))
        ->setValue(state.range(2) / 1000.0);
    panel.show();
    const auto cards = panel.findChildren<ChartCard*>();
    const auto isDrawn = [](const ChartCard* card) {
        return !card->isDirty() || card->visibleRegion().isEmpty();
    };
    while (!std::all_of(cards.begin(), cards.end(), isDrawn))
        QCoreApplication::processEvents();
    // Asked once: regions cost about as much as what is measured.
    QList<ChartCard*> seen;
    std::copy_if(cards.begin(), cards.end(), std::back_inserter(seen),
                 [](const ChartCard* card) { return !card->visibleRegion().isEmpty(); });
    const auto isDone = [&] {
        return std::none_of(seen.begin(), seen.end(),
                            [](const ChartCard* card) { return card->isDirty(); });
    };
    std::int64_t step = static_cast<std::int64_t>(all[0].find(seriesName(0))->size());
    double longest = 0, busy = 0;
    for (auto _ : state) {
        for (MetricStore& store : all) {
            std::vector<MetricPoint> fresh;
            for (int card = 0; card < kCards; ++card)
                fresh.push_back({step, static_cast<double>(step) * 0.01, seriesName(card), 0.5});
            store.append(fresh);
        }
        ++step;
        panel.refresh();
        bool isStarted = false;
        while (!isStarted || !isDone()) {
            QElapsedTimer watch;
            watch.start();
            QCoreApplication::processEvents();
            const double took = static_cast<double>(watch.nsecsElapsed()) / 1e6;
            longest = std::max(longest, took);
            busy += took > 0.2 ? took : 0;
            isStarted = isStarted || cards.front()->isDirty() || took > 1;
        }
    }
    state.counters["longest_ms"] = longest;
    state.counters["busy_ms"] = benchmark::Counter(busy, benchmark::Counter::kAvgIterations);
}
BENCHMARK(chartsRefresh)
    ->ArgNames({"runs", "points", "smoothing_permille"})
    ->Args({1, 10000, 0})
    ->Args({1, 10000, 900})
    ->Args({10, 100000, 0})
    ->Args({10, 100000, 900})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

ConfigSchema wideSchema()
{
    std::vector<Field> fields;
    for (int i = 0; i < 200; ++i) {
        Field field;
        field.key = "field_" + std::to_string(i);
        field.title = "Field " + std::to_string(i);
        field.group = "group_" + std::to_string(i / 20);
        field.help = "One of many.";
        switch (i % 4) {
        case 0:
            field.type = FieldType::Int;
            field.defaultValue = std::int64_t(i);
            break;
        case 1:
            field.type = FieldType::Enum;
            field.choices = {"one", "two"};
            field.defaultValue = std::string("one");
            break;
        case 2:
            field.type = FieldType::Bool;
            field.defaultValue = false;
            break;
        default:
            field.defaultValue = 0.5 * i;
        }
        fields.push_back(std::move(field));
    }
    return ConfigSchema("wide", 1, std::move(fields));
}

void formBuild(benchmark::State& state)
{
    const ConfigSchema schema = wideSchema();
    for (auto _ : state) {
        ConfigForm form;
        form.setSchema(schema, {});
    }
}
BENCHMARK(formBuild)->Unit(benchmark::kMillisecond);

void formShow(benchmark::State& state)
{
    const ConfigSchema schema = wideSchema();
    for (auto _ : state) {
        ConfigForm form;
        form.resize(420, 700);
        form.setSchema(schema, {});
        form.show();
        QCoreApplication::processEvents();
    }
}
BENCHMARK(formShow)->Unit(benchmark::kMillisecond);

void formSearchKey(benchmark::State& state)
{
    ConfigForm form;
    form.resize(420, 700);
    form.setSchema(wideSchema(), {});
    form.show();
    QCoreApplication::processEvents();
    auto* search = form.findChild<QLineEdit*>(QStringLiteral("configSearch"));
    int turn = 0;
    for (auto _ : state) {
        search->setText(++turn % 2 == 0 ? QStringLiteral("field_1") : QStringLiteral("field_19"));
        QCoreApplication::processEvents();
    }
}
BENCHMARK(formSearchKey)->Unit(benchmark::kMillisecond);

void formKeystroke(benchmark::State& state)
{
    ConfigForm form;
    form.resize(420, 700);
    form.setSchema(wideSchema(), {});
    form.show();
    auto* line = form.findChild<QLineEdit*>(QStringLiteral("configForm/field_0"));
    int turn = 0;
    for (auto _ : state) {
        line->setText(QString::number(++turn));
        Q_EMIT line->textEdited(line->text());
        QCoreApplication::processEvents();
    }
}
BENCHMARK(formKeystroke)->Unit(benchmark::kMillisecond);

} // namespace

int main(int argc, char** argv)
{
    const QApplication application(argc, argv);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
