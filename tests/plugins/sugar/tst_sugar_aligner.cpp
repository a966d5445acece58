#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/sugar/io/gaussian_files.h"
#include "plugins/sugar/pipeline/packing.h"
#include "plugins/sugar/spatial/neighbours.h"
#include "plugins/sugar/train/aligner.h"
#include "tests/plugins/sugar/learning_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;

namespace {

namespace fs = std::filesystem;
using Mode = AlignerSettings::Mode;
using Columns = std::map<std::string, std::vector<float>>;
using Kept = std::map<std::string, HostTensor>; ///< what a checkpoint holds

double opacityOf(float logit)
{
    return 1 / (1 + std::exp(-static_cast<double>(logit)));
}

/// Gaussians at the points of the built-in scene, half opaque on average.
GaussianCloud halfOpaqueCloud(const PictureSource& pictures, double extent)
{
    GaussianCloud cloud = initialCloud(pictures.scene().points, extent);
    const Rng rng(21);
    for (std::size_t i = 0; i < cloud.opacity.size(); ++i)
        cloud.opacity[i] = 2 * rng.uniform(i) - 1;
    return cloud;
}

AlignerSettings settingsOf(Mode mode = Mode::DepthNormal)
{
    AlignerSettings settings;
    settings.mode = mode;
    settings.schedule.steps = 60;
    settings.schedule.phase1 = 20;
    settings.schedule.ramp = 10;
    settings.schedule.knnEvery = 15;
    settings.samples = 256;
    settings.extent = 2.6;
    settings.near = 0.01F;
    settings.shDegree = 1;
    settings.background = {0.62F, 0.72F, 0.85F};
    return settings;
}

/// An aligner of the built-in scene, 48 × 36 px.
struct AlignerBed {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    std::shared_ptr<TrainingPictures> pictures;
    std::unique_ptr<Aligner> aligner;
    std::vector<AlignmentReport> reports;

    explicit AlignerBed(const AlignerSettings& settings, int threads = 2)
        : device(makeCpuDevice(threads)),
          stream(device->createStream()),
          pictures(std::make_shared<TrainingPictures>(builtInPictures(48, 36, false, 1), device))
    {
        std::vector<std::size_t> learnFrom;
        for (std::size_t i = 0; i < pictures->source().count(); ++i) {
            if (!pictures->source().isTest(i).value_or(false))
                learnFrom.push_back(i);
        }
        aligner = std::make_unique<Aligner>(device, settings, pictures, learnFrom);
    }

    void start()
    {
        aligner->start(*stream, halfOpaqueCloud(pictures->source(), aligner->settings().extent));
    }
    void run(std::int64_t steps)
    {
        for (std::int64_t i = 0; i < steps; ++i) {
            AlignmentReport report;
            QVERIFY(aligner->step(*stream, {}, report));
            reports.push_back(report);
        }
    }
    Columns columns()
    {
        Columns all;
        for (const NamedTensor& named : aligner->tensors())
            all[named.name] = fixtures::numbersOf(*stream, named.tensor, named.tensor.extent(0));
        return all;
    }
    Kept kept()
    {
        Checkpoint checkpoint;
        packTensors(*stream, aligner->tensors(), checkpoint);
        Kept all;
        for (const HostTensor& tensor : checkpoint.tensors)
            all[tensor.name] = tensor;
        return all;
    }
    void restore(std::int64_t step, const Kept& kept)
    {
        aligner->restore(*stream, step, kept.at("value.opacity").shape[0], 1,
                         [&](const std::string& name) { return kept.at(name); });
    }
    std::vector<float> logits() { return columns().at("value.opacity"); }
};

/// What a report says but for the time it took.
std::vector<double> numbersOf(const AlignmentReport& r)
{
    const auto number = [](const std::optional<double>& value) { return value.value_or(-1); };
    return {static_cast<double>(r.step),
            static_cast<double>(r.picture),
            r.value.loss,
            number(r.entropy),
            number(r.density),
            number(r.sdf),
            number(r.betterNormal),
            number(r.depthNormal),
            static_cast<double>(r.samples),
            static_cast<double>(r.prunedCount)};
}

} // namespace

class SugarAlignerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void scheduleFollowsTheTable()
    {
        const AlignmentSchedule schedule({});
        for (const auto& [s, has] : std::vector<std::pair<int, bool>>{
                 {0, false}, {1, true}, {1999, true}, {2000, false}, {5000, false}})
            QCOMPARE(schedule.hasEntropy(s), has);
        for (const int s : {0, 1999, 2001, 4000})
            QVERIFY(!schedule.prunes(s));
        QVERIFY(schedule.prunes(2000));
        for (const int s : {2000, 2500, 3000, 7500})
            QVERIFY(schedule.refreshesNeighbours(s));
        for (const int s : {0, 500, 1500, 2001, 2499})
            QVERIFY(!schedule.refreshesNeighbours(s));
        QCOMPARE(schedule.samplesWeight(2000), 0.0);
        QCOMPARE(schedule.samplesWeight(2001), 1.0 / 200);
        QCOMPARE(schedule.samplesWeight(2100), 0.5);
        QCOMPARE(schedule.samplesWeight(2200), 1.0);
        QCOMPARE(schedule.depthNormalWeight(7999), 1.0);
    }

    /// What happens every n-th step counts n times.
    void rareTermsAreCompensated()
    {
        AlignmentScheduleSettings settings;
        settings.ramp = 0;
        settings.every = 5;
        settings.dnEvery = 2;
        const AlignmentSchedule rare(settings);
        double samples = 0, depthNormal = 0;
        for (std::int64_t s = 2001; s <= 2100; ++s) {
            samples += rare.samplesWeight(s);
            depthNormal += rare.depthNormalWeight(s);
        }
        QCOMPARE(samples, 100.0);
        QCOMPARE(depthNormal, 100.0);
        QCOMPARE(rare.samplesWeight(2005), 5.0);
        QCOMPARE(rare.samplesWeight(2006), 0.0);
        settings.every = 0;
        QVERIFY_THROWS_EXCEPTION(ContractError, AlignmentSchedule{settings});
    }

    void positionsMoveSlowerAndSlower()
    {
        const AlignerSettings settings;
        QVERIFY(std::abs(positionRate(settings.rates, 3, 0, 8000) - 3 * 5.463278e-5) < 1e-12);
        QVERIFY(std::abs(positionRate(settings.rates, 3, 8000, 8000) - 3 * 1.6e-5) < 1e-12);
        QVERIFY(std::abs(positionRate(settings.rates, 1, 4000, 8000) -
                         std::sqrt(5.463278e-5 * 1.6e-5)) < 1e-12);
    }

    void termsComeAndGo_data()
    {
        QTest::addColumn<int>("mode");
        QTest::newRow("density") << static_cast<int>(Mode::Density);
        QTest::newRow("signed distance") << static_cast<int>(Mode::Sdf);
        QTest::newRow("depth and normals") << static_cast<int>(Mode::DepthNormal);
    }
    void termsComeAndGo()
    {
        QFETCH(int, mode);
        AlignerSettings settings = settingsOf(static_cast<Mode>(mode));
        settings.schedule.every = 2;
        AlignerBed bed(settings);
        bed.start();
        const Index before = bed.aligner->gaussians().count;
        bed.run(60);
        QVERIFY(bed.aligner->isDone());
        Index count = before;
        for (const AlignmentReport& r : bed.reports) {
            const std::int64_t s = r.step - 1;
            QCOMPARE(r.entropy.has_value(), s > 0 && s < 20);
            QCOMPARE(r.pruned, s == 20);
            QCOMPARE(r.prunedCount > 0, s == 20);
            const bool samples = s > 20 && s % 2 == 0;
            QCOMPARE(r.density.has_value(), samples && settings.mode != Mode::Sdf);
            QCOMPARE(r.sdf.has_value(), samples && settings.mode == Mode::Sdf);
            QCOMPARE(r.betterNormal.has_value(), samples);
            QCOMPARE(r.depthNormal.has_value(), s > 20 && settings.mode == Mode::DepthNormal);
            QCOMPARE(r.searchedNeighbours, s == 22 || s == 36 || s == 52);
            QCOMPARE(r.notFinite, Index{0});
            count -= r.prunedCount;
        }
        QCOMPARE(bed.aligner->gaussians().count, count);
        QVERIFY(count > 500 && count < before);
        QVERIFY(!bed.reports[20].keptFaint);
    }

    void opacitiesBecomeTwoPeaked()
    {
        AlignerSettings settings = settingsOf();
        settings.schedule.steps = settings.schedule.phase1 = 200;
        AlignerBed bed(settings);
        bed.start();
        const auto middle = [&] {
            const std::vector<float> logits = bed.logits();
            const auto inside = std::count_if(logits.begin(), logits.end(), [](float logit) {
                return std::abs(opacityOf(logit) - 0.5) < 0.25;
            });
            return static_cast<double>(inside) / static_cast<double>(logits.size());
        };
        const double before = middle();
        bed.run(200);
        const double after = middle();
        QVERIFY2(before > 0.8 && after < 0.5 * before,
                 qPrintable(QString("%1 then %2").arg(before).arg(after)));
        QVERIFY(*bed.reports.back().entropy < 0.7 * *bed.reports[1].entropy);
        QVERIFY(bed.reports.back().value.loss < 0.8 * bed.reports.front().value.loss);
    }

    void termsAlignGaussians_data()
    {
        QTest::addColumn<int>("term");
        QTest::newRow("density") << 0;
        QTest::newRow("normals of neighbours") << 1;
        QTest::newRow("depth and normals") << 2;
    }
    /// A term does what it is for: what it measures is lower with it than without.
    void termsAlignGaussians()
    {
        QFETCH(int, term);
        const auto ending = [&](double weight) {
            AlignerSettings settings = settingsOf();
            settings.schedule.steps = 200;
            settings.schedule.phase1 = 20;
            settings.samples = 512;
            double* const weights[] = {&settings.factor, &settings.normalFactor,
                                       &settings.dnFactor};
            for (double* const one : weights)
                *one = 1e-9;
            *weights[term] = weight;
            AlignerBed bed(settings);
            bed.start();
            bed.run(200);
            double sum = 0;
            for (std::size_t i = 150; i < 200; ++i) {
                const AlignmentReport& r = bed.reports[i];
                sum += term == 0 ? *r.density : term == 1 ? *r.betterNormal : *r.depthNormal;
            }
            return sum / 50;
        };
        const double with = ending(term == 2 ? 0.05 : 0.2), without = ending(1e-9);
        QVERIFY2(with < 0.95 * without,
                 qPrintable(QString("%1 with, %2 without").arg(with).arg(without)));
    }

    void faintGaussiansGoOnce()
    {
        AlignerSettings settings = settingsOf();
        settings.schedule.phase1 = 0;
        settings.schedule.steps = 1;
        AlignerBed bed(settings);
        bed.start();
        bed.run(1);
        const AlignmentReport& r = bed.reports[0];
        QVERIFY(r.pruned && !r.keptFaint && !r.entropy);
        for (const float logit : bed.logits())
            QVERIFY(logit >= 0);
    }

    void mostOpaqueTenthStaysWhereHardlyAnyIs()
    {
        AlignerSettings settings = settingsOf();
        settings.schedule.phase1 = 0;
        settings.entropy = 0;
        AlignerBed bed(settings);
        GaussianCloud cloud = halfOpaqueCloud(bed.pictures->source(), settings.extent);
        for (std::size_t i = 0; i < cloud.opacity.size(); ++i)
            cloud.opacity[i] = -3 + static_cast<float>(i % 100) * 0.01F;
        cloud.opacity[5] = 2;
        bed.aligner->start(*bed.stream, cloud);
        bed.run(1);
        QVERIFY(bed.reports[0].keptFaint);
        const std::vector<float> logits = bed.logits();
        QCOMPARE(static_cast<Index>(logits.size()), (cloud.count() + 9) / 10);
        QVERIFY(*std::max_element(logits.begin(), logits.end()) > 1.5F);
        for (const float logit : logits)
            QVERIFY(logit > -2.3F);
        bed.run(5); // goes on
    }

    void resumedRunIsTheSame_data()
    {
        QTest::addColumn<int>("mode");
        QTest::addColumn<bool>("isHalf");
        QTest::addColumn<bool>("isSparse");
        QTest::addColumn<bool>("isCompact");
        QTest::addColumn<int>("steps");
        QTest::newRow("300 against 150 + 150")
            << static_cast<int>(Mode::DepthNormal) << false << false << false << 300;
        QTest::newRow("half size, sparse")
            << static_cast<int>(Mode::DepthNormal) << true << true << false << 60;
        QTest::newRow("signed distance")
            << static_cast<int>(Mode::Sdf) << false << false << false << 60;
        QTest::newRow("before the pruning")
            << static_cast<int>(Mode::Density) << false << true << false << 30;
        QTest::newRow("compact moments, sparse")
            << static_cast<int>(Mode::DepthNormal) << false << true << true << 60;
    }
    void resumedRunIsTheSame() // 17.20
    {
        QFETCH(int, mode);
        QFETCH(bool, isHalf);
        QFETCH(bool, isSparse);
        QFETCH(bool, isCompact);
        QFETCH(int, steps);
        const QTemporaryDir folder;
        AlignerSettings settings = settingsOf(static_cast<Mode>(mode));
        settings.schedule.steps = steps;
        settings.dnHalf = isHalf;
        settings.sparseAdam = isSparse;
        settings.moments = isCompact ? MomentFormat::Compact : MomentFormat::F32;
        AlignerBed whole(settings);
        whole.start();
        whole.run(steps);
        settings.cacheFolder = folder.path().toStdString();
        AlignerBed first(settings);
        first.start();
        first.run(steps / 2);
        const Kept kept = first.kept();
        QCOMPARE(kept.contains("neighbours.position"), steps / 2 > 20);
        AlignerBed second(settings);
        second.restore(steps / 2, kept);
        second.run(steps / 2);
        QVERIFY(second.columns() == whole.columns());
        for (int i = 0; i < steps / 2; ++i)
            QCOMPARE(numbersOf(second.reports[static_cast<std::size_t>(i)]),
                     numbersOf(whole.reports[static_cast<std::size_t>(i + steps / 2)]));
    }

    void threadsDoNotChangeABit() // 17.21
    {
        AlignerSettings settings = settingsOf();
        AlignerBed one(settings, 1), two(settings, 2);
        one.start();
        two.start();
        one.run(60);
        two.run(60);
        QVERIFY(one.columns() == two.columns());
        for (std::size_t i = 0; i < 60; ++i)
            QCOMPARE(numbersOf(one.reports[i]), numbersOf(two.reports[i]));
    }

    void stoppedStepChangesNothing()
    {
        AlignerSettings settings = settingsOf();
        settings.dnHalf = true;
        AlignerBed bed(settings), undisturbed(settings);
        bed.start();
        undisturbed.start();
        bed.run(21); // the next step searches neighbours
        const Columns before = bed.columns();
        int stops = 0;
        for (int at = 1;; ++at) {
            int asked = 0;
            AlignmentReport report;
            if (bed.aligner->step(
                    *bed.stream, [&] { return ++asked >= at; }, report))
                break;
            ++stops;
            QCOMPARE(bed.aligner->stepsDone(), std::int64_t{21});
            QVERIFY(bed.columns() == before);
        }
        QVERIFY2(stops >= 5, qPrintable(QString::number(stops)));
        undisturbed.run(22);
        QVERIFY(bed.columns() == undisturbed.columns());
    }

    void damagedCheckpointIsRefused()
    {
        AlignerBed bed(settingsOf());
        bed.start();
        bed.run(22);
        Kept kept = bed.kept();
        AlignerSettings compact = settingsOf();
        compact.moments = MomentFormat::Compact;
        VERGENCE_THROWS(InputError,
                        "moment1.position as F32, and BF16 is needed: resume with the adam_moments",
                        AlignerBed(compact).restore(22, kept));
        kept["neighbours.position"].bytes.pop_back();
        VERGENCE_THROWS(InputError, "damaged", AlignerBed(settingsOf()).restore(22, kept));
    }

    void badSettingsAreRefused()
    {
        for (const auto& spoil : std::vector<std::function<void(AlignerSettings&)>>{
                 [](AlignerSettings& s) { s.knn = 1; }, [](AlignerSettings& s) { s.knn = 33; },
                 [](AlignerSettings& s) { s.extent = 0; },
                 [](AlignerSettings& s) { s.pruneOpacity = 1; },
                 [](AlignerSettings& s) { s.schedule.knnEvery = 0; }}) {
            AlignerSettings settings = settingsOf();
            spoil(settings);
            QVERIFY_THROWS_EXCEPTION(ContractError, AlignerBed{settings});
        }
        AlignerBed bed(settingsOf());
        QVERIFY_THROWS_EXCEPTION(ContractError, bed.aligner->start(*bed.stream, {}));
    }
};

VERGENCE_TEST(SugarAlignerTest)
#include "tst_sugar_aligner.moc"
