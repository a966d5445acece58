#include <cmath>

#include <QTest>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/live_diffusion/diffusion/guidance.h"
#include "plugins/live_diffusion/diffusion/oracle.h"
#include "plugins/live_diffusion/diffusion/sampler.h"
#include "tests/plugins/live_diffusion/apart.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::test;

namespace {

template <class Body>
bool refused(const Body& body)
{
    return thrown<ContractError>(body) != thrown<ContractError>([] {});
}

bool near(double got, double want, double relative)
{
    const bool is = std::abs(got - want) <= relative * std::max(std::abs(want), 1e-300);
    if (!is)
        qWarning("%.12g instead of %.12g", got, want);
    return is;
}

/// Data of mean 0.3 and deviation 0.5 in one dimension: what a perfect network says of ε.
struct Gaussian {
    double mean = 0.3, deviation = 0.5;

    double spread(const NoiseSchedule& schedule, int t) const
    {
        return std::hypot(schedule.alpha(t) * deviation, schedule.sigma(t));
    }
    double noise(double x, const NoiseSchedule& schedule, int t) const
    {
        const double alpha = schedule.alpha(t), sigma = schedule.sigma(t);
        return sigma * (x - alpha * mean) / (spread(schedule, t) * spread(schedule, t));
    }
    /// Where the probability-flow equation leads x₉₉₉ exactly: the same quantile.
    double end(double x, const NoiseSchedule& schedule) const
    {
        return mean + deviation * (x - schedule.alpha(999) * mean) / spread(schedule, 999);
    }
};

/// x after each step from 1.7 on.
std::vector<double> trajectory(BetaCurve curve, SamplerKind kind, int steps,
                               Prediction prediction = Prediction::Epsilon)
{
    const NoiseSchedule schedule(curve);
    const BasicSampler<double> sampler(schedule,
                                       {.kind = kind, .prediction = prediction, .steps = steps});
    std::vector<double> path, x{1.7}, clean(1), previous(1), said(1);
    for (int i = 0; i < steps; ++i) {
        const int t = sampler.times()[static_cast<std::size_t>(i)];
        const double noise = Gaussian{}.noise(x[0], schedule, t);
        const double alpha = schedule.alpha(t), sigma = schedule.sigma(t);
        said[0] = predictionOf(prediction, (x[0] - sigma * noise) / alpha, noise, alpha, sigma);
        sampler.step(i, {x, said, clean, previous, {}});
        std::swap(clean, previous);
        path.push_back(x[0]);
    }
    return path;
}

double endError(BetaCurve curve, SamplerKind kind, int steps)
{
    return std::abs(trajectory(curve, kind, steps).back() -
                    Gaussian{}.end(1.7, NoiseSchedule(curve)));
}

std::vector<double> numbers(std::size_t count, std::uint64_t stream)
{
    const Rng rng(11, stream);
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i)
        values.push_back(2.0 * static_cast<double>(rng.uniform(i)) - 1);
    return values;
}

} // namespace

class TestLiveSamplers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void schedulesAreThePublished_data();
    void schedulesAreThePublished();
    void followUpsOfTheSchedule();
    void timesTrail();
    void minSnrWeights();

    void oneExactStep_data();
    void oneExactStep();
    void exactNoiseEndsAtThePicture();
    void predictionsAreEquivalent();
    void gaussianTrajectories_data();
    void gaussianTrajectories();
    void orderOfConvergence_data();
    void orderOfConvergence();
    void freshNoiseKeepsTheVariance();
    void zeroTerminalSnr();
    void clampHolds();
    void consistencyWeightsAndStep();
    void turboIsTheEstimate();
    void floatFollowsDouble();
    void badSettingsAreRefused();

    void oracleOfOnePicture();
    void oracleIsThePosteriorMean();
    void oracleFindsThePictureBehindNoise();

    void guidanceIdentities();
    void guidanceOfBothPredictionsIsOne();
    void guidanceCountsEvaluations();
};

void TestLiveSamplers::schedulesAreThePublished_data()
{
    QTest::addColumn<int>("curve");
    QTest::addColumn<bool>("zeroTerminal");
    QTest::addColumn<QList<double>>("want");
    const auto row = [](const char* name, BetaCurve curve, bool zero, QList<double> want) {
        QTest::newRow(name) << static_cast<int>(curve) << zero << want;
    };
    row("linear", BetaCurve::Linear, false,
        {0.9999, 0.5240853738, 0.07858724288, 0.003350550439, 4.035829765e-5});
    row("scaled-linear", BetaCurve::ScaledLinear, false,
        {0.99915, 0.6754324137, 0.2776696505, 0.0566234916, 0.004660098513});
    row("cosine", BetaCurve::Cosine, false,
        {0.9999587158, 0.8470121613, 0.4938435904, 0.1442721024, 2.428766907e-9});
    row("linear, rescaled", BetaCurve::Linear, true,
        {0.9999, 0.5215333407, 0.07602875055, 0.002689521700, 0});
}

void TestLiveSamplers::schedulesAreThePublished()
{
    QFETCH(int, curve);
    QFETCH(bool, zeroTerminal);
    QFETCH(QList<double>, want);
    const NoiseSchedule schedule(static_cast<BetaCurve>(curve), zeroTerminal);
    const int times[] = {0, 249, 499, 749, 999};
    for (int i = 0; i < 5; ++i)
        QVERIFY(near(schedule.alphaBar(times[i]), want[i], 1e-9));
    for (int t = 1; t < kTrainTimes; ++t)
        QVERIFY(schedule.alphaBar(t) < schedule.alphaBar(t - 1));
}

void TestLiveSamplers::followUpsOfTheSchedule()
{
    const NoiseSchedule schedule(BetaCurve::Linear);
    for (const int t : {0, 500, 999}) {
        const double alpha = schedule.alpha(t), sigma = schedule.sigma(t);
        QVERIFY(near(alpha * alpha + sigma * sigma, 1, 1e-15));
        QVERIFY(near(schedule.lambda(t), std::log(alpha / sigma), 1e-11));
    }
    QCOMPARE(schedule.alpha(kCleanTime), 1.0);
    QCOMPARE(schedule.sigma(kCleanTime), 0.0);
    QVERIFY(std::isinf(schedule.lambda(kCleanTime)));
    QCOMPARE(NoiseSchedule(BetaCurve::Linear, true).lambda(999), -HUGE_VAL);
    QVERIFY(refused([&] { schedule.alphaBar(1000); }));
    QVERIFY(refused([&] { schedule.alphaBar(-2); }));
}

void TestLiveSamplers::timesTrail()
{
    using Times = std::vector<int>;
    QCOMPARE(timesteps(1), Times{999});
    QCOMPARE(timesteps(3), (Times{999, 666, 332}));
    QCOMPARE(timesteps(4), (Times{999, 749, 499, 249}));
    QCOMPARE(timesteps(6), (Times{999, 832, 666, 499, 332, 166}));
    QCOMPARE(timesteps(8), (Times{999, 874, 749, 624, 499, 374, 249, 124}));
    QCOMPARE(timesteps(2, 0.6), (Times{599, 299}));
    QCOMPARE(timesteps(1, 1e-6), Times{0});
    const Times all = timesteps(1000);
    for (int i = 0; i < 1000; ++i)
        QCOMPARE(all[static_cast<std::size_t>(i)], 999 - i);
    QVERIFY(refused([] { timesteps(0); }));
    QVERIFY(refused([] { timesteps(1001); }));
    QVERIFY(refused([] { timesteps(601, 0.6); }));
    QVERIFY(refused([] { timesteps(2, 0); }));
    QVERIFY(refused([] { timesteps(2, 1.01); }));
}

void TestLiveSamplers::minSnrWeights()
{
    const NoiseSchedule schedule(BetaCurve::Linear);
    QVERIFY(near(schedule.minSnrWeight(Prediction::Epsilon, 0), 5.0005e-4, 1e-6));
    QVERIFY(near(schedule.minSnrWeight(Prediction::V, 0), 5.0e-4, 1e-9));
    QVERIFY(near(schedule.minSnrWeight(Prediction::Epsilon, 249), 1, 1e-15));
    QVERIFY(near(schedule.minSnrWeight(Prediction::V, 249), 0.5240853738, 1e-9));
    const NoiseSchedule zero(BetaCurve::Linear, true);
    QCOMPARE(zero.minSnrWeight(Prediction::Epsilon, 999), 1.0);
    QCOMPARE(zero.minSnrWeight(Prediction::V, 999), 0.0);
}

void TestLiveSamplers::oneExactStep_data()
{
    QTest::addColumn<int>("curve");
    QTest::addColumn<double>("start");
    QTest::addColumn<double>("end");
    QTest::newRow("linear") << static_cast<int>(BetaCurve::Linear) << -1.2189621792
                            << -1.0597110094;
    QTest::newRow("cosine") << static_cast<int>(BetaCurve::Cosine) << -0.9664036851
                            << -0.5379383478;
}

void TestLiveSamplers::oneExactStep()
{
    QFETCH(int, curve);
    QFETCH(double, start);
    QFETCH(double, end);
    const NoiseSchedule schedule(static_cast<BetaCurve>(curve));
    const BasicSampler<double> sampler(schedule, {.prediction = Prediction::Epsilon, .steps = 4});
    std::vector<double> x(1), clean(1);
    const std::vector<double> picture{0.5}, noise{-1.25};
    x[0] = schedule.alpha(749) * picture[0] + schedule.sigma(749) * noise[0];
    QVERIFY(near(x[0], start, 1e-9));
    sampler.step(1, {x, noise, clean, {}, {}});
    QVERIFY(near(x[0], end, 1e-9));
    QVERIFY(near(clean[0], 0.5, 1e-12));
}

void TestLiveSamplers::exactNoiseEndsAtThePicture()
{
    for (const BetaCurve curve : {BetaCurve::Linear, BetaCurve::ScaledLinear, BetaCurve::Cosine}) {
        for (const Prediction kind : {Prediction::Epsilon, Prediction::V}) {
            for (const int steps : {1, 2, 3, 7, 50}) {
                // At the cosine schedule's end α is 5e-5: ε keeps 12 digits less those lost there.
                const double strength = curve == BetaCurve::Cosine ? 0.8 : 1;
                const BasicSampler<double> sampler(
                    NoiseSchedule(curve),
                    {.prediction = kind, .steps = steps, .strength = strength});
                const std::vector<double> picture = numbers(33, 0), noise = numbers(33, 1);
                std::vector<double> x(33), clean(33), said(33);
                sampler.begin(picture, noise, x);
                for (int i = 0; i < steps; ++i) {
                    for (std::size_t k = 0; k < x.size(); ++k)
                        said[k] = predictionOf(kind, picture[k], noise[k], sampler.alpha(i),
                                               sampler.sigma(i));
                    sampler.step(i, {x, said, clean, {}, {}});
                }
                QCOMPARE(apart(x, picture, 1e-12, 0), QString());
                QCOMPARE(apart(clean, picture, 1e-12, 0), QString());
            }
        }
    }
}

void TestLiveSamplers::predictionsAreEquivalent()
{
    for (const SamplerKind kind : {SamplerKind::Ddim, SamplerKind::DpmSolver2M}) {
        const auto noise = trajectory(BetaCurve::Cosine, kind, 8);
        const auto v = trajectory(BetaCurve::Cosine, kind, 8, Prediction::V);
        QCOMPARE(apart(v, noise, 1e-10, 1e-10), QString());
    }
}

void TestLiveSamplers::gaussianTrajectories_data()
{
    QTest::addColumn<int>("curve");
    QTest::addColumn<int>("kind");
    QTest::addColumn<QList<double>>("four");
    QTest::addColumn<double>("of256");
    QTest::addColumn<double>("exact");
    const auto row = [](const char* name, BetaCurve curve, SamplerKind kind, QList<double> four,
                        double of256, double exact) {
        QTest::newRow(name) << static_cast<int>(curve) << static_cast<int>(kind) << four << of256
                            << exact;
    };
    row("linear DDIM", BetaCurve::Linear, SamplerKind::Ddim,
        {1.71278539, 1.71979780, 1.45637373, 0.66951913}, 1.139170362, 1.1490599274);
    row("linear 2M", BetaCurve::Linear, SamplerKind::DpmSolver2M,
        {1.71278539, 1.72159661, 1.47785588, 0.67592497}, 1.149209661, 1.1490599274);
    row("cosine DDIM", BetaCurve::Cosine, SamplerKind::Ddim,
        {1.68653833, 1.48903417, 1.16928383, 0.86343179}, 1.144665047, 1.1499926084);
    row("cosine 2M", BetaCurve::Cosine, SamplerKind::DpmSolver2M,
        {1.68653833, 1.49237652, 1.22181975, 0.89657211}, 1.149958168, 1.1499926084);
}

void TestLiveSamplers::gaussianTrajectories()
{
    QFETCH(int, curve);
    QFETCH(int, kind);
    QFETCH(QList<double>, four);
    QFETCH(double, of256);
    QFETCH(double, exact);
    const auto schedule = static_cast<BetaCurve>(curve);
    const std::vector<double> path = trajectory(schedule, static_cast<SamplerKind>(kind), 4);
    for (int i = 0; i < 4; ++i)
        QVERIFY(near(path[static_cast<std::size_t>(i)], four[i], 1e-8));
    QVERIFY(near(trajectory(schedule, static_cast<SamplerKind>(kind), 256).back(), of256, 1e-9));
    QVERIFY(near(Gaussian{}.end(1.7, NoiseSchedule(schedule)), exact, 1e-10));
}

void TestLiveSamplers::orderOfConvergence_data()
{
    QTest::addColumn<int>("curve");
    QTest::newRow("linear") << static_cast<int>(BetaCurve::Linear);
    QTest::newRow("cosine") << static_cast<int>(BetaCurve::Cosine);
}

void TestLiveSamplers::orderOfConvergence()
{
    QFETCH(int, curve);
    const auto schedule = static_cast<BetaCurve>(curve);
    const double ratio =
        endError(schedule, SamplerKind::Ddim, 128) / endError(schedule, SamplerKind::Ddim, 256);
    QVERIFY2(ratio > 1.9 && ratio < 2.05, qPrintable(QString::number(ratio)));
    QVERIFY(50 * endError(schedule, SamplerKind::DpmSolver2M, 256) <=
            endError(schedule, SamplerKind::Ddim, 256));
}

void TestLiveSamplers::freshNoiseKeepsTheVariance()
{
    // With exact ε, x_s = α_s x₀ + …: the parts of ε and of z have the schedule's variance
    // together.
    const NoiseSchedule schedule(BetaCurve::Linear);
    for (const double eta : {0.0, 0.5, 1.0}) {
        const BasicSampler<double> sampler(
            schedule, {.prediction = Prediction::Epsilon, .steps = 4, .eta = eta});
        const auto& c = sampler.coefficients(1);
        QCOMPARE(sampler.usesNoise(1), eta > 0);
        QVERIFY(!sampler.usesNoise(3));
        const double ofNoise = c.nextX * schedule.sigma(749); // x = α x₀ + σ ε, x̂₀ = x₀
        const double ofPicture = c.nextX * schedule.alpha(749) + c.nextClean;
        QVERIFY(near(ofPicture, schedule.alpha(499), 1e-12));
        QVERIFY(
            near(ofNoise * ofNoise + c.nextNoise * c.nextNoise, 1 - schedule.alphaBar(499), 1e-12));
        std::vector<double> x{0.1}, clean(1);
        const std::vector<double> said{0.2}, z{1.5};
        if (eta > 0) {
            std::vector<double> other{0.1};
            sampler.step(1, {x, said, clean, {}, z});
            sampler.step(1, {other, said, clean, {}, std::vector<double>{0.5}});
            QVERIFY(near(x[0] - other[0], c.nextNoise, 1e-12));
            QVERIFY(refused([&] { sampler.step(1, {x, said, clean, {}, {}}); }));
        }
    }
    // η = 1 is the ancestral variance β̃ of DDPM.
    const BasicSampler<double> ancestral(
        schedule, {.prediction = Prediction::Epsilon, .steps = 1000, .eta = 1});
    const double beta = 1 - schedule.alphaBar(500) / schedule.alphaBar(499);
    const double posterior = beta * (1 - schedule.alphaBar(499)) / (1 - schedule.alphaBar(500));
    const double z = ancestral.coefficients(999 - 500).nextNoise;
    QVERIFY(near(z * z, posterior, 1e-12));
}

void TestLiveSamplers::zeroTerminalSnr()
{
    const NoiseSchedule schedule(BetaCurve::Linear, true);
    QVERIFY(refused(
        [&] { BasicSampler<double>(schedule, {.prediction = Prediction::Epsilon, .steps = 4}); }));
    const BasicSampler<double> solver(schedule, {.kind = SamplerKind::DpmSolver2M, .steps = 4});
    const BasicSampler<double> ddim(schedule, {.steps = 4});
    QVERIFY(!solver.usesPrevious(0) && !solver.usesPrevious(1) && solver.usesPrevious(2) &&
            !solver.usesPrevious(3));
    for (const int i : {0, 1}) {
        QCOMPARE(solver.coefficients(i).nextX, ddim.coefficients(i).nextX);
        QCOMPARE(solver.coefficients(i).nextClean, ddim.coefficients(i).nextClean);
    }
    for (int i = 0; i < 4; ++i)
        QVERIFY(std::isfinite(solver.coefficients(i).nextX + solver.coefficients(i).nextClean +
                              solver.coefficients(i).nextPrevious));
    QCOMPARE(ddim.coefficients(0).fromX, 0.0);
    QCOMPARE(ddim.coefficients(0).fromPrediction, -1.0);
}

void TestLiveSamplers::clampHolds()
{
    const NoiseSchedule schedule;
    const BasicSampler<double> sampler(schedule, {.steps = 2, .clampsClean = true});
    std::vector<double> x{3.0, 0.1}, clean(2);
    const std::vector<double> said{-2.0, 0.05}, before = x;
    sampler.step(0, {x, said, clean, {}, {}});
    const double alpha = sampler.alpha(0), sigma = sampler.sigma(0);
    QCOMPARE(clean[0], 1.0);
    // ε̂ = (x − α x̂₀)/σ with the clamped x̂₀
    const double noise = (before[0] - alpha) / sigma;
    QVERIFY(near(x[0], sampler.alpha(1) + sampler.sigma(1) * noise, 1e-12));
    QVERIFY(near(clean[1], alpha * before[1] - sigma * said[1], 1e-12));
}

void TestLiveSamplers::consistencyWeightsAndStep()
{
    QCOMPARE(consistencyWeights(0).skip, 1.0);
    QCOMPARE(consistencyWeights(0).out, 0.0);
    QVERIFY(near(consistencyWeights(1).skip, 0.00249376559, 1e-8));
    QVERIFY(near(consistencyWeights(1).out, 0.998752339, 1e-9));

    const NoiseSchedule schedule;
    const BasicSampler<double> sampler(schedule, {.kind = SamplerKind::Consistency, .steps = 2});
    QVERIFY(sampler.usesNoise(0) && !sampler.usesNoise(1));
    std::vector<double> x{0.7}, clean(1);
    const std::vector<double> said{0.4}, z{-0.3};
    const ConsistencyWeights w = consistencyWeights(999);
    const double f = w.skip * 0.7 + w.out * (schedule.alpha(999) * 0.7 - schedule.sigma(999) * 0.4);
    sampler.step(0, {x, said, clean, {}, z});
    QVERIFY(near(clean[0], f, 1e-12));
    QVERIFY(near(x[0], schedule.alpha(499) * f - 0.3 * schedule.sigma(499), 1e-12));
    sampler.step(1, {x, said, clean, {}, {}});
    QCOMPARE(x[0], clean[0]);
}

void TestLiveSamplers::turboIsTheEstimate()
{
    const NoiseSchedule schedule;
    const BasicSampler<double> sampler(schedule,
                                       {.kind = SamplerKind::Turbo, .steps = 1, .strength = 0.5});
    std::vector<double> x{0.7}, clean(1);
    sampler.step(0, {x, std::vector<double>{0.4}, clean, {}, {}});
    QVERIFY(near(x[0], schedule.alpha(499) * 0.7 - schedule.sigma(499) * 0.4, 1e-12));
    QCOMPARE(x[0], clean[0]);
}

void TestLiveSamplers::floatFollowsDouble()
{
    // 257 values: whole vectors and a rest. Network errors of 5 % keep the path from being trivial.
    const std::size_t size = 257;
    for (const SamplerKind kind :
         {SamplerKind::Ddim, SamplerKind::DpmSolver2M, SamplerKind::Consistency}) {
        const SamplerSettings settings{.kind = kind, .steps = 4, .strength = 0.6};
        const Sampler single{NoiseSchedule(), settings};
        const BasicSampler<double> wide{NoiseSchedule(), settings};
        const std::vector<double> picture = numbers(size, 2), noise = numbers(size, 3);
        const auto narrow = [](const std::vector<double>& from) {
            return std::vector<float>(from.begin(), from.end());
        };
        std::vector<double> x(size), clean(size), previous(size);
        std::vector<float> y(size), estimate(size), last(size);
        wide.begin(picture, noise, x);
        single.begin(narrow(picture), narrow(noise), y);
        for (int i = 0; i < 4; ++i) {
            std::vector<double> said = numbers(size, 10 + static_cast<std::uint64_t>(i));
            for (std::size_t k = 0; k < size; ++k)
                said[k] = predictionOf(Prediction::V, picture[k], noise[k], wide.alpha(i),
                                       wide.sigma(i)) +
                          0.05 * said[k];
            wide.step(i, {x, said, clean, previous, noise});
            const std::vector<float> less = narrow(said), z = narrow(noise);
            single.step(i, {y, less, estimate, last, z});
            std::swap(clean, previous);
            std::swap(estimate, last);
        }
        QCOMPARE(apart(y, x, 2e-6, 0), QString());
    }
}

void TestLiveSamplers::badSettingsAreRefused()
{
    const NoiseSchedule schedule;
    const auto make = [&](SamplerSettings settings) {
        return refused([&] { Sampler(schedule, settings); });
    };
    QVERIFY(make({.kind = SamplerKind::Turbo, .steps = 2}));
    QVERIFY(make({.steps = 0}));
    QVERIFY(make({.steps = 2, .strength = 1.5}));
    QVERIFY(make({.steps = 2, .eta = -0.1}));
    const Sampler sampler(schedule, {.steps = 2});
    std::vector<float> x(4), clean(4), said(3);
    QVERIFY(refused([&] { sampler.step(0, {x, said, clean, {}, {}}); }));
    QVERIFY(refused([&] { sampler.step(2, {x, x, clean, {}, {}}); }));
    QVERIFY(refused([&] { sampler.begin(said, x, x); }));
}

void TestLiveSamplers::oracleOfOnePicture()
{
    const BasicOracle<double> oracle(numbers(40, 0), 40);
    std::vector<double> clean(40);
    oracle.clean(numbers(40, 1), 0.3, 0.9, clean);
    QCOMPARE(apart(clean, numbers(40, 0), 0, 0), QString());
    QVERIFY(refused([&] { oracle.clean(numbers(39, 1), 0.3, 0.9, clean); }));
    QVERIFY(refused([] { BasicOracle<double>(numbers(41, 0), 40); }));
}

void TestLiveSamplers::oracleIsThePosteriorMean()
{
    // Two pictures ±a in one dimension: x̂₀ = a tanh(α a x/σ²).
    const BasicOracle<double> oracle({0.8, -0.8}, 1);
    std::vector<double> clean(1), said(1);
    const double alpha = 0.6, sigma = 0.8;
    for (const double x : {-1.3, 0.0, 0.2, 2.0}) {
        const double want = 0.8 * std::tanh(alpha * 0.8 * x / (sigma * sigma));
        oracle.clean(std::vector<double>{x}, alpha, sigma, clean);
        QVERIFY(std::abs(clean[0] - want) < 1e-14);
        oracle.predict(Prediction::V, std::vector<double>{x}, alpha, sigma, said);
        QVERIFY(std::abs(alpha * x - sigma * said[0] - want) < 1e-14);
        oracle.predict(Prediction::Epsilon, std::vector<double>{x}, alpha, sigma, said);
        QVERIFY(std::abs((x - sigma * said[0]) / alpha - want) < 1e-14);
    }
    // Without noise: the nearest picture, also where the exponential of all others is 0.
    oracle.clean(std::vector<double>{0.1}, 1, 0, clean);
    QCOMPARE(clean[0], 0.8);
}

void TestLiveSamplers::oracleFindsThePictureBehindNoise()
{
    // Eight random pictures of 200 values: from pure noise every sampler ends at one of them.
    std::vector<float> pictures;
    for (const double value : numbers(1600, 5))
        pictures.push_back(static_cast<float>(value));
    const OracleDenoiser oracle(pictures, 200);
    const NoiseSchedule schedule;
    for (const SamplerKind kind : {SamplerKind::Ddim, SamplerKind::DpmSolver2M}) {
        const Sampler sampler(schedule, {.kind = kind, .steps = 20});
        std::vector<float> x(200), clean(200), previous(200), said(200), start;
        for (const double value : numbers(200, 6))
            start.push_back(static_cast<float>(1.7 * value));
        sampler.begin({}, start, x);
        for (int i = 0; i < sampler.steps(); ++i) {
            oracle.predict(Prediction::V, x, sampler.alpha(i), sampler.sigma(i), said);
            sampler.step(i, {x, said, clean, previous, {}});
            std::swap(clean, previous);
        }
        double nearest = HUGE_VAL;
        for (std::size_t k = 0; k < 8; ++k) {
            double square = 0;
            for (std::size_t i = 0; i < 200; ++i)
                square += std::pow(static_cast<double>(x[i] - pictures[k * 200 + i]), 2);
            nearest = std::min(nearest, square / 200);
        }
        QVERIFY2(nearest < 1e-10, qPrintable(QString::number(nearest)));
    }
}

void TestLiveSamplers::guidanceIdentities()
{
    for (const double delta : {0.0, 0.3, 1.0, 1.7}) {
        for (const double c : {-1.1, 0.2, 5.0})
            QCOMPARE(guidedNoise(c, 0.37, 1.0, delta), c); // γ = 1: ε_c to the bit
    }
    for (const double gamma : {0.0, 1.0, 1.5, 7.5})
        QCOMPARE(guidedNoise(0.123f, 0.123f, static_cast<float>(gamma), 1.0f), 0.123f);
    // The formula itself: δε̄ + γ(ε_c − δε̄).
    QVERIFY(near(guidedNoise(0.4, -0.2, 2.5, 0.8), -0.16 + 2.5 * (0.4 + 0.16), 1e-14));
    // The input frame as reference: x = αx_ref + σε̄.
    QVERIFY(near(0.6 * 0.25 + 0.8 * virtualNegative(0.9, 0.25, 0.6, 0.8), 0.9, 1e-14));
}

void TestLiveSamplers::guidanceOfBothPredictionsIsOne()
{
    const std::vector<double> x = numbers(33, 0), noise = numbers(33, 1), other = numbers(33, 2);
    const double alpha = 0.6, sigma = 0.8;
    for (const GuidanceKind kind :
         {GuidanceKind::Full, GuidanceKind::SelfNegative, GuidanceKind::OnetimeNegative}) {
        const bool isFull = kind == GuidanceKind::Full;
        const GuidanceSettings settings{kind, 1.8, 0.9};
        std::vector<double> asNoise = noise, asV(33), otherV(33), back(33);
        const auto toV = [&](std::size_t i, double e) {
            return predictionOf(Prediction::V, (x[i] - sigma * e) / alpha, e, alpha, sigma);
        };
        for (std::size_t i = 0; i < 33; ++i) {
            asV[i] = toV(i, noise[i]);
            otherV[i] = toV(i, other[i]);
        }
        guide<double>(settings, Prediction::Epsilon, {x, asNoise, other, alpha, sigma});
        guide<double>(settings, Prediction::V, {x, asV, isFull ? otherV : other, alpha, sigma});
        for (std::size_t i = 0; i < 33; ++i)
            back[i] = noiseFrom(Prediction::V, x[i], asV[i], alpha, sigma);
        QCOMPARE(apart(back, asNoise, 1e-13, 1e-13), QString());
        QVERIFY(!difference(asNoise, noise, 1e-3, 0).empty()); // something was guided
    }
    std::vector<double> kept = noise, estimate(33);
    guide<double>({GuidanceKind::SelfNegative, 1.0, 0.4}, Prediction::Epsilon,
                  {x, kept, other, alpha, sigma});
    QCOMPARE(apart(kept, noise, 0, 0), QString());
    // Against its own estimate nothing changes, whatever γ.
    estimateOf<double>(Prediction::Epsilon, x, noise, alpha, sigma, estimate);
    guide<double>({GuidanceKind::OnetimeNegative, 4.0, 1.0}, Prediction::Epsilon,
                  {x, kept, estimate, alpha, sigma});
    QCOMPARE(apart(kept, noise, 1e-14, 1e-14), QString());
}

void TestLiveSamplers::guidanceCountsEvaluations()
{
    QCOMPARE(evaluations(GuidanceKind::None, 4), 4);
    QCOMPARE(evaluations(GuidanceKind::Full, 4), 8);
    QCOMPARE(evaluations(GuidanceKind::SelfNegative, 4), 4);
    QCOMPARE(evaluations(GuidanceKind::OnetimeNegative, 4), 5);
}

VERGENCE_TEST(TestLiveSamplers)
#include "tst_live_samplers.moc"
