#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <QTest>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/mc_embedding/study/experiments/aleatoric.h"
#include "plugins/mc_embedding/study/experiments/leverage.h"
#include "plugins/mc_embedding/study/experiments/semantic_space.h"
#include "plugins/mc_embedding/study/experiments/study_inputs.h"
#include "tests/plugins/mc_embedding/statistics_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using fixtures::matrixOf;
using fixtures::normal;

namespace {

Matrix normals(std::size_t rows, std::size_t columns, std::uint64_t stream)
{
    Matrix matrix(rows, columns);
    for (std::size_t i = 0; i < matrix.values.size(); ++i)
        matrix.values[i] = normal(Rng(7, stream), i);
    return matrix;
}

} // namespace

class TestMcFeatureExperiments : public QObject {
    Q_OBJECT
private Q_SLOTS:
    // Exp 6

    void leverageUsesTheFullInverse()
    {
        // X = [[1, 1], [0, 1]], λ = 1: (XᵀX + I)⁻¹ = [[3, −1], [−1, 2]] / 5.
        const Matrix x = matrixOf(2, {1, 1, 0, 1});
        const auto result = linearLeverage(x, matrixOf(3, {1, 0, 0, 1, 1, 1}));
        QVERIFY(std::abs(result.scores[0] - 0.6) < 1e-14);
        QVERIFY(std::abs(result.scores[1] - 0.4) < 1e-14);
        // 3/5 + 2/5 − 2/5; the diagonal of the inverse alone would say 1.
        QVERIFY(std::abs(result.scores[2] - 0.6) < 1e-14);
        // tr((XᵀX + I)⁻¹XᵀX) = 2 − tr of the inverse.
        QVERIFY(std::abs(result.effectiveParameters - 1) < 1e-14);
        QVERIFY(result.lambda == 1 && result.noiseVariance == 1 && result.secondsPerImage >= 0);
    }

    void moreDimensionsThanImagesAreAllowed()
    {
        const Matrix x = matrixOf(1, {3, 0, 4});
        const auto result = linearLeverage(x, matrixOf(2, {3, 0, 4, 0, 2, 0}), 5);
        QVERIFY(std::abs(result.scores[0] - 25.0 / 30) < 1e-12);
        QVERIFY(std::abs(result.scores[1] - 4.0 / 5) < 1e-12); // a direction never seen: ‖x‖²/λ
        QVERIFY(toJson(result)["lambda"] == 5.0);
        VERGENCE_THROWS(ContractError, "above 0", linearLeverage(x, x, 0));
        VERGENCE_THROWS(ContractError, "one length", linearLeverage(x, matrixOf(1, {1, 2})));
    }

    void evidenceFindsTheNoiseAndThePrior()
    {
        // Y = XW + 0.5 n with weights of variance 4: λ = 0.25 / 4.
        constexpr std::size_t kImages = 600, kDimensions = 40, kOutputs = 30;
        const Matrix x = normals(kImages, kDimensions, 1), w = normals(kDimensions, kOutputs, 2),
                     n = normals(kImages, kOutputs, 3);
        Matrix y(kImages, kOutputs);
        for (std::size_t i = 0; i < kImages; ++i) {
            for (std::size_t c = 0; c < kOutputs; ++c) {
                y(i, c) = 0.5 * n(i, c);
                for (std::size_t d = 0; d < kDimensions; ++d)
                    y(i, c) += x(i, d) * 2 * w(d, c);
            }
        }
        const Evidence evidence = ridgeEvidence(x, y);
        QVERIFY(evidence.converged);
        // 16,800 degrees of freedom and 1,200 weights: relative errors of 1.1 % and 4 %.
        QVERIFY(std::abs(evidence.noiseVariance - 0.25) < 0.04 * 0.25);
        QVERIFY(std::abs(evidence.lambda - 0.0625) < 0.15 * 0.0625);
        const auto scored = linearLeverage(x, x, evidence);
        const auto plain = linearLeverage(x, x, evidence.lambda);
        for (std::size_t i = 0; i < 5; ++i)
            QVERIFY(std::abs(scored.scores[i] - evidence.noiseVariance * plain.scores[i]) < 1e-12);
    }

    void evidenceOfNoiseShrinksTheWeights()
    {
        const Evidence evidence = ridgeEvidence(normals(300, 20, 4), normals(300, 5, 5));
        QVERIFY(evidence.lambda > 50); // 0.06 in the case above
        QVERIFY(std::abs(evidence.noiseVariance - 1) < 0.15);
        VERGENCE_THROWS(ContractError, "every image", ridgeEvidence(Matrix(3, 2), Matrix(4, 1)));
    }

    // Exp 7

    void spreadOverVariantsIsTheUnbiasedVariance()
    {
        QCOMPARE(aleatoricVariants().size(), std::size_t{10});
        QCOMPARE(std::count(aleatoricVariants().begin(), aleatoricVariants().end(), "none"), 1);
        const Matrix variants[] = {matrixOf(2, {1, 10, 5, 5}), matrixOf(2, {2, 10, 5, 5}),
                                   matrixOf(2, {6, 10, 5, 5})};
        const double dropout[] = {2, 1};
        const auto result = aleatoricStudy(variants, dropout);
        QCOMPARE(result.aleatoric[0], 7.0 / 2); // variance 7 of 1 2 6, over two dimensions
        QCOMPARE(result.aleatoric[1], 0.0);
        QCOMPARE(result.correlation.value, 1.0);
        QVERIFY(!result.ofSum && toJson(result)["spearman_dropout"] == result.correlation.value);
        VERGENCE_THROWS(ContractError, "two variants", aleatoricStudy({variants, 1}, dropout));
    }

    void sumsOfScoresForetellAndProductsDoNot()
    {
        // Ambiguity is the sum of two independent parts, each measured by one score.
        constexpr std::size_t kImages = 400;
        std::vector<Matrix> variants(2, Matrix(kImages, 1));
        std::vector<double> dropout(kImages);
        PredictionTargets targets;
        for (std::size_t i = 0; i < kImages; ++i) {
            const double a = std::abs(normal(Rng(7, 10), i)), b = normal(Rng(7, 11), i);
            variants[1](i, 0) = std::sqrt(a);
            dropout[i] = b;
            const double ambiguity = a / 0.6 + b;
            targets.margin.push_back(-ambiguity);
            targets.entropy.push_back(ambiguity);
            targets.promptSensitivity.push_back(ambiguity);
            targets.isWrong.push_back(ambiguity > 2);
        }
        const auto result = aleatoricStudy(variants, dropout, &targets);
        QVERIFY(result.ofSum->rhoMargin.value > 0.98);
        QVERIFY(result.ofSum->rhoMargin.value > result.ofAleatoric->rhoMargin.value + 0.1);
        QVERIFY(result.ofSum->rhoMargin.value > result.ofDropout->rhoMargin.value + 0.1);
        QVERIFY(std::abs(result.ofProduct->rhoMargin.value) < 0.5);
        QVERIFY(result.ofSum->aurocError.value > 0.98 && result.ofSum->aurocLowMargin.value > 0.98);
        QVERIFY(toJson(result)["prediction"].contains("z_product_not_recommended"));
    }

    void zScoresOfAConstantAreZero()
    {
        QVERIFY((zScores(std::vector<double>{0.1, 0.1, 0.1}) == std::vector<double>{0, 0, 0}));
        const auto z = zScores(std::vector<double>{1, 2, 3});
        QVERIFY((z == std::vector<double>{-1, 0, 1}));
        QVERIFY(zScores({}).empty());
    }

    // Exp 8

    void spreadInsideTheSpanIsOne()
    {
        // Three texts that differ in the first two dimensions only.
        const Matrix texts = matrixOf(3, {1, 0, 0, 1, 0, 1, 0, 1, -1, 0, 0, 1});
        Matrix inside(50, 4), outside(50, 4), both(4000, 4);
        for (std::size_t t = 0; t < 50; ++t) {
            inside(t, 0) = normal(Rng(7, 20), t);
            inside(t, 1) = normal(Rng(7, 21), t);
            inside(t, 3) = outside(t, 3) = 5;
            outside(t, 2) = normal(Rng(7, 22), t);
        }
        for (std::size_t t = 0; t < 4000 * 4; ++t)
            both.values[t] = normal(Rng(7, 23), t);
        const Matrix clouds[] = {inside, outside, both};
        const auto result = semanticSpace(texts, clouds, 100);
        QCOMPARE(result.rank, std::size_t{2});
        QCOMPARE(result.nullShare, 0.5);
        QVERIFY(std::abs(result.insideShare[0] - 1) < 1e-12);
        QVERIFY(std::abs(result.insideShare[1]) < 1e-12);
        QVERIFY(std::abs(result.insideShare[2] - result.nullShare) <
                0.02); // no direction preferred
        QCOMPARE(result.top.size(), std::size_t{3});
        QCOMPARE(result.top[0], std::size_t{2});
    }

    void similaritiesAreThoseOfDirections()
    {
        // Two passes on the axes; texts are the axes with other lengths.
        const Matrix texts = matrixOf(2, {5, 0, 0, 0.1}), cloud = matrixOf(2, {2, 0, 0, 7});
        const auto result = semanticSpace(texts, {&cloud, 1}, 100);
        QVERIFY(std::abs(result.similarityVariance[0] - 0.5) < 1e-14); // of 1 0 and of 0 1
        QVERIFY(std::abs(result.promptGap[0]) < 1e-14);
        QVERIFY(std::abs(result.promptEntropy[0] - std::log(2.0)) < 1e-12);
        const nlohmann::json json = toJson(result);
        QVERIFY(json["rank"] == 1 && json["null_share"] == 0.5);
        VERGENCE_THROWS(ContractError, "two prompts",
                        semanticSpace(matrixOf(1, {1, 0}), {&cloud, 1}, 1));
        const Matrix still = matrixOf(2, {1, 1, 1, 1});
        QCOMPARE(semanticSpace(texts, {&still, 1}, 1).insideShare[0], 0.0);
    }

    // Of a measured model

    void unknownTargetsHaveAReason()
    {
        PredictionTargets targets;
        targets.margin = {3, 2, 1};
        targets.entropy = {1, 2, 3};
        targets.promptSensitivity.assign(3, std::numeric_limits<double>::quiet_NaN());
        const auto quality = predictionQuality(std::vector<double>{1, 2, 3}, targets);
        QVERIFY(std::abs(quality.rhoMargin.value - 1) < 1e-12);
        QVERIFY(!quality.rhoPrompt.exists() && !quality.aurocError.exists());
        const nlohmann::json json = toJson(quality);
        QVERIFY(json["spearman_prompt_sensitivity"].is_null());
        QCOMPARE(json["spearman_prompt_sensitivity_reason"].get<std::string>(),
                 std::string("not known for every image"));
        targets.margin[0] = std::numeric_limits<double>::infinity();
        VERGENCE_THROWS(ContractError, "finite",
                        predictionQuality(std::vector<double>{1, 2, 3}, targets));
    }

    void aStudyGivesItsSummaries()
    {
        ModelStudy study;
        study.trials = 2;
        study.passes = {4, 16};
        study.deterministic = normals(30, 6, 30);
        for (const std::size_t image : {7, 3}) {
            Cloud cloud{image, normals(32, 6, 31 + image)};
            for (std::size_t t = 0; t < 32; ++t) {
                for (std::size_t d = 0; d < 6; ++d)
                    cloud.passes(t, d) =
                        study.deterministic(image, d) + 0.01 * cloud.passes(t, d) * double(image);
            }
            study.clouds.push_back(std::move(cloud));
        }
        const nlohmann::json convergence = meanConvergenceSummary(study);
        QCOMPARE(convergence["num_images"].get<int>(), 2);
        // tr S = 6 · (0.01 · image)², here 6e-4 · (49 + 9) / 2, from 2 · 2 · 15 · 6 squares.
        QVERIFY(std::abs(convergence["trace_sum"].get<double>() - 0.0174) < 0.004);

        const nlohmann::json semantic = semanticSpaceSummary(study, normals(5, 6, 40), 10);
        QCOMPARE(semantic["rank"].get<int>(), 4);
        QCOMPARE(semantic["top_images"].size(), std::size_t{2});
        QVERIFY(semantic["top_images"][0] == 7 || semantic["top_images"][0] == 3);

        QVERIFY(syntheticNaturalSummary(study).contains("reason"));
        study.synthetic = SyntheticScores{{"solid", "noise"}, matrixOf(2, {1, 5, 1, 5})};
        const nlohmann::json two = syntheticNaturalSummary(study);
        QVERIFY(two["is_expected_order"].is_null());
        QCOMPARE(two["is_expected_order_reason"].get<std::string>(),
                 std::string("needs pictures of gradient, natural"));
        study.synthetic = SyntheticScores{{"solid", "gradient", "noise", "natural"},
                                          matrixOf(2, {1, 2, 5, 6, 1, 2, 5, 6})};
        QVERIFY(syntheticNaturalSummary(study)["is_expected_order"] == true);
    }

    void leverageOfAStudyIsJudgedByItsTargets()
    {
        ModelStudy study;
        QVERIFY(leverageSummary(study).contains("reason"));
        QVERIFY(meanConvergenceSummary(study).contains("reason"));
        QVERIFY(semanticSpaceSummary(study, Matrix(2, 3), 1).contains("reason"));
        study.deterministic = normals(60, 4, 50);
        Ambiguity ambiguity;
        ambiguity.classes = {"a", "b"};
        for (std::size_t i = 0; i < 60; ++i) {
            double square = 0;
            for (std::size_t d = 0; d < 4; ++d)
                square += study.deterministic(i, d) * study.deterministic(i, d);
            ambiguity.margin.push_back(-square); // long features are the ambiguous ones
            ambiguity.entropy.push_back(square);
            ambiguity.promptSensitivity.push_back(square);
            ambiguity.predicted.push_back(study.deterministic(i, 0) > 0);
            ambiguity.truth.push_back(i < 5 ? 1 - ambiguity.predicted[i] : ambiguity.predicted[i]);
        }
        study.ambiguity = ambiguity;
        const nlohmann::json json = leverageSummary(study);
        for (const char* name : {"lambda_1", "lambda_by_evidence"}) {
            const nlohmann::json& prediction = json[name]["prediction"];
            QVERIFY(prediction["spearman_entropy"].get<double>() > 0.9);
            QVERIFY(prediction["auroc_error"].is_number());
        }
        QCOMPARE(json["lambda_by_evidence"]["regression_of"].get<std::string>(),
                 std::string("labels"));
        const PredictionTargets targets = targetsOf(ambiguity);
        QCOMPARE(std::count(targets.isWrong.begin(), targets.isWrong.end(), 1), 5);
        study.ambiguity->truth[9] = -1;
        QVERIFY(targetsOf(*study.ambiguity).isWrong.empty());
        QVERIFY(leverageSummary(study)["lambda_1"]["prediction"]["auroc_error"].is_null());
    }
};

VERGENCE_TEST(TestMcFeatureExperiments)
#include "tst_mc_feature_experiments.moc"
