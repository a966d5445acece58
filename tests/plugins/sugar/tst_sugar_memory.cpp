#include <QTest>

#include <algorithm>
#include <cmath>

#include "plugins/sugar/compute/learning/memory_forecast.h"
#include "plugins/sugar/io/gaussian_files.h"
#include "plugins/sugar/train/aligner.h"
#include "plugins/sugar/train/evaluation.h"
#include "plugins/sugar/train/trainer.h"
#include "tests/support/cuda_device.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;

namespace {

constexpr double kExtent = 2.6; ///< of the built-in scene
constexpr double kTolerance = 0.1;

/// The built-in scene.
struct MemoryBed {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream = device->createStream();
    std::shared_ptr<TrainingPictures> pictures;
    std::vector<std::size_t> learnt;
    GaussianCloud cloud;

    MemoryBed(int width, int height, std::shared_ptr<Device> on = makeCpuDevice(2))
        : device(std::move(on)),
          pictures(
              std::make_shared<TrainingPictures>(builtInPictures(width, height, false, 1), device))
    {
        for (std::size_t i = 0; i < pictures->source().count(); ++i)
            learnt.push_back(i);
        cloud = initialCloud(pictures->source().scene().points, kExtent);
    }

    /// Device bytes in use beside what the lab counts itself: scratch of streams.
    double uncounted(std::size_t counted) const
    {
        return static_cast<double>(device->memory().usedByUs) - static_cast<double>(counted);
    }
};

MemoryQuestion questionOf(Index gaussians, int degree, int width, int height, Index instances)
{
    MemoryQuestion question;
    question.gaussians = gaussians;
    question.degree = degree;
    question.width = width;
    question.height = height;
    question.instances = instances;
    return question;
}

void compare(double forecast, double measured, const char* what)
{
    QVERIFY2(std::abs(forecast - measured) <= kTolerance * measured,
             qPrintable(QString("%1: forecast %2 MB, measured %3 MB")
                            .arg(what)
                            .arg(forecast / 1e6)
                            .arg(measured / 1e6)));
}

} // namespace

/// What learning allocates, against what was said before it.
class SugarMemoryTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void learnerKeepsToItsForecast_data()
    {
        QTest::addColumn<int>("degree");
        QTest::addColumn<int>("width");
        QTest::addColumn<bool>("isMcmc");
        QTest::addColumn<bool>("isCompact");
        QTest::newRow("few harmonics") << 1 << 160 << false << false;
        QTest::newRow("all harmonics") << 3 << 160 << false << false;
        QTest::newRow("all harmonics, compact moments") << 3 << 160 << false << true;
        QTest::newRow("Markov chain") << 2 << 160 << true << false;
        QTest::newRow("larger pictures") << 0 << 480 << false << false;
    }
    void learnerKeepsToItsForecast()
    {
        QFETCH(int, degree);
        QFETCH(int, width);
        QFETCH(bool, isMcmc);
        QFETCH(bool, isCompact);
        const int height = width * 3 / 4;
        MemoryBed bed(width, height);
        TrainerSettings settings;
        settings.schedule.iterations = 60;
        settings.schedule.densifyFrom = 5;
        settings.schedule.densifyUntil = 50;
        settings.schedule.densifyEvery = 5;
        settings.schedule.resetEvery = 0;
        settings.schedule.degree = degree;
        settings.density.mode =
            isMcmc ? DensitySettings::Mode::Mcmc : DensitySettings::Mode::Classic;
        settings.density.gradient = 1e-5;
        settings.density.cap = bed.cloud.count() * 3 / 2;
        settings.extent = kExtent;
        settings.near = 0.01F;
        settings.moments = isCompact ? MomentFormat::Compact : MomentFormat::F32;
        Trainer trainer(bed.device, settings, bed.pictures, bed.learnt);
        trainer.start(*bed.stream, bed.cloud);
        Index instances = 0;
        while (!trainer.isDone()) {
            StepReport report;
            QVERIFY(trainer.step(*bed.stream, {}, report));
            instances = std::max(instances, report.counts.instances);
        }
        const Index count = trainer.gaussians().count;
        QVERIFY(count > settings.density.cap * 9 / 10);
        QVERIFY(trainer.state().capacity() <= settings.density.cap);

        const auto counted = static_cast<double>(trainer.allocatedBytes());
        QVERIFY2(bed.uncounted(trainer.allocatedBytes()) < 0.05 * counted,
                 "a buffer of the learner is not counted");
        MemoryQuestion question =
            questionOf(settings.density.cap, degree, width, height, instances);
        question.separateGradients = isMcmc;
        question.compactMoments = isCompact;
        compare(learnerMemory(question).total(), counted, "learning");
        // Splats that have hardly learnt are larger than the model's, those of a long training
        // smaller: from half as many coverings to half as many more.
        const Index expected = expectedInstances(settings.density.cap, width, height);
        qInfo("%lld pairs were met, %lld were expected.", static_cast<long long>(instances),
              static_cast<long long>(expected));
        QVERIFY(expected < 3 * instances / 2 && instances < 3 * expected / 2);

        // The peak has what came and went: arrays that were rearranged.
        const auto peak = static_cast<double>(bed.device->memory().peakUsedByUs);
        QVERIFY(peak >= counted);
        QVERIFY(peak <= hostMemory(question, true).total() - question.hostRuntime);
    }

    /// On a GPU there is but one peak for all rows: each needs more than those before it.
    void gpuKeepsToItsForecast_data()
    {
        QTest::addColumn<int>("width");
        QTest::addColumn<bool>("isMcmc");
        QTest::newRow("small, classic") << 48 << false;
        QTest::newRow("small, Markov chain") << 48 << true;
        QTest::newRow("larger, classic") << 96 << false;
        QTest::newRow("larger, Markov chain") << 96 << true;
    }
    void gpuKeepsToItsForecast()
    {
        VERGENCE_CUDA_DEVICE(device)
        QFETCH(int, width);
        QFETCH(bool, isMcmc);
        const int height = width * 3 / 4;
        const std::size_t before = device->memory().usedByUs;
        MemoryBed bed(width, height, device);
        TrainerSettings settings;
        settings.schedule.iterations = 6;
        settings.schedule.densifyFrom = 0;
        settings.schedule.densifyUntil = 5;
        settings.schedule.densifyEvery = 2;
        settings.schedule.resetEvery = 0;
        settings.density.mode =
            isMcmc ? DensitySettings::Mode::Mcmc : DensitySettings::Mode::Classic;
        settings.density.gradient = 1e-6;
        settings.density.cap = bed.cloud.count() * 21 / 20;
        settings.extent = kExtent;
        settings.near = 0.01F;
        Trainer trainer(device, settings, bed.pictures, bed.learnt);
        trainer.start(*bed.stream, bed.cloud);
        Index instances = 0;
        while (!trainer.isDone()) {
            StepReport report;
            QVERIFY(trainer.step(*bed.stream, {}, report));
            instances = std::max(instances, report.counts.instances);
        }
        QCOMPARE(trainer.gaussians().count, settings.density.cap);
        Evaluator(device, bed.pictures)
            .measure(*bed.stream, trainer.gaussians(), trainer.rasterSettings(), 0);
        const std::size_t pictures = std::min<std::size_t>(bed.learnt.size(), 7);

        MemoryQuestion question = questionOf(settings.density.cap, 3, width, height, instances);
        question.separateGradients = isMcmc;
        question.rearranges = question.tests = true;
        question.residentPhotographs = 3.0 * width * height * static_cast<double>(pictures);
        const MemoryForecast forecast = deviceMemory(question);
        const double said = forecast.total() - forecast.bytesOf("Runtime");
        const auto peak = static_cast<double>(device->memory().peakUsedByUs - before);
        const QString figures =
            QString("forecast %1 MB, peak %2 MB").arg(said / 1e6).arg(peak / 1e6);
        qInfo("%s", qPrintable(figures));
        QVERIFY2(said >= peak && said <= (1 + kTolerance) * peak, qPrintable(figures));
    }

    void alignerKeepsToItsForecast()
    {
        constexpr int kWidth = 160, kHeight = 120;
        MemoryBed bed(kWidth, kHeight);
        AlignerSettings settings;
        settings.schedule.steps = 30;
        settings.schedule.phase1 = 10;
        settings.schedule.ramp = 5;
        settings.schedule.knnEvery = 10;
        settings.pruneOpacity = 0; // all stay
        settings.samples = 2'048;
        settings.extent = kExtent;
        settings.near = 0.01F;
        settings.shDegree = 1;
        Aligner aligner(bed.device, settings, bed.pictures, bed.learnt);
        aligner.start(*bed.stream, bed.cloud);
        Index instances = 0;
        for (int i = 0; i < 30; ++i) {
            AlignmentReport report;
            QVERIFY(aligner.step(*bed.stream, {}, report));
            instances = std::max(instances, report.counts.instances);
        }
        const Index count = aligner.gaussians().count;
        MemoryQuestion question = questionOf(count, 1, kWidth, kHeight, instances);
        question.neighbours = settings.knn;
        question.geometry = true;
        question.separateGradients = true;
        question.samples = settings.samples;
        const auto counted = static_cast<double>(aligner.allocatedBytes());
        compare(learnerMemory(question).total(), counted, "alignment");
    }
};

VERGENCE_TEST(SugarMemoryTest)
#include "tst_sugar_memory.moc"
