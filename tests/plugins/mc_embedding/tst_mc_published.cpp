#include <algorithm>
#include <array>

#include <QTest>

#include "plugins/mc_embedding/statistics/reliability.h"
#include "statistics_support.h"
#include "tests/support/test_program.h"

using namespace vergence::mc_embedding;
using fixtures::isNear;

// The tables of sections 8.3, 8.4 and 8.9 of the specification through our formulas. Published
// numbers are rounded, so each derived figure is bracketed by those of the rounded inputs'
// extremes.
class TestMcPublished : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void ratiosFollowFromSignalAndNoise_data();
    void ratiosFollowFromSignalAndNoise();
    void reanalysisFollowsFromTheArrays_data();
    void reanalysisFollowsFromTheArrays();
    void passesNeededAfterNormalisation_data();
    void passesNeededAfterNormalisation();
    void spearmanBrownPredictsLongerRuns();
    void statusOfThePublishedCells();
};

namespace {

constexpr std::size_t kTrials = 10, kImages = 500;

/// A published number and half a unit of its last digit.
struct Printed {
    double value = 0, half = 0;
};

/// Scores whose signal and noise are exactly these.
Matrix scoresWith(double signal, double noise, double mean)
{
    auto image = fixtures::normalNumbers(kImages, 1);
    double sum = 0, squares = 0;
    for (double v : image)
        sum += v;
    for (double& v : image) {
        v -= sum / kImages;
        squares += v * v;
    }
    const double scale = std::sqrt(signal * (kImages - 1) / squares);

    Matrix scores = fixtures::normalMatrix(kTrials, kImages, 2);
    double within = 0;
    for (std::size_t i = 0; i < kImages; ++i) {
        double average = 0;
        for (std::size_t k = 0; k < kTrials; ++k)
            average += scores(k, i) / kTrials;
        for (std::size_t k = 0; k < kTrials; ++k) {
            scores(k, i) -= average;
            within += scores(k, i) * scores(k, i);
        }
    }
    const double spread = std::sqrt(noise * kImages * (kTrials - 1) / within);
    for (std::size_t k = 0; k < kTrials; ++k)
        for (std::size_t i = 0; i < kImages; ++i)
            scores(k, i) = mean + scale * image[i] + spread * scores(k, i);
    return scores;
}

/// Reliability at the four corners of the rounded signal and noise, made unbiased.
std::array<Reliability, 4> corners(Printed signal, Printed noise, int passes, double mean)
{
    const double factor = std::pow(passes / (passes - 1.0), 2);
    std::array<Reliability, 4> out;
    for (std::size_t i = 0; i < 4; ++i) {
        const double s = signal.value + (i & 1 ? 1 : -1) * signal.half;
        const double n = noise.value + (i & 2 ? 1 : -1) * noise.half;
        out[i] = reliability(scoresWith(s * factor, n * factor, mean), passes);
    }
    return out;
}

template <class Pick>
bool follows(const std::array<Reliability, 4>& cells, Printed printed, const Pick& pick)
{
    std::array<double, 4> values;
    std::transform(cells.begin(), cells.end(), values.begin(), pick);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const double slack = 1e-9 * std::abs(printed.value);
    const bool ok = *high >= printed.value - printed.half - slack &&
                    *low <= printed.value + printed.half + slack;
    if (!ok)
        qWarning("printed %.6g +- %.2g, here %.6g to %.6g", printed.value, printed.half, *low,
                 *high);
    return ok;
}

/// Passes are published rounded up.
bool passesFollow(const std::array<Reliability, 4>& cells, double target, double printed)
{
    return follows(cells, {printed, 0}, [target](const Reliability& r) {
        return std::ceil(passesForIcc(r, target).value);
    });
}

} // namespace

void TestMcPublished::ratiosFollowFromSignalAndNoise_data()
{
    QTest::addColumn<int>("passes");
    QTest::addColumn<double>("signal");
    QTest::addColumn<double>("signalUnit");
    QTest::addColumn<double>("noise");
    QTest::addColumn<double>("noiseUnit");
    QTest::addColumn<double>("snr");
    QTest::addColumn<double>("icc");
    const auto row = [](const char* name, int passes, double signal, double signalUnit,
                        double noise, double noiseUnit, double snr, double icc) {
        QTest::newRow(name) << passes << signal << signalUnit << noise << noiseUnit << snr << icc;
    };
    row("clip_b32 T=4 pre", 4, 4.44e-6, 1e-8, 2.72e-5, 1e-7, 0.163, 0.059);
    row("clip_b32 T=4 post", 4, 4.90e-10, 1e-12, 3.52e-9, 1e-11, 0.139, 0.038);
    row("clip_b32 T=16 pre", 16, 3.36e-6, 1e-8, 1.03e-5, 1e-7, 0.327, 0.185);
    row("clip_b32 T=16 post", 16, 3.31e-10, 1e-12, 1.34e-9, 1e-11, 0.247, 0.128);
    row("clip_b32 T=64 pre", 64, 2.84e-6, 1e-8, 2.80e-6, 1e-8, 1.014, 0.477);
    row("clip_b32 T=64 post", 64, 2.38e-10, 1e-12, 3.63e-10, 1e-12, 0.654, 0.356);
    row("siglip2_b16 T=4 pre", 4, 1.68e-6, 1e-8, 1.74e-6, 1e-8, 0.966, 0.464);
    row("siglip2_b16 T=4 post", 4, 1.76e-10, 1e-12, 1.10e-10, 1e-12, 1.600, 0.600);
    row("siglip2_b16 T=16 pre", 16, 2.36e-6, 1e-8, 6.07e-7, 1e-9, 3.883, 0.791);
    row("siglip2_b16 T=16 post", 16, 2.58e-10, 1e-12, 3.85e-11, 1e-13, 6.702, 0.868);
    row("siglip2_b16 T=64 pre", 64, 2.48e-6, 1e-8, 1.65e-7, 1e-9, 15.029, 0.937);
    row("siglip2_b16 T=64 post", 64, 2.77e-10, 1e-12, 1.05e-11, 1e-13, 26.493, 0.963);
    row("siglip2_so400m T=4 pre", 4, 1.39e-6, 1e-8, 3.61e-6, 1e-8, 0.386, 0.222);
    row("siglip2_so400m T=4 post", 4, 2.27e-11, 1e-13, 4.90e-11, 1e-13, 0.463, 0.266);
    row("siglip2_so400m T=16 pre", 16, 1.61e-6, 1e-8, 1.25e-6, 1e-8, 1.293, 0.544);
    row("siglip2_so400m T=16 post", 16, 2.87e-11, 1e-13, 1.71e-11, 1e-13, 1.681, 0.613);
    row("siglip2_so400m T=64 pre", 64, 1.64e-6, 1e-8, 3.49e-7, 1e-9, 4.689, 0.821);
    row("siglip2_so400m T=64 post", 64, 2.95e-11, 1e-13, 4.75e-12, 1e-14, 6.222, 0.860);
}

void TestMcPublished::ratiosFollowFromSignalAndNoise()
{
    QFETCH(int, passes);
    QFETCH(double, signal);
    QFETCH(double, signalUnit);
    QFETCH(double, noise);
    QFETCH(double, noiseUnit);
    QFETCH(double, snr);
    QFETCH(double, icc);
    const auto cells = corners({signal, signalUnit / 2}, {noise, noiseUnit / 2}, passes, 8e-3);
    QVERIFY(follows(cells, {snr, 5e-4}, [](const Reliability& r) { return r.snr.value; }));
    QVERIFY(follows(cells, {icc, 5e-4}, [](const Reliability& r) { return r.icc.value; }));
    // Without rounding between: both columns are one (section 6).
    QVERIFY(isNear((kTrials * snr - 1) / (kTrials * snr + kTrials - 1), icc, 1.5e-3));
}

void TestMcPublished::reanalysisFollowsFromTheArrays_data()
{
    QTest::addColumn<QList<double>>("arrays"); // signal, noise of T = 64, noise of T = 4, 16
    QTest::addColumn<QList<double>>("units");
    QTest::addColumn<QList<double>>("printed"); // mean, σ_b², c of T = 4, 16, 64, relative noise
    QTest::addColumn<QList<double>>("halves");
    QTest::addColumn<QList<double>>("passes"); // for 0.75, 0.90
    QTest::addColumn<QList<double>>("interval");
    QTest::newRow("clip_b32") << QList<double>{2.84e-6, 2.80e-6, 2.72e-5, 1.03e-5}
                              << QList<double>{1e-8, 1e-8, 1e-7, 1e-7}
                              << QList<double>{7.51e-3, 2.64e-6, 1.94e-4, 1.87e-4, 1.85e-4, 3.28}
                              << QList<double>{5e-6, 5e-9, 5e-7, 5e-7, 5e-7, 5e-3}
                              << QList<double>{211, 631} << QList<double>{0.442, 0.514};
    QTest::newRow("siglip2_b16") << QList<double>{2.48e-6, 1.65e-7, 1.74e-6, 6.07e-7}
                                 << QList<double>{1e-8, 1e-9, 1e-8, 1e-9}
                                 << QList<double>{9.37e-3, 2.54e-6, 1.24e-5,
                                                  1.10e-5, 1.09e-5, 0.124}
                                 << QList<double>{5e-6, 5e-9, 5e-8, 5e-8, 5e-8, 5e-4}
                                 << QList<double>{13, 39} << QList<double>{0.929, 0.945};
    QTest::newRow("siglip2_so400m")
        << QList<double>{1.64e-6, 3.49e-7, 3.61e-6, 1.25e-6}
        << QList<double>{1e-8, 1e-9, 1e-8, 1e-8}
        << QList<double>{8.42e-3, 1.65e-6, 2.57e-5, 2.27e-5, 2.31e-5, 0.325}
        << QList<double>{5e-6, 5e-9, 5e-8, 5e-8, 5e-8, 5e-4} << QList<double>{42, 126}
        << QList<double>{0.801, 0.840};
}

void TestMcPublished::reanalysisFollowsFromTheArrays()
{
    QFETCH(QList<double>, arrays);
    QFETCH(QList<double>, units);
    QFETCH(QList<double>, printed);
    QFETCH(QList<double>, halves);
    QFETCH(QList<double>, passes);
    QFETCH(QList<double>, interval);
    const double mean = printed[0];
    const Printed signal{arrays[0], units[0] / 2};
    const auto at64 = corners(signal, {arrays[1], units[1] / 2}, 64, mean);
    QVERIFY(follows(at64, {printed[1], halves[1]},
                    [](const Reliability& r) { return r.betweenVariance.value; }));
    const auto noisePerPass = [](const Reliability& r) { return r.noisePerPass.value; };
    const auto at4 = corners(signal, {arrays[2], units[2] / 2}, 4, mean);
    QVERIFY(follows(at4, {printed[2], halves[2]}, noisePerPass));
    const auto at16 = corners(signal, {arrays[3], units[3] / 2}, 16, mean);
    QVERIFY(follows(at16, {printed[3], halves[3]}, noisePerPass));
    QVERIFY(follows(at64, {printed[4], halves[4]}, noisePerPass));
    QVERIFY(follows(at64, {printed[5], halves[5]},
                    [](const Reliability& r) { return r.relativeNoise.value; }));
    QVERIFY(passesFollow(at64, 0.75, passes[0]));
    QVERIFY(passesFollow(at64, 0.90, passes[1]));
    QVERIFY(
        follows(at64, {interval[0], 5e-4}, [](const Reliability& r) { return r.iccLow.value; }));
    QVERIFY(
        follows(at64, {interval[1], 5e-4}, [](const Reliability& r) { return r.iccHigh.value; }));
}

void TestMcPublished::passesNeededAfterNormalisation_data()
{
    QTest::addColumn<double>("signal");
    QTest::addColumn<double>("signalUnit");
    QTest::addColumn<double>("noise");
    QTest::addColumn<double>("noiseUnit");
    QTest::addColumn<double>("passes");
    QTest::newRow("clip_b32") << 2.38e-10 << 1e-12 << 3.63e-10 << 1e-12 << 347.0;
    QTest::newRow("siglip2_b16") << 2.77e-10 << 1e-12 << 1.05e-11 << 1e-13 << 8.0;
    QTest::newRow("siglip2_so400m") << 2.95e-11 << 1e-13 << 4.75e-12 << 1e-14 << 32.0;
}

void TestMcPublished::passesNeededAfterNormalisation()
{
    QFETCH(double, signal);
    QFETCH(double, signalUnit);
    QFETCH(double, noise);
    QFETCH(double, noiseUnit);
    QFETCH(double, passes);
    const auto cells = corners({signal, signalUnit / 2}, {noise, noiseUnit / 2}, 64, 7e-5);
    QVERIFY(passesFollow(cells, 0.75, passes));
}

void TestMcPublished::spearmanBrownPredictsLongerRuns()
{
    QVERIFY(isNear(predictedIcc(0.430, 64, 128), 0.601, 5e-4));
    QVERIFY(isNear(predictedIcc(0.430, 64, 256), 0.751, 5e-4));
    QVERIFY(isNear(predictedIcc(0.574, 64, 128), 0.729, 5e-4));
    QVERIFY(isNear(predictedIcc(0.574, 64, 256), 0.843, 1e-3)); // 0.574 itself is rounded
    // ICC at any T follows from one T, within the 5 % by which c varies.
    QVERIFY(isNear(predictedIcc(0.477, 64, 16), 0.185, 0.02));
    QVERIFY(isNear(predictedIcc(0.937, 64, 16), 0.791, 0.02));
    QVERIFY(isNear(predictedIcc(0.821, 64, 16), 0.544, 0.02));
}

void TestMcPublished::statusOfThePublishedCells()
{
    // Scores with the signal and noise of a cell; ranks of normal scores follow the ICC closely
    // enough for these three.
    const auto cell = [](double signal, double noise) {
        return reliability(scoresWith(signal, noise, 8e-3), 64);
    };
    QCOMPARE(cell(2.84e-6, 2.80e-6).status, std::string("failed"));
    QCOMPARE(cell(2.36e-6, 6.07e-7).status, std::string("marginal"));
    QCOMPARE(cell(2.48e-6, 1.65e-7).status, std::string("usable"));
    QVERIFY(cell(2.48e-6, 1.65e-7).certain);
}

VERGENCE_TEST(TestMcPublished)
#include "tst_mc_published.moc"
