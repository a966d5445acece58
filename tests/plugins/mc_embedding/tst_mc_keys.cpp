#include <algorithm>
#include <fstream>

#include "core/artifact/safetensors.h"
#include "core/compute/half.h"
#include "plugins/mc_embedding/study/study_files.h"
#include "tests/plugins/mc_embedding/faulty_device.h"
#include "tests/plugins/mc_embedding/mc_run_bench.h"
#include "tests/plugins/mc_embedding/study_difference.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

namespace fs = std::filesystem;

std::size_t cacheBytes(const fs::path& folder)
{
    std::size_t sum = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".mcpx")
            sum += entry.file_size();
    }
    return sum;
}

std::vector<fs::path> chunksOf(const RunFolder& folder)
{
    std::vector<fs::path> chunks;
    for (const auto& entry :
         fs::directory_iterator(folder.checkpoints() / "chunks" / "tiny_clip" / "none"))
        chunks.push_back(entry.path());
    std::sort(chunks.begin(), chunks.end());
    return chunks;
}

/// Σ_d of the unbiased variance over the first `passes` rows of [T, B, D], divided by D.
double traceOf(std::span<const float> trial, std::size_t images, std::size_t dimensions,
               std::size_t image, std::size_t passes)
{
    double trace = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
        double sum = 0, squares = 0;
        for (std::size_t t = 0; t < passes; ++t)
            sum += trial[(t * images + image) * dimensions + d];
        const double mean = sum / static_cast<double>(passes);
        for (std::size_t t = 0; t < passes; ++t) {
            const double delta = trial[(t * images + image) * dimensions + d] - mean;
            squares += delta * delta;
        }
        trace += squares / static_cast<double>(passes - 1);
    }
    return trace / static_cast<double>(dimensions);
}

} // namespace

/// What the keys of the engine do to a run.
class TestMcKeys : public QObject {
    Q_OBJECT

    test::Scratch m_scratch;
    RunBench m_bench{m_scratch.path()};
    RunFolder m_folder;

    StudyState studyOf(const std::vector<std::string>& assignments)
    {
        m_folder = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(m_folder, m_bench.configOf(assignments));
        if (outcome.code != ExitCode::Success)
            throw InputError(outcome.problems());
        return readStudy(m_folder.root);
    }
    /// The first chunk's features, as wide as they are stored.
    std::vector<float> storedFeatures(DType type)
    {
        const SafetensorsFile file = readSafetensors(chunksOf(m_folder).front());
        const HostTensor* features = file.find("features");
        if (features == nullptr || features->dtype != type ||
            features->shape != std::vector<Index>{3, 8, 2, 48})
            throw InputError("no features of this type");
        if (type == DType::F32) {
            const auto values = features->as<float>();
            return {values.begin(), values.end()};
        }
        const auto values = features->as<Float16>();
        return {values.begin(), values.end()};
    }

private Q_SLOTS:
    void pixelsMayBeAnywhere_data()
    {
        QTest::addColumn<QString>("assignment");
        for (const char* level : {"resident", "pinned", "mapped"})
            QTest::newRow(level) << QString("residency=%1").arg(level);
        QTest::newRow("f32 cache") << "pixel_cache=f32";
    }
    void pixelsMayBeAnywhere()
    {
        QFETCH(QString, assignment);
        const StudyState usual = studyOf({"count=7"});
        const StudyState other = studyOf({"count=7", assignment.toStdString()});
        QCOMPARE(differenceOf(usual.models.front(), other.models.front()), std::string());
    }

    void levelStandsInTheManifest()
    {
        studyOf({"residency=pinned"});
        const std::string manifest = readFile(m_folder.manifest());
        QVERIFY2(manifest.find("pinned") != std::string::npos, manifest.c_str());
    }

    void cachesOfOtherTypesHaveTheirSize()
    {
        std::map<std::string, std::size_t> bytes;
        std::map<std::string, double> scores;
        for (const std::string type : {"u8", "f16", "f32"}) {
            const fs::path folder = m_scratch / ("cache_" + type);
            const StudyState study =
                studyOf({"count=64", "pixel_cache=" + type, "cache_folder=" + folder.string(),
                         "trials=1", "passes=[4]", "batch_images=16"});
            bytes[type] = cacheBytes(folder);
            scores[type] = study.models.front().scores.at("trace_pre")[0](0, 0);
        }
        constexpr std::size_t kPixels = 64 * 32 * 32 * 3;
        QCOMPARE(bytes["f32"] - bytes["f16"], 2 * kPixels);
        QCOMPARE(bytes["f16"] - bytes["u8"], kPixels);
        QCOMPARE(scores["f32"], scores["u8"]);
        QVERIFY(scores["f16"] != scores["u8"]); // rounded
        QVERIFY(std::abs(scores["f16"] - scores["u8"]) < 0.02 * scores["u8"]);
    }

    void sizeChangesThePictures()
    {
        const StudyState usual = studyOf({}), wider = studyOf({"size=39"});
        QCOMPARE(wider.models.front().preprocess.at("size"), std::string("39"));
        QVERIFY(differenceOf(usual.models.front(), wider.models.front()) != std::string());
    }

    void featuresOfAllPassesAreKept_data()
    {
        QTest::addColumn<QString>("type");
        QTest::addColumn<double>("tolerance");
        QTest::newRow("fp32") << "fp32" << 1e-9;
        QTest::newRow("fp16") << "fp16" << 2e-3;
    }
    void featuresOfAllPassesAreKept()
    {
        QFETCH(QString, type);
        QFETCH(double, tolerance);
        const StudyState study = studyOf({"store_features=" + type.toStdString()});
        const DType stored = type == "fp16" ? DType::F16 : DType::F32;
        const std::vector<float> features = storedFeatures(stored);
        constexpr std::size_t kTrial = 8 * 2 * 48;
        for (std::size_t k = 0; k < 3; ++k) {
            const auto trial = std::span(features).subspan(k * kTrial, kTrial);
            for (std::size_t image = 0; image < 2; ++image) {
                for (std::size_t t : {0, 1}) {
                    const double own = traceOf(trial, 2, 48, image, t == 0 ? 4 : 8);
                    const double score = study.models.front().scores.at("trace_pre")[t](k, image);
                    QVERIFY2(std::abs(own - score) <= tolerance * score,
                             qPrintable(QString("%1 %2").arg(own).arg(score)));
                }
            }
        }
    }

    void storedFeaturesOfMoreAreThoseOfAFreshRun()
    {
        const fs::path pictures = m_scratch / "pictures";
        writeDemoImages(pictures, 6, 42);
        const std::vector<std::string> list{"folder=" + pictures.string(), "store_features=fp16"};
        const auto with = [&](std::vector<std::string> more) {
            more.insert(more.begin(), list.begin(), list.end());
            return more;
        };
        studyOf(with({"trials=2", "passes=[4]"}));
        const RunFolder earlier = m_folder;
        studyOf(list);
        const std::vector<float> fresh = storedFeatures(DType::F16);
        studyOf(with({"reuse_from=" + earlier.root.string()}));
        QVERIFY(storedFeatures(DType::F16) == fresh);
        // What kept none is measured again.
        const RunFolder none = [&] {
            studyOf({"folder=" + pictures.string()});
            return m_folder;
        }();
        studyOf(with({"reuse_from=" + none.root.string()}));
        QVERIFY(storedFeatures(DType::F16) == fresh);
    }

    void featuresSurviveAStop()
    {
        const Config config = m_bench.configOf({"store_features=fp16"});
        m_folder = m_bench.newFolder();
        m_bench.run(m_folder, config);
        const std::vector<float> whole = storedFeatures(DType::F16);
        m_folder = m_bench.newFolder();
        bool isAsked = false;
        m_bench.run(m_folder, config, false, [&](RunController& controller) {
            if (!isAsked && controller.step() >= 2)
                isAsked = controller.requestStop();
        });
        QCOMPARE(m_bench.run(m_folder, config, true).code, ExitCode::Success);
        QVERIFY(storedFeatures(DType::F16) == whole);
    }

    /// Three images by three passes are nine of the sixteen sequences of a tile.
    void shortBatchesAreLeftShort()
    {
        test::Faults fixed, open;
        const auto run = [&](test::Faults& faults, const char* assignment) {
            m_bench.device = std::make_shared<test::FaultyDevice>(faults);
            const StudyState study = studyOf({assignment, "batch_images=3"});
            m_bench.device.reset();
            return study.models.front().scores.at("trace_pre").back().values;
        };
        const auto usual = run(fixed, "deterministic=true"),
                   other = run(open, "deterministic=false");
        qInfo("%lld rows of products, %lld without the empty ones",
              static_cast<long long>(fixed.rows), static_cast<long long>(open.rows));
        QVERIFY(open.rows < fixed.rows * 2 / 3);
        for (std::size_t i = 0; i < usual.size(); ++i)
            QVERIFY(std::abs(usual[i] - other[i]) < 1e-4 * usual[i]);
    }

    void productsAreThoseThatWereAskedFor_data()
    {
        QTest::addColumn<QString>("assignment");
        QTest::addColumn<bool>("usesTf32");
        QTest::addColumn<bool>("isTimed");
        QTest::addColumn<QString>("precision");
        QTest::newRow("as it is") << "precision=auto" << false << false << "fp32/fp32/fp64";
        QTest::newRow("tf32") << "precision=tf32" << true << false << "tf32/fp32/fp64";
        QTest::newRow("fast") << "deterministic=false" << false << true << "fp32/fp32/fp64";
    }
    void productsAreThoseThatWereAskedFor()
    {
        QFETCH(QString, assignment);
        QFETCH(bool, usesTf32);
        QFETCH(bool, isTimed);
        QFETCH(QString, precision);
        test::Faults faults;
        m_bench.device = std::make_shared<test::FaultyDevice>(faults);
        const StudyState study = studyOf({assignment.toStdString(), "trials=1", "passes=[4]"});
        m_bench.device.reset();
        QCOMPARE(faults.policy.usesTf32, usesTf32);
        QCOMPARE(faults.policy.isTimed, isTimed);
        QCOMPARE(study.models.front().precision, precision.toStdString());
    }

    void deviceWithoutTf32SaysSo()
    {
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome =
            m_bench.run(folder, m_bench.configOf({"precision=tf32", "trials=1", "passes=[4]"}));
        QVERIFY2(outcome.problems().find("has no tf32") != std::string::npos,
                 outcome.problems().c_str());
        QCOMPARE(readStudy(folder.root).models.front().precision, std::string("fp32/fp32/fp64"));
    }

    void weightsAreReadOnceForAllWaysOfAModel()
    {
        const auto towers = [&](const char* rates) {
            test::Faults faults;
            m_bench.device = std::make_shared<test::FaultyDevice>(faults);
            const StudyState study = studyOf({rates, "trials=1", "passes=[4]"});
            m_bench.device.reset();
            return std::pair(study.models.size(), faults.towers.load());
        };
        const auto [one, onceRead] = towers("compare_p=[0.1]");
        const auto [three, read] = towers("compare_p=[0.1, 0.2, 0.3]");
        QCOMPARE(one, std::size_t(1));
        QCOMPARE(three, std::size_t(3));
        QVERIFY(onceRead > 0);
        QCOMPARE(read, onceRead);
    }

    void otherRowsDoNotGoOn()
    {
        const RunFolder folder = m_bench.newFolder();
        bool isAsked = false;
        m_bench.run(folder, m_bench.configOf({}), false, [&](RunController& controller) {
            if (!isAsked && controller.step() >= 2)
                isAsked = controller.requestStop();
        });
        const RunOutcome outcome =
            m_bench.run(folder, m_bench.configOf({"deterministic=false"}), true);
        QCOMPARE(outcome.code, ExitCode::InputUnreadable);
        QVERIFY2(outcome.problems().find("deterministic was true and is false") !=
                     std::string::npos,
                 outcome.problems().c_str());
    }

    /// 24 passes of three trials: eight blocks of three, or two of twelve, per chunk.
    void blocksReachOverTrials()
    {
        const RunFolder small = m_bench.newFolder(), large = m_bench.newFolder();
        const RunOutcome threes = m_bench.run(small, m_bench.configOf({})),
                         twelves = m_bench.run(large, m_bench.configOf({"batch_passes=12"}));
        QCOMPARE(threes.steps, std::int64_t(3 * 8));
        QCOMPARE(twelves.steps, std::int64_t(3 * 2));
        QCOMPARE(differenceOf(readStudy(small.root).models.front(),
                              readStudy(large.root).models.front()),
                 std::string());
    }

    void leftoversOfAKillAreRemoved()
    {
        const RunFolder folder = m_bench.newFolder();
        const Config config = m_bench.configOf({});
        QCOMPARE(m_bench.run(folder, config).code, ExitCode::Success);
        const fs::path inStudy = folder.artifacts() / "study" / ".state.json.41-7.part",
                       inChunks = folder.checkpoints() / "chunks" / "tiny_clip" / "none" /
                                  ".chunk-0000000-2.safetensors.41-8.part",
                       ofOthers = m_bench.folder() / "cache" / ".x.mcpx.41-9.part";
        for (const fs::path& path : {inStudy, inChunks, ofOthers})
            std::ofstream(path) << "half";
        QCOMPARE(m_bench.run(folder, config, true).code, ExitCode::Success);
        QVERIFY(!fs::exists(inStudy) && !fs::exists(inChunks));
        QVERIFY(fs::exists(ofOthers)); // may be another run's, at this moment
        fs::last_write_time(ofOthers, fs::file_time_type::clock::now() - std::chrono::hours(2));
        QCOMPARE(m_bench.run(folder, config, true).code, ExitCode::Success);
        QVERIFY(!fs::exists(ofOthers));
    }
};

VERGENCE_TEST(TestMcKeys)
#include "tst_mc_keys.moc"
