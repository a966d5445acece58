#include <algorithm>
#include <numeric>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/artifact/npz_archive.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/rng.h"
#include "plugins/mc_embedding/statistics/cloud.h"
#include "plugins/mc_embedding/statistics/prediction.h"
#include "plugins/mc_embedding/statistics/ranks.h"
#include "plugins/mc_embedding/study/ambiguity.h"
#include "plugins/mc_embedding/study/resampled_ranks.h"
#include "tests/plugins/mc_embedding/statistics_support.h"
#include "tests/support/device_table.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using fixtures::normal;
using vergence::test::Scratch;
using Json = nlohmann::json;

namespace {

constexpr std::size_t kImages = 60;

/// 60 images judged between two classes; image i has margin 0.05 · (i + 1), so entropy falls with
/// i. The uncertainty falls too, but for every block of four images, within which it rises.
ModelStudy orderedStudy()
{
    ModelStudy study;
    study.label = study.tower.key = "clip_b32";
    study.experiments = {"exp5"};
    study.p = 0.01;
    study.trials = 2;
    study.passes = {4, 64};
    study.imagesDone = kImages;
    Ambiguity ambiguity;
    ambiguity.classes = {"cat", "dog"};
    ambiguity.templates = {"a photo of a {}", "a {}"};
    ambiguity.logits = Matrix(kImages, 2);
    Matrix largest(2, kImages);
    for (std::size_t i = 0; i < kImages; ++i) {
        const double margin = 0.05 * static_cast<double>(i + 1);
        ambiguity.logits(i, i % 2) = margin;
        ambiguity.margin.push_back(margin);
        const double p = 1 / (1 + std::exp(-margin));
        ambiguity.entropy.push_back(-p * std::log(p) - (1 - p) * std::log(1 - p));
        ambiguity.promptSensitivity.push_back(1e-3 * static_cast<double>(i));
        ambiguity.predicted.push_back(static_cast<int>(i % 2));
        ambiguity.truth.push_back(static_cast<int>(i % 2));
        const std::size_t place = i / 4 * 4 + (3 - i % 4);
        const double u = 1 - 1e-3 * static_cast<double>(place);
        largest(0, i) = u - 1e-5;
        largest(1, i) = u + 1e-5; // the mean over trials counts
    }
    study.ambiguity = ambiguity;
    study.scores["trace_pre"] = {Matrix(2, kImages, 1), largest};
    return study;
}

Exp5Options quick()
{
    Exp5Options options;
    options.resamples = 200;
    return options;
}

bool isNear(const Json& value, double wanted, double tolerance = 1e-12)
{
    return value.is_number() && std::abs(value.get<double>() - wanted) <= tolerance;
}

} // namespace

class TestMcExp5 : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void ranksOfResamplesAreThoseOfTheDrawnEntries()
    {
        const Rng rng(3);
        constexpr std::size_t n = 40;
        std::vector<double> x, y;
        std::vector<char> positives;
        for (std::size_t i = 0; i < n; ++i) {
            x.push_back(rng.bits(i) % 12); // with ties
            y.push_back(rng.bits(100 + i) % 30);
            positives.push_back(rng.bits(200 + i) % 3 == 0);
        }
        const ResampledRanks ranksX(x), ranksY(y);
        for (std::uint64_t round = 0; round < 20; ++round) {
            std::vector<std::size_t> drawn;
            std::vector<double> a, b;
            std::vector<char> flags;
            for (std::size_t i = 0; i < n; ++i) {
                drawn.push_back(rng.bits(1000 + 100 * round + i) % n);
                a.push_back(x[drawn.back()]);
                b.push_back(y[drawn.back()]);
                flags.push_back(positives[drawn.back()]);
            }
            const std::vector<int> counts = countsOf(drawn, n);
            QVERIFY(std::abs(resampledSpearman(ranksX, ranksY, counts).value -
                             spearman(a, b).value) < 1e-12);
            QVERIFY(std::abs(resampledAuroc(ranksX, positives, counts).value -
                             auroc(a, flags).value) < 1e-12);
        }
        std::vector<int> one(n, 0);
        one[3] = 40;
        QVERIFY(!resampledSpearman(ranksX, ranksY, one).exists());
        QVERIFY(!resampledAuroc(ranksX, positives, one).exists());
    }

    void metricsOfAKnownOrderAreKnown()
    {
        const Json summary = exp5Summary(orderedStudy(), quick());
        const Json& metrics = summary["metrics"];
        // A block of four, reversed: Σd² = 20; ρ = 1 − 6Σd²/(n(n² − 1)) with 15 blocks.
        const double rho = 1 - 6.0 * 15 * 20 / (60.0 * 3599);
        QVERIFY(isNear(metrics["spearman_entropy"], rho));
        QVERIFY(isNear(metrics["spearman_neg_margin"], rho));
        QVERIFY(isNear(metrics["spearman_prompt_sensitivity"], -rho));
        // The lowest tenth is the first six images; of the block 4 … 7 the two positives score
        // below the two others: 4 of 6 · 54 pairs are lost.
        QVERIFY(isNear(metrics["auroc_low_margin"], 1 - 4.0 / 324));
        QVERIFY(isNear(metrics["auroc_high_entropy"], 1 - 4.0 / 324));
        QVERIFY(isNear(summary["thresholds"]["low_margin"], 0.05 * 6.9));
        QVERIFY(summary["num_images"] == 60);
        QVERIFY(summary["num_classes"] == 2);
        QVERIFY(summary["passes"] == 64);
        QCOMPARE(summary["templates"].size(), std::size_t{2});
        QVERIFY(summary["sanity"]["passed"] == true);
    }

    void featuresAndPromptsGiveTheKnownCorrelation()
    {
        // From features on: image i leans from the text of "cat" towards that of "dog", half way at
        // the end, so its margin falls and its entropy rises with i.
        const auto device = vergence::test::devices().devices.front();
        const auto stream = device->createStream();
        const auto text = demoTextModel("tiny_clip", 32, 42);
        const Matrix ends = normalisedRows(text->encode(*stream, {"a cat", "a dog"}));
        Matrix features(kImages, ends.columns), scores(1, kImages);
        StudyClasses classes{{"cat", "dog"}, {}, {}};
        for (std::size_t i = 0; i < kImages; ++i) {
            const double share = 0.4 + 0.1 * static_cast<double>(i) / kImages;
            for (std::size_t d = 0; d < ends.columns; ++d)
                features(i, d) = 7 * ((1 - share) * ends(0, d) + share * ends(1, d));
            classes.truth.push_back(i < 45 ? 0 : 1);
            scores(0, i) = static_cast<double>(i / 4 * 4 + (3 - i % 4)); // blocks of four reversed
        }
        ModelStudy study = orderedStudy();
        study.ambiguity = computeAmbiguity(*stream, *text, features, classes, {{"a {}"}});
        study.scores["trace_pre"] = {scores};
        const Json summary = exp5Summary(study, quick());
        const double rho = 1 - 6.0 * 15 * 20 / (60.0 * 3599);
        QVERIFY(isNear(summary["metrics"]["spearman_entropy"], rho));
        QVERIFY(isNear(summary["metrics"]["spearman_neg_margin"], rho));
        QVERIFY(isNear(summary["accuracy"], 45.0 / 60)); // all are called cats
        // 45 and what follows are wrong; 45 … 47 share their block with 44: 3 pairs lost.
        QVERIFY(isNear(summary["metrics"]["auroc_error"], 1 - 3.0 / (45 * 15)));
    }

    void intervalsHoldTheirFigureAndRepeat()
    {
        // The regular order has no scatter of its own; some is added.
        ModelStudy study = orderedStudy();
        const Rng rng(23);
        for (std::size_t i = 0; i < kImages; ++i)
            study.scores["trace_pre"].back()(0, i) += 0.1 * rng.uniform(i);
        const Json summary = exp5Summary(study, quick());
        for (const char* name : {"spearman_neg_margin", "spearman_entropy", "auroc_low_margin",
                                 "spearman_prompt_sensitivity", "auroc_high_entropy"}) {
            const Json& interval = summary["metrics"][std::string(name) + "_ci"];
            const double value = summary["metrics"][name];
            QVERIFY2(interval[0] <= value && value <= interval[1], name);
            QVERIFY2(interval[0] < interval[1], name);
        }
        QVERIFY(exp5Summary(study, quick()) == summary);
        Exp5Options other = quick();
        other.seed = 7;
        QVERIFY(exp5Summary(study, other)["metrics"] != summary["metrics"]);
    }

    void widthOfAnIntervalIsThatOfTheLaw()
    {
        // Bivariate normal with correlation r: the standard error of Spearman's ρ is near
        // (1 − ρ²)/√n · √(1 + ρ²/2) (Bonett and Wright, 2000); 500 resamples know a quantile of
        // the distribution to about 7 %, and one sample of 400 the error to as much again.
        constexpr std::size_t n = 400;
        constexpr double r = 0.5;
        ModelStudy study;
        study.imagesDone = n;
        study.passes = {16};
        Ambiguity ambiguity;
        ambiguity.classes = {"a", "b"};
        ambiguity.logits = Matrix(n, 2);
        Matrix u(1, n);
        const Rng rng(11);
        for (std::size_t i = 0; i < n; ++i) {
            const double x = normal(rng, 2 * i),
                         y = r * x + std::sqrt(1 - r * r) * normal(rng, 2 * i + 1);
            u(0, i) = x;
            ambiguity.margin.push_back(-y);
            ambiguity.entropy.push_back(y);
            ambiguity.promptSensitivity.push_back(std::nan(""));
            ambiguity.predicted.push_back(0);
            ambiguity.truth.push_back(-1);
        }
        study.ambiguity = ambiguity;
        study.scores["trace_pre"] = {u};
        Exp5Options options;
        options.resamples = 500;
        const Json metrics = exp5Summary(study, options)["metrics"];
        const double expected = 6 / std::acos(-1.0) * std::asin(r / 2); // of the population
        const double error =
            (1 - expected * expected) / std::sqrt(400.0) * std::sqrt(1 + expected * expected / 2);
        QVERIFY(isNear(metrics["spearman_entropy"], expected, 3 * error));
        const Json& interval = metrics["spearman_entropy_ci"];
        const double width = interval[1].get<double>() - interval[0].get<double>();
        QVERIFY2(std::abs(width / (2 * 1.96 * error) - 1) < 0.2,
                 qPrintable(QString::number(width)));
    }

    void errorsAndAccuracyCountLabelledImages()
    {
        ModelStudy study = orderedStudy();
        for (std::size_t i = 0; i < kImages; ++i) {
            if (i < 6)
                study.ambiguity->truth[i] = 1 - study.ambiguity->predicted[i]; // wrong
            else if (i >= 40)
                study.ambiguity->truth[i] = -1;
        }
        const Json summary = exp5Summary(study, quick());
        QVERIFY(summary["num_labelled"] == 40);
        QVERIFY(isNear(summary["accuracy"], 34.0 / 40));
        QVERIFY(summary["accuracy_ci"][0] < 34.0 / 40 && summary["accuracy_ci"][1] > 34.0 / 40);
        QVERIFY(isNear(summary["metrics"]["auroc_error"], 1 - 4.0 / (6 * 34)));
        QCOMPARE(summary["conformal"].size(), std::size_t{3});
    }

    void whatIsMissingHasAReason()
    {
        ModelStudy study = orderedStudy();
        std::fill(study.ambiguity->truth.begin(), study.ambiguity->truth.end(), -1);
        study.ambiguity->promptSensitivity.assign(kImages, std::nan(""));
        Json summary = exp5Summary(study, quick());
        QVERIFY(summary["accuracy"].is_null() && summary["accuracy_ci"].is_null());
        QVERIFY(summary["accuracy_reason"] == "no image has a label");
        QVERIFY(summary["metrics"]["auroc_error"].is_null());
        QVERIFY(summary["metrics"]["spearman_prompt_sensitivity"].is_null());
        QVERIFY(summary["metrics"]["spearman_prompt_sensitivity_reason"] == "needs two templates");
        QVERIFY(summary["conformal"].empty());
        // An uncertainty that is the same everywhere has no rank correlation.
        study.scores["trace_pre"].back() = Matrix(2, kImages, 0.5);
        summary = exp5Summary(study, quick());
        QVERIFY(summary["metrics"]["spearman_entropy"].is_null());
        QVERIFY(!summary["metrics"]["spearman_entropy_reason"].get<std::string>().empty());
        QVERIFY(isNear(summary["metrics"]["auroc_low_margin"], 0.5));
        QVERIFY(summary["sanity"]["passed"].is_null());
        study.ambiguity.reset();
        VERGENCE_THROWS(ContractError, "no zero-shot judgement", exp5Summary(study, quick()));
        study = orderedStudy();
        study.scores.clear();
        VERGENCE_THROWS(ContractError, "no score trace_pre", exp5Summary(study, quick()));
    }

    void imagesThatAreNotMeasuredDoNotCount()
    {
        ModelStudy study = orderedStudy();
        study.imagesDone = 40;
        study.scores["trace_pre"].back()(1, 3) = std::nan("");
        const Json summary = exp5Summary(study, quick());
        QVERIFY(summary["num_images"] == 39);
        const auto u = uncertaintyOf(study, "trace_pre");
        QCOMPARE(u.size(), kImages);
        QVERIFY(std::isnan(u[3]) && std::isnan(u[40]) && u[39] > 0);
    }

    void gateFailsWhereScoresMeanNothing()
    {
        ModelStudy study = orderedStudy();
        const Rng rng(5);
        for (std::size_t i = 0; i < kImages; ++i)
            study.scores["trace_pre"].back()(0, i) = rng.uniform(i);
        QVERIFY(exp5Summary(study, quick())["sanity"]["passed"] == false);
    }

    void setsCoverWhatTheyPromise()
    {
        // Labels drawn from the very probabilities: split conformal covers at least its level, here
        // within 3 standard errors of 20 halves that share 600 images.
        constexpr std::size_t n = 600, classes = 10;
        ModelStudy study;
        study.imagesDone = n;
        study.passes = {16};
        Ambiguity ambiguity;
        for (std::size_t c = 0; c < classes; ++c)
            ambiguity.classes.push_back(std::to_string(c));
        ambiguity.templates = {"{}"};
        ambiguity.logits = Matrix(n, classes);
        Matrix u(1, n);
        const Rng rng(17);
        for (std::size_t i = 0; i < n; ++i) {
            std::vector<double> logits;
            for (std::size_t c = 0; c < classes; ++c)
                logits.push_back(2 * normal(rng, i * classes + c));
            std::copy(logits.begin(), logits.end(), &ambiguity.logits(i, 0));
            const auto p = softmax(logits);
            double drawn = rng.uniform(1'000'000 + i);
            int label = 0;
            for (; label + 1 < static_cast<int>(classes) &&
                   drawn > p[static_cast<std::size_t>(label)];
                 ++label)
                drawn -= p[static_cast<std::size_t>(label)];
            ambiguity.truth.push_back(label);
            ambiguity.predicted.push_back(
                static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
            ambiguity.margin.push_back(margin(logits));
            ambiguity.entropy.push_back(entropy(p));
            ambiguity.promptSensitivity.push_back(std::nan(""));
            u(0, i) = ambiguity.entropy.back();
        }
        study.ambiguity = ambiguity;
        study.scores["trace_pre"] = {u};
        const Json summary = exp5Summary(study, quick());
        QVERIFY(isNear(summary["metrics"]["spearman_entropy"], 1)); // the score is the entropy
        QVERIFY(isNear(summary["metrics"]["auroc_high_entropy"], 1));
        QCOMPARE(summary["conformal"].size(), std::size_t{3});
        double before = 0;
        for (const Json& level : summary["conformal"]) {
            const double wanted = level["level"], got = level["coverage"];
            QVERIFY2(got > wanted - 3 * std::sqrt(wanted * (1 - wanted) / n),
                     qPrintable(QString::number(got)));
            QVERIFY(level["mean_size"] > before);
            before = level["mean_size"];
            QVERIFY(isNear(level["size_per_class"], before / classes));
            const Json& sizes = level["size_by_quartile"];
            QVERIFY(sizes[0] < sizes[3]); // uncertain images have larger sets
        }
    }

    void arraysComeBack()
    {
        ModelStudy study = orderedStudy();
        study.imagesDone = 40;
        ImageSet images;
        for (std::size_t i = 0; i < kImages; ++i)
            images.images.push_back({"é/" + std::to_string(i) + ".png", "é", {}, 0});
        const Scratch folder;
        const auto path = folder / "exp5_clip_b32.npz";
        writeExp5Arrays(path, study, images);
        const NpzArchive arrays(path);
        QCOMPARE(arrays.names().size(), std::size_t{9});
        QCOMPARE(arrays.texts("paths").size(), std::size_t{40});
        QCOMPARE(arrays.texts("paths")[39], std::string("é/39.png"));
        QCOMPARE(arrays.texts("classes"), (std::vector<std::string>{"cat", "dog"}));
        QCOMPARE(arrays.shape("logits"), (std::vector<std::int64_t>{40, 2}));
        const auto logits = arrays.numbers("logits");
        QCOMPARE(logits[2 * 39 + 1], study.ambiguity->logits(39, 1));
        const auto u = uncertaintyOf(study, "trace_pre");
        for (const char* name :
             {"uncertainty", "margin", "entropy", "prompt_sensitivity", "gt_labels", "pred_labels"})
            QCOMPARE(arrays.shape(name), std::vector<std::int64_t>{40});
        QCOMPARE(arrays.numbers("uncertainty")[7], u[7]);
        QCOMPARE(arrays.numbers("margin")[7], study.ambiguity->margin[7]);
        QCOMPARE(arrays.numbers("pred_labels")[7], 1.0);
        // Equal studies give equal bytes.
        const std::string first = readFile(path);
        writeExp5Arrays(path, study, images);
        QVERIFY(readFile(path) == first);
    }

    void modelsWithoutAJudgementAreSkippedWithTheReason()
    {
        StudyState state;
        state.skippedModels = {{"siglip2_g16", "no folder"}};
        state.models = {orderedStudy(), orderedStudy(), orderedStudy()};
        state.models[1].label = "toy_linear";
        state.models[1].ambiguity.reset();
        state.models[2].label = "clip_l14";
        state.models[2].scores.clear();
        const Json overall = exp5Overall(state, quick());
        QCOMPARE(overall["results"].size(), std::size_t{1});
        QVERIFY(overall["results"].contains("clip_b32"));
        QVERIFY(overall["skipped"]["siglip2_g16"] == "no folder");
        QVERIFY(overall["skipped"]["toy_linear"] == "no text features");
        QVERIFY(overall["skipped"]["clip_l14"] == "no score trace_pre");
    }

    void overallHasEveryStudyThatIsJudgedUnderItsLabel()
    {
        StudyState state;
        state.models.assign(4, orderedStudy());
        state.models[0].experiments = {"exp0"}; // judged apart
        state.models[0].ambiguity.reset();
        state.models[1].label = "clip_b32-exp5";
        state.models[2].label = "clip_b32-mlp_only-exp5";
        state.models[2].experiments = {"conformal"};
        state.models[2].p = 0.1;
        state.models[3].label = "clip_l14"; // not in exp5_models, but exp6 needs its judgement
        state.models[3].experiments = {"exp0", "exp6"};
        const Json overall = exp5Overall(state, quick());
        QCOMPARE(overall["results"].size(), std::size_t{2});
        QVERIFY(isNear(overall["results"]["clip_b32-exp5"]["dropout"], 0.01));
        QVERIFY(isNear(overall["results"]["clip_b32-mlp_only-exp5"]["dropout"], 0.1));
        QVERIFY2(overall["skipped"].empty(), overall["skipped"].dump().c_str());
    }
};

VERGENCE_TEST(TestMcExp5)
#include "tst_mc_exp5.moc"
