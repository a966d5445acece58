#include <algorithm>
#include <set>

#include <QTest>

#include "plugins/sugar/train/trainer.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;

class SugarScheduleTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void densifiesAfterFromUntilUntil()
    {
        const Schedule schedule({.iterations = 1000,
                                 .densifyFrom = 100,
                                 .densifyUntil = 600,
                                 .densifyEvery = 50,
                                 .resetEvery = 300});
        std::vector<std::int64_t> steps;
        for (std::int64_t step = 1; step <= 1000; ++step) {
            if (schedule.densifies(step))
                steps.push_back(step);
        }
        QCOMPARE(steps.front(), 150);
        QCOMPARE(steps.back(), 600);
        QCOMPARE(steps.size(), std::size_t(10));
        QVERIFY(schedule.endsDensification(600));
        QVERIFY(schedule.resetsOpacity(300));
        QVERIFY(!schedule.resetsOpacity(600)); // nothing could recover from it
        QVERIFY(!schedule.hasReset(300)); // a step prunes before it resets
        QVERIFY(schedule.hasReset(301));
        QVERIFY(schedule.gathers(600)); // for its own event
        QVERIFY(!schedule.gathers(601));
    }

    void lastStepNeverDensifies()
    {
        const Schedule schedule(
            {.iterations = 200, .densifyFrom = 0, .densifyUntil = 500, .densifyEvery = 100});
        QVERIFY(schedule.densifies(100));
        QVERIFY(!schedule.densifies(200));
        QVERIFY(schedule.endsDensification(100));
        QVERIFY(schedule.gathers(100) && !schedule.gathers(101));
        QVERIFY(!Schedule({.densifyEvery = 0}).gathers(1));
    }

    void degreeRisesByOne()
    {
        const Schedule schedule({.degreeEvery = 1000, .degree = 3});
        QCOMPARE(schedule.degreeAt(1), 0);
        QCOMPARE(schedule.degreeAt(1000), 0);
        QCOMPARE(schedule.degreeAt(1001), 1);
        QCOMPARE(schedule.degreeAt(9000), 3);
        QCOMPARE(Schedule({.degreeEvery = 0, .degree = 2}).degreeAt(1), 2);
    }

    /// What a trained file has is used at once.
    void degreeStartsWhereAFileEnded()
    {
        const Schedule schedule({.degreeEvery = 1000, .degree = 3, .leastDegree = 2});
        QCOMPARE(schedule.degreeAt(1), 2);
        QCOMPARE(schedule.degreeAt(2001), 2);
        QCOMPARE(schedule.degreeAt(3001), 3);
    }

    /// Spec 8.3: noise follows every step but the last one, whenever densification ends.
    void noiseGoesOnAfterDensification()
    {
        TrainerSettings settings;
        settings.schedule = {.iterations = 5, .densifyFrom = 100, .densifyUntil = 2, .degree = 0};
        settings.density.mode = DensitySettings::Mode::Mcmc;
        settings.extent = 2.6;
        settings.near = 0.05F;
        const auto device = makeCpuDevice(2);
        const auto stream = device->createStream();
        Trainer trainer(
            device, settings,
            std::make_shared<TrainingPictures>(builtInPictures(32, 24, false, 1), device), {0, 1});
        GaussianCloud cloud; // above all cameras: no picture moves it
        cloud.position = {0, 0, 50};
        cloud.logScale = {-2, -2, -2};
        cloud.rotation = {1, 0, 0, 0};
        cloud.opacity = {-6};
        cloud.shDc = {0, 0, 0};
        trainer.start(*stream, cloud);
        StepReport report;
        float before = 50;
        for (int step = 1; step <= 5; ++step) {
            QVERIFY(trainer.step(*stream, {}, report));
            const float now = download(*stream, trainer.gaussians()).position[2];
            QVERIFY2((now != before) == (step < 5), qPrintable(QString::number(step)));
            before = now;
        }
    }

    void progressivePicturesGrowAtTenAndThirtyPercent()
    {
        const Schedule schedule({.iterations = 1000, .progressive = true});
        QCOMPARE(schedule.levelAt(100), 2);
        QCOMPARE(schedule.levelAt(101), 1);
        QCOMPARE(schedule.levelAt(300), 1);
        QCOMPARE(schedule.levelAt(301), 0);
        QVERIFY(schedule.updatesFilter(101));
        QCOMPARE(Schedule({.iterations = 1000}).levelAt(1), 0);
    }

    void everyEpochHoldsEveryPictureOnce()
    {
        const std::vector<std::size_t> pictures{2, 3, 5, 7, 11, 13, 17};
        PictureOrder order(pictures, 4);
        std::set<std::vector<std::size_t>> epochs;
        for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
            std::vector<std::size_t> seen;
            for (std::int64_t i = 1; i <= 7; ++i)
                seen.push_back(order.at(epoch * 7 + i));
            epochs.insert(seen);
            std::sort(seen.begin(), seen.end());
            QCOMPARE(seen, pictures);
        }
        QVERIFY2(epochs.size() > 15, "epochs must differ");
    }

    void orderFollowsFromTheStepAlone()
    {
        const std::vector<std::size_t> pictures{0, 1, 2, 3, 4};
        PictureOrder forward(pictures, 9), backward(pictures, 9);
        std::vector<std::size_t> there, back;
        for (std::int64_t step = 1; step <= 23; ++step)
            there.push_back(forward.at(step));
        for (std::int64_t step = 23; step >= 1; --step)
            back.push_back(backward.at(step));
        std::reverse(back.begin(), back.end());
        QCOMPARE(there, back);
    }

    void onePictureIsAlwaysNext()
    {
        PictureOrder order({6}, 1);
        QCOMPARE(order.at(1), std::size_t(6));
        QCOMPARE(order.at(40), std::size_t(6));
        QVERIFY_THROWS_EXCEPTION(std::exception, PictureOrder({}, 1).at(1));
    }
};

VERGENCE_TEST(SugarScheduleTest)
#include "tst_sugar_schedule.moc"
