#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include <QTest>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/mc_embedding/study/experiments/layer_rates.h"
#include "plugins/mc_embedding/study/experiments/mean_convergence.h"
#include "plugins/mc_embedding/study/experiments/placement_comparison.h"
#include "plugins/mc_embedding/study/experiments/rank_stability.h"
#include "plugins/mc_embedding/study/experiments/synthetic_natural.h"
#include "plugins/mc_embedding/study/experiments/text_uncertainty.h"
#include "tests/plugins/mc_embedding/statistics_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using fixtures::normal;

namespace {

/// Standard normal numbers as a function of (stream, index).
/// True scores of N images plus noise per trial.
Matrix noisy(const std::vector<double>& truth, std::size_t trials, double noise,
             std::uint64_t stream)
{
    Matrix scores(trials, truth.size());
    for (std::size_t k = 0; k < trials; ++k) {
        for (std::size_t i = 0; i < truth.size(); ++i)
            scores(k, i) = truth[i] + noise * normal(Rng(42, stream), k * truth.size() + i);
    }
    return scores;
}

std::vector<double> normals(std::size_t count, std::uint64_t stream)
{
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = normal(Rng(42, stream), i);
    return values;
}

PredictionTargets targetsFrom(const std::vector<double>& truth)
{
    PredictionTargets targets;
    for (const double value : truth) {
        targets.margin.push_back(-value);
        targets.entropy.push_back(2 * value);
        targets.promptSensitivity.push_back(value * value * value);
    }
    return targets;
}

} // namespace

class TestMcExperiments : public QObject {
    Q_OBJECT
private Q_SLOTS:
    // Mean convergence

    void meansConvergeToTheBias()
    {
        // e = e_det + b + n in 8 dimensions with ‖b‖² = 0.04 and tr Σ = 0.64 (V15).
        constexpr std::size_t kDimensions = 8, kTrials = 3000, kPasses = 64;
        PassCloud cloud;
        cloud.deterministic.assign(kDimensions, 1.0);
        cloud.passes = Matrix(kTrials * kPasses, kDimensions);
        for (std::size_t i = 0; i < cloud.passes.values.size(); ++i)
            cloud.passes.values[i] =
                1 + std::sqrt(0.04 / 8) + std::sqrt(0.64 / 8) * normal(Rng(42, 1), i);
        const int counts[] = {4, 16, 64};
        const auto result = meanConvergence({&cloud, 1}, kTrials, counts);
        const double expected[] = {0.20, 0.08, 0.05};
        for (std::size_t i = 0; i < 3; ++i) {
            // Standard error of a mean of 3,000 squared distances is below 1 %.
            QVERIFY(std::abs(result.squaredDistance[i] - expected[i]) < 0.03 * expected[i]);
            QVERIFY(std::abs(result.sampling[i] - 0.64 / counts[i]) < 0.01 * 0.64 / counts[i]);
        }
        QVERIFY(std::abs(result.fit.bias2 - 0.04) < 0.002);
        QVERIFY(std::abs(result.fit.variance - 0.64) < 0.02);
        QVERIFY(std::abs(result.traceSum - 0.64) < 0.005);
        // With a bias the slope is not −½, and the test of the original would fail.
        QVERIFY(result.logSlope.value > -0.3 && result.logSlope.value < -0.15);
    }

    void meansWithoutBiasHaveSlopeMinusHalf()
    {
        PassCloud cloud;
        cloud.deterministic.assign(16, 1.0);
        cloud.passes = Matrix(400 * 64, 16);
        for (std::size_t i = 0; i < cloud.passes.values.size(); ++i)
            cloud.passes.values[i] = 1 + 0.1 * normal(Rng(42, 2), i);
        const int counts[] = {4, 8, 16, 32, 64};
        const auto result = meanConvergence({&cloud, 1}, 400, counts);
        QVERIFY(std::abs(result.logSlope.value + 0.5) < 0.02);
        QVERIFY(std::abs(result.fit.bias2) < 1e-3);
        const nlohmann::json json = toJson(result);
        QVERIFY(json["passes"] == nlohmann::json({4, 8, 16, 32, 64}));
        QVERIFY(json["bias2"].is_number() && json["log_log_slope"].is_number());
    }

    void countsOfPassesAreChecked()
    {
        PassCloud cloud{Matrix(8, 2), {1, 1}};
        const int tooMany[] = {2, 9}, one[] = {2}, good[] = {2, 4};
        VERGENCE_THROWS(ContractError, "from 1 to", meanConvergence({&cloud, 1}, 1, tooMany));
        VERGENCE_THROWS(ContractError, "two counts", meanConvergence({&cloud, 1}, 1, one));
        VERGENCE_THROWS(ContractError, "two passes", meanConvergence({&cloud, 1}, 3, good));
        cloud.deterministic = {0, 0};
        const auto still = meanConvergence({&cloud, 1}, 2, good); // all passes equal e_det
        QVERIFY(!still.logSlope.exists() && still.traceSum == 0);
        QVERIFY(toJson(still)["log_log_slope_reason"].is_string());
    }

    // Exp 1

    void noiseIsNotMistakenForDisagreement()
    {
        const std::vector<double> truth = normals(2000, 3), other = normals(2000, 4);
        std::vector<double> rates = {0.05, 0.01, 0.001};
        std::vector<Matrix> scores;
        const double noises[] = {0.3, 1, 3};
        for (std::uint64_t i = 0; i < 3; ++i) {
            std::vector<double> shifted = truth;
            for (double& value : shifted)
                value = value * 0.1 + 20 * rates[i]; // larger p, larger scores, same order
            scores.push_back(noisy(shifted, 3, 0.1 * noises[i], 5 + i));
        }
        const auto result = rankStability(rates, scores, 64);
        QVERIFY((result.p == std::vector<double>{0.001, 0.01, 0.05}));
        const auto& raw = result.comparison.spearman;
        const auto& clean = result.comparison.disattenuatedSpearman;
        QVERIFY(raw[0][2].value < 0.6 && raw[0][2].value == raw[2][0].value);
        QVERIFY(std::abs(clean[0][2].value - 1) < 0.1);
        QCOMPARE(clean[1][1].value, 1.0);
        QVERIFY(result.meanTrace[0] < result.meanTrace[1] &&
                result.meanTrace[1] < result.meanTrace[2]);

        scores[0] = noisy(other, 3, 0.3, 9); // other images lead at p = 0.05
        const auto differs = rankStability(rates, scores, 64);
        QVERIFY(std::abs(differs.comparison.disattenuatedSpearman[1][2].value) < 0.1);
    }

    void spreadOfFirstOrderHasSlopeOne()
    {
        const std::vector<double> rates = rankStabilityRates();
        QVERIFY(rates.front() == 0.001 && rates.back() == 0.1);
        std::vector<Matrix> scores;
        for (const double p : rates)
            scores.push_back(Matrix(3, 5, p / (1 - p) * 7));
        const auto result = rankStability(rates, scores, 64);
        QVERIFY(std::abs(result.order.value - 1) < 1e-12);
        // Equal scores have no ranks: null with a reason, not 0.
        QVERIFY(!result.comparison.spearman[0][1].exists());
        const nlohmann::json json = toJson(result);
        QVERIFY(json["spearman"][0][1].is_null() && json["reliability"].contains("0.001"));
        VERGENCE_THROWS(ContractError, "for every p", rankStability(rates, {}, 64));
    }

    // Exp 3

    void placementsAreComparedImageByImage()
    {
        const std::vector<double> truth = normals(500, 10), other = normals(500, 11);
        const PlacementScores types[] = {{"A", noisy(truth, 5, 0.2, 12), {0.2, 0.4, 0.9}},
                                         {"B", noisy(truth, 5, 0.2, 13), {}},
                                         {"C", noisy(other, 5, 0.2, 14), {0.5}}};
        const auto result = placementComparison(types, 64);
        QVERIFY(result.comparison.spearman[0][1].value > 0.9);
        QVERIFY(std::abs(result.comparison.spearman[0][2].value) < 0.15);
        QCOMPARE(result.anisotropy[0].value, 0.4);
        const nlohmann::json json = toJson(result);
        QVERIFY(json["types"]["B"]["anisotropy_median"].is_null());
        QVERIFY(json["types"]["B"]["anisotropy_median_reason"].is_string());
        QCOMPARE(json["names"].size(), std::size_t{3});
    }

    void theFiveTypesNameTheirSites()
    {
        TowerShape tower;
        tower.layers = 12;
        const auto types = placementTypes(tower);
        QCOMPARE(types.size(), std::size_t{5});
        std::string letters;
        for (const PlacementType& type : types)
            letters += type.letter;
        QCOMPARE(letters, std::string("ABCDE"));
        QCOMPARE(types[2].placement.preset, std::string("stochastic_depth"));
        // Block 11, not the "last" one of a list sorted as text.
        QCOMPARE(types[3].placement.sites, std::vector<int>{16 * 11 + 5});
    }

    // Exp 2

    void groupsAreOrderedByTheirMeans()
    {
        const std::vector<std::string> groups = {"natural", "solid", "noise",    "gradient",
                                                 "natural", "solid", "gradient", "noise"};
        Matrix scores(2, 8);
        const double values[] = {9, 1, 5, 3, 11, 2, 4, 6};
        for (std::size_t i = 0; i < 8; ++i) {
            scores(0, i) = values[i] - 0.25;
            scores(1, i) = values[i] + 0.25;
        }
        const auto result = syntheticNatural(scores, groups);
        QVERIFY(result.isExpectedOrder);
        QCOMPARE(result.groups.size(), std::size_t{4});
        QCOMPARE(result.groups[3].name, std::string("natural"));
        QCOMPARE(result.groups[3].mean, 10.0);
        QCOMPARE(result.groups[3].error.value, 1.0); // deviation √2 of two images
        for (const Figure& higher : result.laterIsHigher)
            QCOMPARE(higher.value, 1.0);
        for (std::size_t k = 0; k < 2; ++k)
            scores(k, 0) = scores(k, 4) = 0;
        const auto other = syntheticNatural(scores, groups);
        QVERIFY(!other.isExpectedOrder);
        QCOMPARE(other.laterIsHigher[2].value, 0.0);
        QVERIFY(toJson(other)["groups"][3]["higher_than_previous"] == 0.0);
        const std::vector<std::string> wrong(8, "cartoon");
        VERGENCE_THROWS(ContractError, "solid, gradient, noise, natural",
                        syntheticNatural(scores, wrong));
    }

    // Exp 10

    void promptsAreManyAndGrowExact()
    {
        const auto prompts = textUncertaintyPrompts(1000, 42);
        QCOMPARE(prompts.size(), std::size_t{1000});
        std::set<std::string> texts;
        std::map<std::string, double> sums;
        for (const StyledPrompt& prompt : prompts) {
            texts.insert(prompt.text);
            sums[prompt.style] += specificity(prompt.text) / 200;
        }
        QCOMPARE(texts.size(), std::size_t{1000});
        double before = -1;
        for (const std::string& style : promptStyles()) {
            QVERIFY2(sums[style] >= before, style.c_str());
            before = sums[style];
        }
        QVERIFY(sums["vague"] == 0 && sums["scene"] > 5);
        QCOMPARE(textUncertaintyPrompts(10, 42)[9].text, prompts[9].text);
        QVERIFY(textUncertaintyPrompts(10, 43)[9].text != prompts[9].text);
        QCOMPARE(specificity("A red, RED apple on the table"), 3.0);
        QCOMPARE(specificity(""), 0.0);
    }

    void exactPromptsThatSpreadLessAreSeen()
    {
        const auto prompts = textUncertaintyPrompts(200, 42);
        std::vector<double> truth;
        for (const StyledPrompt& prompt : prompts)
            truth.push_back(10 - specificity(prompt.text));
        const auto result = textUncertainty(prompts, noisy(truth, 4, 0.01, 20), 64);
        QVERIFY(result.correlation.value < -0.9);
        QVERIFY(result.trace.icc.value > 0.99);
        QCOMPARE(result.styles.size(), std::size_t{5});
        QVERIFY(result.styles[0].meanTrace > result.styles[4].meanTrace);
        const nlohmann::json json = toJson(result);
        QVERIFY(json["styles"]["scene"]["num_prompts"] == 40);
        VERGENCE_THROWS(ContractError, "every prompt", textUncertainty(prompts, Matrix(2, 3), 64));
    }

    // Exp 11

    void depthGroupsFollowTheNumbersOfBlocks()
    {
        std::map<std::size_t, int> members;
        for (int block = 0; block < 12; ++block)
            ++members[depthGroup(block, 12)];
        for (std::size_t group = 0; group < 4; ++group)
            QCOMPARE(members[group], 3);
        QCOMPARE(depthGroup(10, 12), std::size_t{3}); // as text it would come before block 2
        QCOMPARE(depthGroup(2, 12), std::size_t{0});
        QCOMPARE(depthGroup(12, 12), std::size_t{3}); // the head
        QCOMPARE(depthGroup(2, 3), std::size_t{2});
        VERGENCE_THROWS(ContractError, "a block of the tower", depthGroup(13, 12));
    }

    void candidatesAreLogUniform()
    {
        const auto candidates = layerRateCandidates(0.01, 600, 42);
        QCOMPARE(candidates.size(), std::size_t{601});
        QVERIFY(candidates[0] == GroupRates(4, 0.01));
        std::map<int, int> thirds;
        for (std::size_t i = 1; i < candidates.size(); ++i) {
            QCOMPARE(candidates[i].size(), std::size_t{4});
            for (const double p : candidates[i]) {
                QVERIFY(p >= 0.001 && p <= 0.1);
                ++thirds[static_cast<int>(std::log10(p / 0.001) * 1.5)];
            }
        }
        for (int third = 0; third < 3; ++third)
            QVERIFY(std::abs(thirds[third] - 800) < 100); // 4.3 standard deviations
        QVERIFY(layerRateCandidates(0.01, 3, 42)[3] == candidates[3]);
    }

    void theBestOfOneHalfIsJudgedOnTheOther()
    {
        const std::vector<double> truth = normals(400, 30);
        const PredictionTargets targets = targetsFrom(truth);
        std::vector<RateScores> candidates;
        for (std::uint64_t i = 0; i < 6; ++i)
            candidates.push_back(
                {GroupRates(4, 0.01), noisy(normals(400, 40 + i), 4, 0.5, 50 + i)});
        candidates.push_back({GroupRates(4, 0.02), noisy(truth, 4, 0.5, 60)});
        const auto result = layerRates(candidates, targets, 64, 42);
        QCOMPARE(result.best, std::size_t{6});
        QCOMPARE(result.selectionImages.size(), std::size_t{200});
        // ρ = 1 for all three would give 2.5 + 0.1 ICC.
        QVERIFY(result.report[6].value > 2.0 && result.report[6].value < 2.6);
        QVERIFY(result.gain.value > 1.5);
        const nlohmann::json json = toJson(result);
        QVERIFY(json["best"] == 6 && json["candidates"].size() == 7);

        // What only fits the selection half gains nothing.
        std::vector<double> half = normals(400, 70);
        for (const std::size_t i : result.selectionImages)
            half[i] = truth[i];
        candidates[6].scores = noisy(half, 4, 0.1, 71);
        const auto lucky = layerRates(candidates, targets, 64, 42);
        QVERIFY(lucky.best == 6 && lucky.selection[6].value > 2.4);
        QVERIFY(std::abs(lucky.report[6].value) < 0.8);
    }

    void objectivesWithoutATrialHaveAReason()
    {
        const PredictionTargets targets = targetsFrom(normals(20, 80));
        const Figure none = rateObjective(noisy(normals(20, 81), 1, 0, 82), targets, 64);
        QVERIFY(!none.exists() && !none.reason.empty());
    }
};

VERGENCE_TEST(TestMcExperiments)
#include "tst_mc_experiments.moc"
