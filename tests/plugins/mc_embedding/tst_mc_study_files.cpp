#include <algorithm>
#include <cmath>

#include <QTest>

#include "core/artifact/npz_archive.h"
#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/ranks.h"
#include "plugins/mc_embedding/statistics/reliability.h"
#include "plugins/mc_embedding/study/chunk_result.h"
#include "plugins/mc_embedding/study/later_results.h"
#include "plugins/mc_embedding/study/study_files.h"
#include "plugins/mc_embedding/study/study_numbers.h"
#include "plugins/mc_embedding/study/work_meter.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

ChunkResult someChunk()
{
    ChunkResult chunk;
    chunk.first = 4;
    chunk.images = 2;
    chunk.dimensions = 3;
    chunk.trials = 2;
    chunk.passes = {4, 8};
    chunk.deterministic = {1, 2, 3, 4, 5, 6};
    chunk.scores["trace_pre"] = {1, 2, 3, 4, 5, 6, 7, 8};
    chunk.moments.assign(2 * 4 * 2 * 3, 0.5);
    return chunk;
}

const std::vector<std::string> kKeys{"a", "b", "c", "d", "e", "f"};

} // namespace

/// Files of a study and the numbers in them.
class TestMcStudyFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Arrays as the original wrote them (V26): reading them gives the reliability of what was
    /// written.
    void publishedTrialsAreRead()
    {
        const test::Scratch scratch;
        for (const int t : {64, 4, 16}) {
            std::vector<double> pre, post;
            for (int i = 0; i < 24; ++i) {
                pre.push_back(i % 6 + 0.01 * (i / 6) / t);
                post.push_back(1e-4 * (i % 6) + 1e-5 * ((7 * i) % 5));
            }
            NpzWriter writer(scratch / ("exp0_trials_T" + std::to_string(t) + ".npz"));
            writer.add("paths", {"a.png", "b.png", "ü.png", "d.png", "e.png", "f.png"});
            writer.add("trial_pre", std::span<const double>(pre), {4, 6});
            writer.add("trial_post", std::span<const double>(post), {4, 6});
            writer.commit();
        }
        const ModelStudy study = readPublishedTrials(scratch.path(), "clip_b32");
        QCOMPARE(study.passes, (std::vector<int>{4, 16, 64}));
        QCOMPARE(study.trials, 4);
        QCOMPARE(study.imagesDone, std::size_t(6));
        QCOMPARE(study.tower.feature, Index(512));
        QCOMPARE(study.scores.at("trace_pre")[2](3, 5), 5 + 0.01 * 3 / 64);
        const Reliability r = reliability(study.scores.at("trace_pre")[2], 64);
        QCOMPARE(r.spearmanMedian.value, 1.0);
        QVERIFY(r.icc.value > 0.999);
        QCOMPARE(r.status, std::string("usable"));
    }

    void publishedTrialsThatAreNotThereAreNamed()
    {
        const test::Scratch scratch;
        VERGENCE_THROWS(InputError, "exp0_trials_T",
                        readPublishedTrials(scratch.path(), "clip_b32"));
    }

    void chunkIsFoundAgain()
    {
        const test::Scratch scratch;
        const ChunkStore store(scratch / "own", {}, "f1", kKeys);
        store.write(someChunk());
        const auto found = store.find(4, 2);
        QVERIFY(found);
        QCOMPARE(found->scores.at("trace_pre"), someChunk().scores.at("trace_pre"));
        QCOMPARE(found->moments, someChunk().moments);
        QCOMPARE(found->deterministic, someChunk().deterministic);
        QVERIFY(!store.find(3, 3));
        QVERIFY(!store.find(4, 1));
        const ChunkStore later(scratch / "other", {scratch / "own"}, "f1", kKeys);
        QVERIFY(later.find(4, 2));
    }

    void chunkOfOtherSettingsOrImagesIsNot()
    {
        const test::Scratch scratch;
        ChunkStore(scratch / "own", {}, "f1", kKeys).write(someChunk());
        QVERIFY(!ChunkStore(scratch / "own", {}, "f2", kKeys).find(4, 2));
        auto keys = kKeys;
        keys[5] = "g";
        QVERIFY(!ChunkStore(scratch / "own", {}, "f1", keys).find(4, 2));
        keys = kKeys;
        keys[0] = "g"; // not of this chunk
        QVERIFY(ChunkStore(scratch / "own", {}, "f1", keys).find(4, 2));
    }

    void degradedShareCountsHigherScores()
    {
        ModelStudy study;
        study.passes = {4};
        study.scores["trace_pre"] = {Matrix(2, 4)};
        study.scores["trace_pre"][0].values = {1, 2, 3, 4, 1, 2, 3, 4};
        DegradedScores degraded{"blur5", {Matrix(2, 4)}};
        degraded.trace[0].values = {2, 3, 2, std::nan(""), 2, 3, 2, 1};
        const DegradationOutcome outcome = degradationOutcome(study, degraded, 0);
        QCOMPARE(outcome.images, std::size_t(3));
        QCOMPARE(outcome.fractionHigher, 2.0 / 3);
        QCOMPARE(outcome.meanClean, 2.0);
    }

    void errorOfTheMeanIsThatOfTrials()
    {
        Matrix scores(3, 1);
        scores.values = {1, 2, 3};
        QCOMPARE(meansOverTrials(scores)[0], 2.0);
        QVERIFY(std::abs(errorsOverTrials(scores)[0] - std::sqrt(1.0 / 3)) < 1e-15);
    }

    void meterTellsRateAndTimeLeft()
    {
        WorkMeter meter;
        meter.setTotal(100);
        QCOMPARE(meter.share(), 0.0);
        QVERIFY(std::isnan(meter.secondsLeft()));
        meter.skip(20);
        for (int i = 0; i < 20; ++i)
            meter.add(2, 0.5, 4, 0.5);
        QCOMPARE(meter.share(), 0.6);
        QVERIFY(std::abs(meter.flopPerSecond() - 1) < 1e-9); // of what was computed
        QVERIFY(std::abs(meter.imagesPerSecond() - 8) < 1e-9);
        QVERIFY(std::abs(meter.secondsLeft() - 10) < 1e-9);
    }

    /// 40 images of two classes, whose margin grows.
    void ambiguousShareIsThatOfTheKey()
    {
        StudyState state;
        ModelStudy study;
        study.deterministic = Matrix(40, 3);
        Ambiguity ambiguity;
        ambiguity.classes = {"a", "b"};
        Matrix trace(2, 40);
        for (std::size_t i = 0; i < 40; ++i) {
            for (std::size_t d = 0; d < 3; ++d)
                study.deterministic(i, d) = std::sin(1.0 + static_cast<double>(i * 3 + d));
            ambiguity.margin.push_back(static_cast<double>(i));
            ambiguity.entropy.push_back(-static_cast<double>(i));
            ambiguity.promptSensitivity.push_back(1);
            ambiguity.predicted.push_back(i % 2);
            ambiguity.truth.push_back(i % 2);
            trace(0, i) = trace(1, i) = study.deterministic(i, 0);
        }
        for (const char* name : {"jpeg80", "jpeg60", "jpeg40", "jpeg20", "blur1", "blur2", "blur4",
                                 "occlude0.1", "occlude0.25"}) {
            study.degradedFeatures[name] = study.deterministic;
            study.degradedFeatures[name](0, 0) += 1;
        }
        study.passes = {4};
        study.scores["trace_pre"] = {trace};
        study.ambiguity = ambiguity;
        std::vector<char> isLow(40, 0);
        std::fill_n(isLow.begin(), 12, 1); // 0 to 11 are at most 11.7
        const double expected = auroc(meansOverTrials(trace), isLow).value;
        for (const auto& [experiment, score] :
             {std::pair("exp6", "lambda_1"), std::pair("exp7", "dropout")}) {
            const auto areaOf = [&] {
                const nlohmann::json summary = laterSummary(state, study, experiment);
                const auto& quality = std::string(experiment) == "exp6"
                                          ? summary[score]["prediction"]
                                          : summary["prediction"][score];
                return quality["auroc_low_margin"].get<double>();
            };
            state.settings.clear();
            const double usual = areaOf();
            state.settings["quantile"] = "0.1";
            QCOMPARE(areaOf(), usual);
            state.settings["quantile"] = "0.3";
            QVERIFY2(areaOf() != usual, experiment);
            if (std::string(experiment) == "exp7")
                QCOMPARE(areaOf(), expected);
        }
    }

    void intervalOfTextsFollowsAlpha()
    {
        ModelStudy study;
        study.passes = {16};
        study.alpha = 0.32;
        TextScores texts;
        texts.trace = Matrix(3, 10);
        for (std::size_t i = 0; i < 10; ++i) {
            texts.prompts.push_back("a red apple");
            texts.styles.push_back("label");
            for (std::size_t k = 0; k < 3; ++k)
                texts.trace(k, i) =
                    static_cast<double>(i) + std::sin(static_cast<double>(k + 3 * i));
        }
        study.texts = texts;
        const nlohmann::json ci = laterSummary({}, study, "exp10")["trace"]["icc_ci"];
        const Reliability expected = reliability(texts.trace, 16, 0.32);
        QCOMPARE(ci[0].get<double>(), expected.iccLow.value);
        QCOMPARE(ci[1].get<double>(), expected.iccHigh.value);
    }
};

VERGENCE_TEST(TestMcStudyFiles)
#include "tst_mc_study_files.moc"
