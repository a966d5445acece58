#include <cmath>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/foveated_vlm/train/best_metric.h"
#include "plugins/foveated_vlm/train/train_settings.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;

class TestSchedule : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Specification, section 16.1: warm-up 10 of 110 updates, floor 0.1.
    void cosineHasItsPublishedValues()
    {
        TrainSettings settings;
        settings.updates = 110;
        settings.warmup = 10;
        settings.live.rates = {1, 2, 4};
        const std::vector<std::pair<Index, double>> expected{{0, 0},    {5, 0.5},   {10, 1},
                                                             {60, .55}, {110, 0.1}, {500, 0.1}};
        for (const auto& [update, factor] : expected) {
            QVERIFY(std::abs(settings.rateAt(Part::Vit, update) - factor) < 1e-12);
            const auto rates = settings.ratesAt(update);
            for (std::size_t group = 0; group < rates.size(); ++group)
                QVERIFY(std::abs(rates[group] - factor * std::exp2(group / 2)) < 1e-12);
        }
    }

    void convergingPartsMeet()
    {
        TrainSettings settings;
        settings.schedule = ScheduleKind::Converging;
        settings.updates = 1000;
        settings.warmup = 0;
        settings.live.rates = {1e-5, 1e-3, 1e-5};
        settings.live.targetRate = 3e-5;
        QVERIFY(std::abs(settings.rateAt(Part::Connector, 500) - 5.15e-4) < 1e-15);
        QVERIFY(std::abs(settings.rateAt(Part::Llm, 500) - 2.0e-5) < 1e-15);
        for (const Part part : {Part::Vit, Part::Connector, Part::Llm})
            QVERIFY(std::abs(settings.rateAt(part, 1000) - 3e-5) < 1e-15);
    }

    void warmUpIsAShareOrACount()
    {
        TrainSettings settings;
        settings.updates = 400;
        settings.warmup = 0.05;
        QCOMPARE(settings.warmupUpdates(), Index{20});
        settings.warmup = 250;
        QCOMPARE(settings.warmupUpdates(), Index{250});
        settings.schedule = ScheduleKind::Constant;
        QCOMPARE(settings.rateAt(Part::Connector, 125), 0.5e-3);
        QCOMPARE(settings.rateAt(Part::Connector, 399), 1e-3);
        settings.schedule = ScheduleKind::Cosine;
        settings.updates = 100; // ends before its warm-up
        QCOMPARE(settings.rateAt(Part::Connector, 50), 0.2e-3);
    }

    void bestIsTheSmallestOfTests()
    {
        BestMetric best;
        QVERIFY(!best.add(std::nan("")) && !best.hasBest()); // nothing was counted
        QVERIFY(best.add(2));
        QVERIFY(!best.add(2.5));
        QVERIFY(best.add(1.5));
        QVERIFY(!best.add(std::nan("")));
        QCOMPARE(best.best(), 1.5);
    }

    void bestIsSavedAndRestored()
    {
        BestMetric best, other;
        best.add(2);
        other.restore(nlohmann::json::parse(best.state().dump()));
        QVERIFY(!other.add(3));
        QCOMPARE(other.best(), 2.0);
        VERGENCE_THROWS(InputError, "damaged", other.restore({{"best", "low"}}));
    }

    /// Earlier versions kept the best of training losses until there was a test.
    void bestTrainingLossOfEarlierVersionsIsNone()
    {
        BestMetric best;
        best.restore(
            {{"recent", {0.5}}, {"best", 0.5}, {"has_best", true}, {"is_validation", false}});
        QVERIFY(!best.hasBest());
        QVERIFY(best.add(1));
    }
};

VERGENCE_TEST(TestSchedule)
#include "tst_fvlm_schedule.moc"
