#include <QTest>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/figure_json.h"
#include "plugins/mc_embedding/statistics/ranks.h"
#include "plugins/mc_embedding/statistics/reliability.h"
#include "statistics_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using mc_embedding::fixtures::isNear;
using mc_embedding::fixtures::matrixOf;

class TestMcReliability : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sixTargetsFourJudges();
    void signalToNoiseGivesIcc();
    void sharedOffsetAndScaleChangeNoRatio();
    void repeatableScoresAreUsable();
    void pureNoiseFails();
    void trialOffsetsRaiseTheDriftFlag();
    void biasedVarianceChangesMagnitudesOnly();
    void predictionEqualsMorePasses();
    void disattenuationUndoesNoise();
    void oneTrialIsInsufficient();
    void oneImageHasAReason();
    void equalScoresHaveAReason();
    void identicalTrialsHaveInfiniteRatio();
    void unknownScoresHaveAReason();
    void jsonHasNumbersOrReasons();
};

namespace {

/// x_ki = image_i + within_ki, [K, N].
Matrix simulated(std::size_t trials, std::size_t images, double between, double within,
                 std::uint64_t seed)
{
    const auto image = mc_embedding::fixtures::normalNumbers(images, seed);
    Matrix scores = mc_embedding::fixtures::normalMatrix(trials, images, seed + 1);
    for (std::size_t k = 0; k < trials; ++k)
        for (std::size_t i = 0; i < images; ++i)
            scores(k, i) = between * image[i] + within * scores(k, i);
    return scores;
}

} // namespace

void TestMcReliability::sixTargetsFourJudges()
{
    // Intraclass correlations: uses in assessing rater reliability (1979), table 2.
    const Matrix judges =
        matrixOf({{9, 6, 8, 7, 10, 6}, {2, 1, 4, 1, 5, 2}, {5, 3, 6, 2, 6, 4}, {8, 2, 8, 6, 9, 7}});
    const MeanSquares squares = meanSquares(judges);
    QVERIFY(isNear(squares.betweenImages, 11.241667, 5e-7));
    QVERIFY(isNear(squares.withinImages, 6.263889, 5e-7));
    QVERIFY(isNear(squares.residual, 1.019444, 5e-7));
    QVERIFY(isNear(squares.betweenTrials, 32.486111, 5e-7));

    const Reliability r = reliability(judges, 1);
    QVERIFY(isNear(r.icc.value, 0.165742, 5e-7));
    QVERIFY(isNear(r.iccC1.value, 0.714841, 5e-7));
    QVERIFY(isNear(r.icc1k.value, 0.442797, 5e-7));
    QVERIFY(isNear(r.snr.value, 0.448670, 5e-7));
    QVERIFY(isNear(r.snrUnbiased.value, r.snr.value - 0.25, 1e-15));
    QVERIFY(isNear(squares.betweenImages / squares.withinImages, 1.794678, 5e-7));
    QVERIFY(isNear(r.iccLow.value, -0.1329, 5e-5));
    QVERIFY(isNear(r.iccHigh.value, 0.7226, 5e-5));
    const std::vector<double> pairs{0.716498, 0.705882, 0.882353, 0.955330, 0.940403, 0.897059};
    QCOMPARE(r.pairwise.size(), pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i)
        QVERIFY(isNear(r.pairwise[i], pairs[i], 5e-7));
    QVERIFY(isNear(r.spearmanMedian.value, 0.889706, 5e-7));
    QVERIFY(isNear(r.spearmanQ25.value, 0.757962, 5e-7));
    QVERIFY(isNear(r.spearmanQ75.value, 0.929567, 5e-7));
    QVERIFY(r.drifts); // judges differ: F = 31.87
    QCOMPARE(r.status, std::string("failed"));
    QVERIFY(!r.certain);
}

void TestMcReliability::signalToNoiseGivesIcc()
{
    for (std::uint64_t seed : {1, 2, 3})
        for (std::size_t k : {2, 5, 10}) {
            const Matrix scores = simulated(k, 33, 0.7, 1, seed);
            const Reliability r = reliability(scores, 64);
            const double n = static_cast<double>(k), snr = r.snr.value;
            QVERIFY(isNear(r.icc.value, (n * snr - 1) / (n * snr + n - 1), 1e-13));
            QVERIFY(isNear(r.snrUnbiased.value, r.betweenVariance.value / r.noise.value, 1e-12));
            QVERIFY(r.iccLow.value < r.icc.value && r.icc.value < r.iccHigh.value);
        }
}

void TestMcReliability::sharedOffsetAndScaleChangeNoRatio()
{
    const Matrix scores = simulated(4, 57, 1, 1, 11);
    Matrix moved = scores;
    for (double& v : moved.values)
        v = 1e-3 * v + 5;
    const Reliability a = reliability(scores, 16), b = reliability(moved, 16);
    QVERIFY(isNear(a.icc.value, b.icc.value, 1e-11));
    QVERIFY(isNear(a.snr.value, b.snr.value, 1e-11));
    QVERIFY(isNear(a.driftP.value, b.driftP.value, 1e-10));
    QCOMPARE(a.pairwise, b.pairwise);
    QVERIFY(isNear(a.noise.value * 1e-6, b.noise.value, 1e-17));
}

void TestMcReliability::repeatableScoresAreUsable()
{
    const Reliability half = reliability(simulated(10, 20'000, 1, 1, 5), 64);
    QVERIFY(isNear(half.icc.value, 0.50, 0.01));
    QVERIFY(isNear(half.snr.value, 1.10, 0.03));
    QVERIFY(!half.drifts);
    QVERIFY(half.iccLow.value < 0.5 && 0.5 < half.iccHigh.value);
    QCOMPARE(half.status, std::string("failed")); // ρ of one trial is about 0.48

    const Reliability middle = reliability(simulated(10, 500, 1, 0.65, 6), 64);
    QCOMPARE(middle.status, std::string("marginal"));
    const Reliability good = reliability(simulated(10, 500, 1, 0.2, 7), 64);
    QCOMPARE(good.status, std::string("usable"));
    QVERIFY(good.certain);
    const Reliability few = reliability(matrixOf({{1, 2, 3, 4, 5}, {1.9, 2.1, 3.9, 4.1, 5.9}}), 64);
    QCOMPARE(few.status, std::string("usable"));
    QVERIFY(!few.certain); // five images do not exclude an ICC below the gate
}

void TestMcReliability::pureNoiseFails()
{
    const Reliability r = reliability(simulated(10, 20'000, 0, 1, 21), 64);
    QVERIFY(isNear(r.snr.value, 0.100, 0.005));
    QVERIFY(isNear(r.icc.value, 0, 0.005));
    QCOMPARE(r.status, std::string("failed"));
}

void TestMcReliability::trialOffsetsRaiseTheDriftFlag()
{
    Matrix scores = simulated(10, 500, 0, 1, 31);
    const Reliability before = reliability(scores, 64);
    QVERIFY(!before.drifts);
    for (std::size_t k = 0; k < scores.rows; ++k)
        for (std::size_t i = 0; i < scores.columns; ++i)
            scores(k, i) += 0.3 * static_cast<double>(k);
    const Reliability after = reliability(scores, 64);
    QVERIFY(after.drifts);
    QVERIFY(after.driftP.value < 1e-100);
    QVERIFY(isNear(after.iccC1.value, before.iccC1.value, 1e-12)); // offsets are taken out there
    QVERIFY(after.icc.value < before.icc.value);
}

void TestMcReliability::biasedVarianceChangesMagnitudesOnly()
{
    // Mean traces of clip_b32 as published (biased) and unbiased, section 1.5.
    const std::vector<double> biased{5.692e-3, 7.063e-3, 7.393e-3},
        unbiased{7.589e-3, 7.534e-3, 7.511e-3};
    const std::vector<int> passes{4, 16, 64};
    const Matrix scores = simulated(5, 100, 0.5, 1, 41);
    const Reliability reference = reliability(scores, 1);
    for (std::size_t i = 0; i < passes.size(); ++i) {
        const double factor = (passes[i] - 1.0) / passes[i];
        QVERIFY(isNear(unbiased[i] * factor, biased[i], 1e-6));
        Matrix scaled = scores;
        for (double& v : scaled.values)
            v *= factor;
        const Reliability r = reliability(scaled, passes[i]);
        QVERIFY(isNear(r.icc.value, reference.icc.value, 1e-12));
        QVERIFY(isNear(r.snr.value, reference.snr.value, 1e-12));
        QCOMPARE(r.spearmanMedian.value, reference.spearmanMedian.value);
        QVERIFY(isNear(r.signal.value, reference.signal.value * factor * factor, 1e-12));
    }
}

void TestMcReliability::predictionEqualsMorePasses()
{
    // ICC(T) = σ_b² / (σ_b² + c/T).
    const double between = 2.5, noise = 40;
    const auto icc = [&](double passes) { return between / (between + noise / passes); };
    for (double from : {1.0, 4.0, 64.0})
        for (double to : {1.0, 16.0, 128.0})
            QVERIFY(isNear(predictedIcc(icc(from), from, to), icc(to), 1e-14));
    Reliability r;
    r.betweenVariance = between;
    r.noisePerPass = noise;
    QVERIFY(isNear(icc(passesForIcc(r, 0.75).value), 0.75, 1e-14));
    r.betweenVariance = -0.1;
    QVERIFY(!passesForIcc(r, 0.75).exists());
    QVERIFY(!passesForIcc(r, 0.75).reason.empty());
}

void TestMcReliability::disattenuationUndoesNoise()
{
    Reliability a, b;
    a.icc1k = 0.81;
    b.icc1k = 0.64;
    QVERIFY(isNear(disattenuated(0.36, a, b).value, 0.5, 1e-15));
    b.icc1k = -0.2;
    QCOMPARE(disattenuated(0.36, a, b).reason,
             std::string("one side does not repeat from trial to trial"));
    QVERIFY(!disattenuated(0.36, a, Reliability()).exists());
}

void TestMcReliability::oneTrialIsInsufficient()
{
    const Reliability r = reliability(matrixOf({{1, 2, 4}}), 64);
    QCOMPARE(r.status, std::string("insufficient_trials"));
    QCOMPARE(r.icc.reason, std::string("needs two trials"));
    QVERIFY(isNear(r.mean.value, 7.0 / 3, 1e-15));
    QVERIFY(r.pairwise.empty());
}

void TestMcReliability::oneImageHasAReason()
{
    const Reliability r = reliability(matrixOf({{1}, {2}, {4}}), 64);
    QCOMPARE(r.status, std::string("failed"));
    QCOMPARE(r.icc.reason, std::string("needs two images"));
    QCOMPARE(r.spearmanMedian.reason, std::string("needs two images"));
    QCOMPARE(reliability(Matrix(2, 0), 64).mean.reason, std::string("needs two images"));
    VERGENCE_THROWS(ContractError, "two trials and two images", meanSquares(Matrix(3, 1)));
}

void TestMcReliability::equalScoresHaveAReason()
{
    const Reliability r = reliability(Matrix(10, 7, 0.1), 64); // 0.1 · 10 rounds
    QCOMPARE(r.signal.value, 0.0);
    QCOMPARE(r.noise.value, 0.0);
    for (const Figure* f : {&r.snr, &r.snrUnbiased, &r.icc, &r.iccLow, &r.iccC1, &r.icc1k})
        QCOMPARE(f->reason, std::string("all scores are equal"));
    QCOMPARE(r.spearmanMedian.reason, std::string("one side is constant"));
    QVERIFY(!r.driftP.exists());
    QVERIFY(!r.drifts);
    QCOMPARE(r.status, std::string("failed"));
}

void TestMcReliability::identicalTrialsHaveInfiniteRatio()
{
    Matrix scores(10, 5);
    for (std::size_t k = 0; k < 10; ++k)
        for (std::size_t i = 0; i < 5; ++i)
            scores(k, i) = 0.1 * static_cast<double>(i * i + 1);
    const Reliability r = reliability(scores, 64);
    QVERIFY(std::isinf(r.snr.value) && !r.snr.exists());
    QVERIFY(!r.snr.reason.empty());
    QCOMPARE(r.icc.value, 1.0);
    QCOMPARE(r.iccLow.value, 1.0);
    QCOMPARE(r.spearmanMedian.value, 1.0);
    QCOMPARE(r.status, std::string("usable"));
}

void TestMcReliability::unknownScoresHaveAReason()
{
    Matrix scores = simulated(3, 5, 1, 1, 51);
    scores(1, 2) = std::nan("");
    const Reliability r = reliability(scores, 64);
    QCOMPARE(r.icc.reason, std::string("a score is not finite"));
    QCOMPARE(r.mean.reason, std::string("a score is not finite"));
    QCOMPARE(r.status, std::string("failed"));
}

void TestMcReliability::jsonHasNumbersOrReasons()
{
    const Reliability good = reliability(simulated(10, 500, 1, 0.2, 7), 64);
    const nlohmann::json full = reliabilityJson(good);
    QCOMPARE(full["num_trials"].get<int>(), 10);
    QCOMPARE(full["icc"].get<double>(), good.icc.value);
    QCOMPARE(full["icc_ci"][0].get<double>(), good.iccLow.value);
    QCOMPARE(full["pairwise_spearman"].size(), std::size_t{45});
    QCOMPARE(full["t_for_icc"]["0.90"].get<double>(), passesForIcc(good, 0.9).value);
    QCOMPARE(full["status"].get<std::string>(), std::string("usable"));
    QVERIFY(full["certain"].get<bool>());

    const nlohmann::json empty = reliabilityJson(reliability(Matrix(10, 7, 0.1), 64));
    for (const char* name :
         {"snr", "icc", "icc_ci", "trial_drift_p", "pairwise_spearman_iqr", "snr_unbiased"}) {
        QVERIFY2(empty[name].is_null(), name);
        QVERIFY2(!empty[std::string(name) + "_reason"].get<std::string>().empty(), name);
    }
    QVERIFY(empty["t_for_icc"]["0.75"].is_null());
    QVERIFY(!empty["t_for_icc"]["0.75_reason"].get<std::string>().empty());
    QVERIFY(!empty.contains("signal_reason"));
}

VERGENCE_TEST(TestMcReliability)
#include "tst_mc_reliability.moc"
