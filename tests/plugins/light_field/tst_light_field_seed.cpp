#include <algorithm>
#include <cmath>

#include <QTest>

#include "plugins/light_field/compute/evaluation.h"
#include "plugins/light_field/compute/seed_operator.h"
#include "plugins/light_field/compute/solver.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::light_field;

namespace {

/// One distinct board of the seed profile after AdamW 0.03: white pixels, losses, whole-frame and
/// ROI PSNR.
struct Board {
    int n, white;
    double l1, l2, l10, l50, l100, psnr, roi;
};

constexpr Board kBoards[] = {
    {26, 9862, .037621, .029254, .007424, .001177, .0010727, 29.70, 19.58},
    {28, 9816, .037445, .029122, .007382, .001172, .0010652, 29.73, 19.61},
    {30, 9868, .037643, .029279, .007499, .001229, .0011268, 29.48, 19.38},
    {32, 9828, .037491, .029154, .007421, .001174, .0010691, 29.71, 19.58},
    {34, 9862, .037621, .029277, .007511, .001233, .0011280, 29.48, 19.35},
    {36, 9818, .037453, .029147, .007425, .001131, .0010252, 29.89, 19.80},
    {38, 9890, .037727, .029339, .007486, .001221, .0011156, 29.53, 19.41},
    {40, 9834, .037514, .029180, .007433, .001193, .0010848, 29.65, 19.52},
    {42, 9828, .037491, .029161, .007415, .001160, .0010539, 29.77, 19.69},
    {44, 9846, .037560, .029242, .007397, .001141, .0010338, 29.86, 19.76},
    {46, 9840, .037537, .029199, .007456, .001158, .0010540, 29.77, 19.69},
    {48, 9856, .037598, .029275, .007491, .001210, .0011035, 29.57, 19.42},
    {52, 9790, .037346, .029030, .007359, .001174, .0010686, 29.71, 19.58},
    {54, 9836, .037521, .029187, .007423, .001189, .0010822, 29.66, 19.51},
    {56, 9834, .037514, .029140, .007461, .001205, .0011028, 29.58, 19.54},
    {60, 9906, .037788, .029426, .007451, .001123, .0010148, 29.94, 19.76},
};

SolverSettings adamW(int iterations)
{
    SolverSettings settings;
    settings.kind = SolverKind::AdamW;
    settings.iterations = iterations;
    settings.weightDecay = 0.01;
    settings.epsilon = 1e-8;
    return settings;
}

double decibel(double mse)
{
    return -10 * std::log10(mse);
}

} // namespace

class TestLightFieldSeed : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void geometryCountsAreKnown();
    void boardsFollowTheSeed();
    void smallerRunsFollowTheSeed_data();
    void smallerRunsFollowTheSeed();
    void pgaReachesTheOptimumSooner();
    void duplicateBoardsAreTheSame();
    void greyRunEqualsColourRun();

private:
    Targets targetsOf(const Optics& optics, int rays, const std::vector<int>& boards,
                      int channels = 1) const;

    std::shared_ptr<Device> m_device = makeCpuDevice();
    std::unique_ptr<Stream> m_stream = m_device->createStream();
};

Targets TestLightFieldSeed::targetsOf(const Optics& optics, int rays,
                                      const std::vector<int>& boards, int channels) const
{
    std::vector<LaneScene> scenes;
    for (const int n : boards)
        scenes.push_back({checkerboardScene({.n = n}), channels});
    return renderSeedTargets(*m_stream, m_device, optics, 30.0, rays, scenes);
}

void TestLightFieldSeed::geometryCountsAreKnown()
{
    const SeedOperator op(*m_stream, m_device, seedOptics(), 30.0, 1);
    const SeedCounts& counts = op.counts();
    QVERIFY2(std::abs(counts.validRays - 258464) <= 20,
             qPrintable(QString::number(counts.validRays)));
    QVERIFY2(std::abs(counts.activeTexels - 190980) <= 20,
             qPrintable(QString::number(counts.activeTexels)));
    QVERIFY(std::abs(counts.litPixels - 190832) <= 20);
    QCOMPARE(counts.touchedMost, Index(14));
    const double shares[] = {1.8, 70.5, 9.3, 5.0, 3.7, 3.1, 2.7, 2.5};
    for (std::size_t k = 0; k < 8; ++k)
        QVERIFY(std::abs(100.0 * static_cast<double>(counts.raysPerPlane[k]) / (512.0 * 512) -
                         shares[k]) < 0.051);
    const Targets targets = targetsOf(seedOptics(), 1, {40});
    const auto roi = targets.roi.toHost<float>(*m_stream);
    const auto reached = op.rowSums(*m_stream).toHost<float>(*m_stream);
    int inside = 0, unreachable = 0;
    for (std::size_t i = 0; i < roi.size(); ++i) {
        inside += roi[i] > 0 ? 1 : 0;
        unreachable += roi[i] > 0 && reached[i] == 0 ? 1 : 0;
    }
    QCOMPARE(inside, 19672);
    QVERIFY(std::abs(unreachable - 200) <= 2);
}

void TestLightFieldSeed::boardsFollowTheSeed()
{
    std::vector<int> boards;
    for (const Board& board : kBoards)
        boards.push_back(board.n);
    // All sixteen side by side, which must not change any of them.
    const auto op = std::make_shared<SeedOperator>(*m_stream, m_device, seedOptics(), 30.0, 1);
    const Targets targets = targetsOf(seedOptics(), 1, boards);
    Solver solver(*m_stream, op, targets, adamW(100));
    std::vector<std::vector<double>> losses;
    while (!solver.isDone())
        losses.push_back(solver.iterate(*m_stream).laneMse);
    Evaluator evaluator(op, targets);
    const Tensor planes = solver.planes(*m_stream);
    const auto roi = targets.roi.toHost<float>(*m_stream);
    for (std::size_t b = 0; b < boards.size(); ++b) {
        const Board& board = kBoards[b];
        const auto check = [&](const char* what, double value, double expected, double tolerance) {
            if (std::abs(value - expected) > tolerance)
                qWarning("n = %d, %s: %.8g instead of %.8g", board.n, what, value, expected);
            return std::abs(value - expected) <= tolerance;
        };
        const auto target = laneToHost(*m_stream, targets.radiance, 0, static_cast<int>(b));
        const auto white =
            std::count_if(target.begin(), target.end(), [](float value) { return value > 0.5f; });
        QVERIFY(check("white pixels", static_cast<double>(white), board.white, 2));
        QVERIFY(check("loss 1", losses[0][b], board.l1, 1e-5));
        QVERIFY(check("loss 2", losses[1][b], board.l2, 1e-5));
        QVERIFY(check("loss 10", losses[9][b], board.l10, 1e-5));
        QVERIFY(check("loss 50", losses[49][b], board.l50, 0.01 * board.l50));
        QVERIFY(check("loss 100", losses[99][b], board.l100, 0.01 * board.l100));
        const Quality quality =
            evaluator.evaluate(*m_stream, planes, static_cast<int>(b), 1, false);
        QVERIFY(check("PSNR", decibel(quality.mse), board.psnr, 0.05));
        const auto image = laneToHost(*m_stream, evaluator.images(), 0, static_cast<int>(b));
        double sum = 0, count = 0;
        for (std::size_t i = 0; i < roi.size(); ++i) {
            if (roi[i] > 0) {
                const double difference =
                    static_cast<double>(image[i]) - static_cast<double>(target[i]);
                sum += difference * difference;
                count += 1;
            }
        }
        QVERIFY(check("ROI PSNR", decibel(sum / count), board.roi, 0.05));
    }
}

void TestLightFieldSeed::smallerRunsFollowTheSeed_data()
{
    QTest::addColumn<int>("resolution");
    QTest::addColumn<int>("panel");
    QTest::addColumn<int>("rays");
    QTest::addColumn<QList<double>>("losses");
    QTest::newRow("128, 512, 1 ray") << 128 << 512 << 1 << QList<double>{.037354, .029126, .022361};
    QTest::newRow("128, 512, 4 rays")
        << 128 << 512 << 4 << QList<double>{.021305, .011058, .005785};
    QTest::newRow("128, 512, 8 rays") << 128 << 512 << 8 << QList<double>{.019584, .008932};
    QTest::newRow("512, 1024, 8 rays") << 512 << 1024 << 8 << QList<double>{.019679, .009327};
    QTest::newRow("256, 1024, 1 ray")
        << 256 << 1024 << 1 << QList<double>{.037262, .028901, .022042};
    QTest::newRow("512, 1024, 1 ray")
        << 512 << 1024 << 1 << QList<double>{.037514, .029180, .022367, .017059};
}

void TestLightFieldSeed::smallerRunsFollowTheSeed()
{
    QFETCH(int, resolution);
    QFETCH(int, panel);
    QFETCH(int, rays);
    QFETCH(QList<double>, losses);
    Optics optics = seedOptics();
    optics.renderResolution = resolution;
    optics.panelResolution = panel;
    const auto op = std::make_shared<SeedOperator>(*m_stream, m_device, optics, 30.0, rays);
    Solver solver(*m_stream, op, targetsOf(optics, rays, {40}),
                  adamW(static_cast<int>(losses.size())));
    for (const double expected : losses) {
        const IterationRecord record = solver.iterate(*m_stream);
        QVERIFY2(std::abs(record.mse - expected) < 1e-5,
                 qPrintable(QString::number(record.mse, 'g', 8)));
        if (resolution == 512 && rays == 1 && record.iteration == 1)
            QVERIFY(std::abs(record.gradientNorm - 8.9e-4) < 1e-5);
    }
}

void TestLightFieldSeed::pgaReachesTheOptimumSooner()
{
    const auto op = std::make_shared<SeedOperator>(*m_stream, m_device, seedOptics(), 30.0, 1);
    SolverSettings settings;
    settings.iterations = 31;
    settings.tolerance = 0;
    Solver solver(*m_stream, op, targetsOf(seedOptics(), 1, {40}), settings);
    std::vector<double> losses;
    while (!solver.isDone())
        losses.push_back(solver.iterate(*m_stream).mse);
    QVERIFY2(losses[12] < 1.01 * 0.0010848, qPrintable(QString::number(losses[12], 'g', 8)));
    QVERIFY2(std::abs(losses[30] - 0.00108395) < 2e-6,
             qPrintable(QString::number(losses[30], 'g', 8)));
}

void TestLightFieldSeed::duplicateBoardsAreTheSame()
{
    QCOMPARE(seedBoards().size(), std::size_t(18));
    QCOMPARE(checkerCellSize(48), checkerCellSize(50));
    QCOMPARE(checkerCellSize(56), checkerCellSize(58));
    QCOMPARE(checkerCellSize(26), 38);
    QCOMPARE(checkerCellSize(60), 16);
}

void TestLightFieldSeed::greyRunEqualsColourRun()
{
    Optics optics = seedOptics();
    optics.renderResolution = 128;
    optics.panelResolution = 256;
    const auto op = std::make_shared<SeedOperator>(*m_stream, m_device, optics, 30.0, 1);
    Solver grey(*m_stream, op, targetsOf(optics, 1, {40}), adamW(5));
    Solver colour(*m_stream, op, targetsOf(optics, 1, {40}, 3), adamW(5));
    for (int i = 0; i < 5; ++i) {
        const IterationRecord a = grey.iterate(*m_stream), b = colour.iterate(*m_stream);
        QVERIFY(std::abs(a.mse - b.mse) < 1e-9);
        QVERIFY(std::abs(a.gradientNorm - b.gradientNorm) < 1e-6 * a.gradientNorm);
        QVERIFY(std::abs(a.shareAtZero - b.shareAtZero) < 1e-12);
    }
}

VERGENCE_TEST(TestLightFieldSeed)
#include "tst_light_field_seed.moc"
