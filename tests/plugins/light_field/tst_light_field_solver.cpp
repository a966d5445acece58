#include <algorithm>
#include <cmath>
#include <numeric>

#include <QTest>

#include "core/base/error.h"
#include "plugins/light_field/compute/coarse.h"
#include "plugins/light_field/compute/evaluation.h"
#include "plugins/light_field/compute/solver.h"
#include "tests/plugins/light_field/light_field_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::light_field;

class TestLightFieldSolver : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void reachableTargetsAreRecovered();
    void adamNeedsMoreIterations();
    void plainProjectedGradientNeverRises();
    void mirroredTargetsGiveMirroredPanels();
    void permutedChannelsPermuteResults();
    void boardsDoNotDisturbEachOther();
    void texelsStayInTheBox_data();
    void texelsStayInTheBox();
    void dimDisplaySaturates();
    void everySolverLowersTheLoss_data();
    void everySolverLowersTheLoss();
    void subsetsBeatOneGradientStep();
    void smoothnessSmooths();
    void regionOfInterestGainsFromItsWeight();
    void restoredStateContinuesExactly_data();
    void restoredStateContinuesExactly();
    void foreignStateIsRefused();
    void stopRuleEndsEarly();
    void greyAndGivenStartsAreUsed();
    void directPlanesBeatBlack();
    void directPlanesShowTheBackground();
    void enlargingKeepsRamps();
    void coarseStartIsBetterThanBlack();

private:
    Targets targetsFrom(const Tensor& images, int channels) const;
    Targets reachable(const LinearOperator& op, int channels) const;
    Targets scene(const std::vector<LaneScene>& scenes) const;
    std::vector<float> run(Solver& solver, int iterations) const;

    std::shared_ptr<Device> m_device = makeCpuDevice();
    std::unique_ptr<Stream> m_stream = m_device->createStream();
    std::vector<EyeState> m_states = trainingStates({});
    std::shared_ptr<TableOperator> m_operator =
        std::make_shared<TableOperator>(*m_stream, m_device, smallOptics(), m_states, 4);
};

Targets TestLightFieldSolver::targetsFrom(const Tensor& images, int channels) const
{
    Targets targets;
    targets.radiance = images;
    const Shape shape{images.extent(0), images.extent(1), images.extent(2)};
    targets.depth = targets.coverage = Tensor::zeros(*m_stream, m_device, shape);
    targets.roi = Tensor::fromHost<float>(
        *m_stream, m_device, shape,
        std::vector<float>(static_cast<std::size_t>(elementCount(shape)), 1.0f));
    targets.channels = channels;
    return targets;
}

Targets TestLightFieldSolver::reachable(const LinearOperator& op, int channels) const
{
    const int lanes = lanesFor(channels);
    auto texels = randomTensor<float>(*m_stream, m_device, {op.unknowns(), lanes}, 21, 0, 1)
                      .toHost<float>(*m_stream);
    for (std::size_t i = 0; i < texels.size(); ++i) {
        if (static_cast<int>(i % static_cast<std::size_t>(lanes)) >= channels)
            texels[i] = 0;
    }
    Tensor images = Tensor::empty(m_device, {op.states(), op.resolution(), op.resolution(), lanes});
    op.forward(*m_stream,
               Tensor::fromHost<float>(*m_stream, m_device, {op.unknowns(), lanes}, texels),
               images);
    return targetsFrom(images, channels);
}

Targets TestLightFieldSolver::scene(const std::vector<LaneScene>& scenes) const
{
    return renderTargets(*m_stream, m_device, m_operator->optics(), m_states, 4, scenes);
}

std::vector<float> TestLightFieldSolver::run(Solver& solver, int iterations) const
{
    for (int i = 0; i < iterations; ++i)
        solver.iterate(*m_stream);
    return solver.planes(*m_stream).toHost<float>(*m_stream);
}

void TestLightFieldSolver::reachableTargetsAreRecovered()
{
    SolverSettings settings;
    settings.iterations = 101;
    settings.tolerance = 0;
    Solver solver(*m_stream, m_operator, reachable(*m_operator, 1), settings);
    std::vector<double> psnrs;
    while (!solver.isDone())
        psnrs.push_back(solver.iterate(*m_stream).psnr);
    QVERIFY2(psnrs[20] > 40 && psnrs[50] > 55 && psnrs[100] > 65,
             qPrintable(QString("%1 %2 %3").arg(psnrs[20]).arg(psnrs[50]).arg(psnrs[100])));
}

void TestLightFieldSolver::adamNeedsMoreIterations()
{
    SolverSettings settings;
    settings.kind = SolverKind::Adam;
    settings.iterations = 100;
    Solver solver(*m_stream, m_operator, reachable(*m_operator, 1), settings);
    double psnr = 0;
    while (!solver.isDone())
        psnr = solver.iterate(*m_stream).psnr;
    QVERIFY2(psnr > 25 && psnr < 40, qPrintable(QString::number(psnr)));
}

void TestLightFieldSolver::plainProjectedGradientNeverRises()
{
    SolverSettings settings;
    settings.accelerated = false;
    settings.roiWeight = 3;
    Solver solver(*m_stream, m_operator, scene({{checkerboardScene({}), 1}}), settings);
    double before = HUGE_VAL;
    while (!solver.isDone()) {
        const double loss = solver.iterate(*m_stream).loss;
        QVERIFY(loss <= before * (1 + 1e-6));
        before = loss;
    }
}

void TestLightFieldSolver::mirroredTargetsGiveMirroredPanels()
{
    // One centred ray per pixel is its own mirror image.
    const auto op =
        std::make_shared<TableOperator>(*m_stream, m_device, smallOptics(), m_states, 1);
    const LaneScene lopsided{namedScene("textured_basic"), 3};
    const Targets targets =
        renderTargets(*m_stream, m_device, op->optics(), m_states, 1, std::span(&lopsided, 1));
    auto values = targets.radiance.toHost<float>(*m_stream);
    const std::size_t w = 64, r = 128;
    for (std::size_t line = 0; line < values.size() / (w * 4); ++line) {
        for (std::size_t j = 0; j < w / 2; ++j) {
            for (std::size_t c = 0; c < 4; ++c)
                std::swap(values[(line * w + j) * 4 + c], values[(line * w + w - 1 - j) * 4 + c]);
        }
    }
    SolverSettings settings;
    Solver straight(*m_stream, op, targets, settings);
    Solver mirrored(
        *m_stream, op,
        targetsFrom(Tensor::fromHost<float>(*m_stream, m_device, targets.radiance.shape(), values),
                    3),
        settings);
    const auto a = run(straight, 10), b = run(mirrored, 10);
    for (std::size_t line = 0; line < a.size() / (r * 4); ++line) {
        for (std::size_t q = 0; q < r; ++q) {
            for (std::size_t c = 0; c < 3; ++c)
                QVERIFY(std::abs(a[(line * r + q) * 4 + c] - b[(line * r + r - 1 - q) * 4 + c]) <
                        1e-4f);
        }
    }
}

void TestLightFieldSolver::permutedChannelsPermuteResults()
{
    const Targets targets = scene({{namedScene("basic"), 3}});
    auto values = targets.radiance.toHost<float>(*m_stream);
    for (std::size_t i = 0; i < values.size(); i += 4)
        std::rotate(&values[i], &values[i] + 1, &values[i] + 3);
    const Targets rotated = targetsFrom(
        Tensor::fromHost<float>(*m_stream, m_device, targets.radiance.shape(), values), 3);
    Solver first(*m_stream, m_operator, targets, {}), second(*m_stream, m_operator, rotated, {});
    auto a = run(first, 10);
    const auto b = run(second, 10);
    for (std::size_t i = 0; i < a.size(); i += 4)
        std::rotate(&a[i], &a[i] + 1, &a[i] + 3);
    QVERIFY(a == b);
}

void TestLightFieldSolver::boardsDoNotDisturbEachOther()
{
    std::vector<LaneScene> scenes;
    for (int n = 20; n < 36; ++n)
        scenes.push_back({checkerboardScene({.n = n}), 1});
    Solver together(*m_stream, m_operator, scene(scenes), {});
    const auto all = run(together, 12);
    for (const std::size_t lane : {0, 7, 15}) {
        Solver alone(*m_stream, m_operator, scene({scenes[lane]}), {});
        const auto single = run(alone, 12);
        for (std::size_t i = 0; i < single.size(); ++i)
            QVERIFY(std::abs(single[i] - all[i * 16 + lane]) < 1e-4f);
    }
}

void TestLightFieldSolver::texelsStayInTheBox_data()
{
    QTest::addColumn<int>("kind");
    QTest::newRow("pga") << static_cast<int>(SolverKind::Pga);
    QTest::newRow("adam") << static_cast<int>(SolverKind::Adam);
    QTest::newRow("adamw") << static_cast<int>(SolverKind::AdamW);
    QTest::newRow("sirt") << static_cast<int>(SolverKind::Sirt);
    QTest::newRow("os_sirt") << static_cast<int>(SolverKind::OsSirt);
    QTest::newRow("cg") << static_cast<int>(SolverKind::Cg);
}

void TestLightFieldSolver::texelsStayInTheBox()
{
    QFETCH(int, kind);
    SolverSettings settings;
    settings.kind = static_cast<SolverKind>(kind);
    Solver solver(*m_stream, m_operator, scene({{namedScene("basic"), 3}}), settings);
    for (int i = 0; i < 8; ++i) {
        for (const float value : run(solver, 1))
            QVERIFY(value >= 0 && value <= 1);
    }
}

void TestLightFieldSolver::dimDisplaySaturates()
{
    Optics optics = smallOptics();
    optics.headroom = 1;
    const auto op = std::make_shared<TableOperator>(*m_stream, m_device, optics, m_states, 4);
    Tensor white = Tensor::fromHost<float>(*m_stream, m_device, {3, 64, 64, 1},
                                           std::vector<float>(3 * 64 * 64, 1.0f));
    Solver solver(*m_stream, op, targetsFrom(white, 1), {});
    IterationRecord last;
    for (int i = 0; i < 20; ++i)
        last = solver.iterate(*m_stream);
    QVERIFY(std::isfinite(last.loss) && last.shareAtOne > 0.9);
}

void TestLightFieldSolver::everySolverLowersTheLoss_data()
{
    texelsStayInTheBox_data();
}

void TestLightFieldSolver::everySolverLowersTheLoss()
{
    QFETCH(int, kind);
    SolverSettings settings;
    settings.kind = static_cast<SolverKind>(kind);
    settings.tolerance = 0;
    Solver solver(*m_stream, m_operator, scene({{checkerboardScene({}), 1}}), settings);
    const IterationRecord start = solver.iterate(*m_stream);
    IterationRecord end;
    while (!solver.isDone())
        end = solver.iterate(*m_stream);
    QVERIFY2(end.loss < 0.2 * start.loss,
             qPrintable(QString("%1 → %2").arg(start.loss).arg(end.loss)));
    QCOMPARE(end.iteration, 30);
    // Of subsets nothing is known of all rays at one point, and no bounds hold conjugate gradients.
    const bool hasSubsets = settings.kind == SolverKind::OsSirt;
    QCOMPARE(std::isnan(end.gradientNorm), hasSubsets);
    QVERIFY(hasSubsets || (end.gradientNorm > 0 && end.gradientNorm < start.gradientNorm));
    for (const double share : {end.shareAtZero, end.shareAtOne}) {
        QCOMPARE(std::isnan(share), hasSubsets || settings.kind == SolverKind::Cg);
        QVERIFY(std::isnan(share) || (share >= 0 && share < 1));
    }
    QVERIFY(solver.allocatedBytes() > 0 && !solver.preview().isEmpty());
}

void TestLightFieldSolver::subsetsBeatOneGradientStep()
{
    SolverSettings subsets;
    subsets.kind = SolverKind::OsSirt;
    SolverSettings plain;
    plain.kind = SolverKind::Sirt;
    const Targets targets = scene({{checkerboardScene({}), 1}});
    Solver fast(*m_stream, m_operator, targets, subsets),
        slow(*m_stream, m_operator, targets, plain);
    Evaluator evaluator(m_operator, targets);
    run(fast, 1);
    run(slow, 1);
    QVERIFY(evaluator.evaluate(*m_stream, fast.planes(*m_stream), 0, 1, false).psnrRoi >
            evaluator.evaluate(*m_stream, slow.planes(*m_stream), 0, 1, false).psnrRoi + 1);
}

void TestLightFieldSolver::smoothnessSmooths()
{
    const auto roughness = [&](double lambda) {
        SolverSettings settings;
        settings.smoothness = lambda;
        Solver solver(*m_stream, m_operator, scene({{checkerboardScene({}), 1}}), settings);
        const auto planes = run(solver, 20);
        double sum = 0;
        for (std::size_t i = 1; i < planes.size(); ++i)
            sum += std::abs(static_cast<double>(planes[i] - planes[i - 1]));
        return sum;
    };
    QVERIFY(roughness(1.0) < 0.8 * roughness(0.0));
}

void TestLightFieldSolver::regionOfInterestGainsFromItsWeight()
{
    const Targets targets = scene({{checkerboardScene({}), 1}});
    Evaluator evaluator(m_operator, targets);
    const auto quality = [&](double roi) {
        SolverSettings settings;
        settings.roiWeight = roi;
        Solver solver(*m_stream, m_operator, targets, settings);
        run(solver, 20);
        return evaluator.evaluate(*m_stream, solver.planes(*m_stream), 0, 1, false).psnrRoi;
    };
    QVERIFY(quality(10) > quality(1));
}

void TestLightFieldSolver::restoredStateContinuesExactly_data()
{
    texelsStayInTheBox_data();
}

void TestLightFieldSolver::restoredStateContinuesExactly()
{
    QFETCH(int, kind);
    SolverSettings settings;
    settings.kind = static_cast<SolverKind>(kind);
    const Targets targets = scene({{namedScene("basic"), 3}});
    Solver whole(*m_stream, m_operator, targets, settings),
        half(*m_stream, m_operator, targets, settings);
    Solver resumed(*m_stream, m_operator, targets, settings);
    run(half, 4);
    resumed.restore(*m_stream, half.state());
    QCOMPARE(resumed.iteration(), 4);
    QVERIFY(run(whole, 9) == run(resumed, 5));
}

void TestLightFieldSolver::foreignStateIsRefused()
{
    const Targets targets = scene({{checkerboardScene({}), 1}});
    SolverSettings adam;
    adam.kind = SolverKind::Adam;
    Solver one(*m_stream, m_operator, targets, {}), other(*m_stream, m_operator, targets, adam);
    QVERIFY_THROWS_EXCEPTION(ContractError, other.restore(*m_stream, one.state()));
    const Targets colour = scene({{namedScene("basic"), 3}});
    Solver third(*m_stream, m_operator, colour, {});
    QVERIFY_THROWS_EXCEPTION(ContractError, third.restore(*m_stream, one.state()));
    QVERIFY_THROWS_EXCEPTION(ContractError, one.initialise(*m_stream, InitMode::Given));
}

void TestLightFieldSolver::stopRuleEndsEarly()
{
    SolverSettings settings;
    settings.iterations = 10000;
    settings.tolerance = 1e-2;
    Solver solver(*m_stream, m_operator, scene({{checkerboardScene({}), 1}}), settings);
    while (!solver.isDone())
        solver.iterate(*m_stream);
    QVERIFY(solver.iteration() > 5 && solver.iteration() < 1000);
}

void TestLightFieldSolver::greyAndGivenStartsAreUsed()
{
    Solver solver(*m_stream, m_operator, scene({{namedScene("basic"), 3}}), {});
    solver.initialise(*m_stream, InitMode::MidGrey);
    const Tensor grey = solver.planes(*m_stream);
    const auto values = grey.toHost<float>(*m_stream);
    QVERIFY(values[0] == 0.5f && values[2] == 0.5f && values[3] == 0.0f);
    run(solver, 3);
    solver.initialise(*m_stream, InitMode::Given, grey);
    QCOMPARE(solver.iteration(), 0);
    QVERIFY(solver.planes(*m_stream).toHost<float>(*m_stream) == values);
}

void TestLightFieldSolver::directPlanesBeatBlack()
{
    const LaneScene board{checkerboardScene({.n = 10}), 1};
    const Targets targets = scene({board});
    Evaluator evaluator(m_operator, targets);
    const Tensor planes = directPlanes(*m_stream, *m_operator, std::span(&board, 1));
    const Tensor black = Tensor::zeros(*m_stream, m_device, planes.shape());
    QVERIFY(evaluator.evaluate(*m_stream, planes, 0, 1, false).psnrRoi >
            evaluator.evaluate(*m_stream, black, 0, 1, false).psnrRoi + 3);
}

void TestLightFieldSolver::directPlanesShowTheBackground()
{
    LaneScene board{checkerboardScene({.n = 10}), 1};
    const auto light = [&] {
        const Tensor planes = directPlanes(*m_stream, *m_operator, std::span(&board, 1));
        const auto values = planes.toHost<float>(*m_stream);
        return std::accumulate(values.begin(), values.end(), 0.0);
    };
    const double onBlack = light();
    board.scene.setBackground({0.25F, 0.25F, 0.25F});
    QVERIFY(light() > 1.1 * onBlack);
}

void TestLightFieldSolver::enlargingKeepsRamps()
{
    constexpr int kSide = 4;
    std::vector<float> ramp;
    for (int row = 0; row < kSide; ++row) {
        for (int column = 0; column < kSide; ++column)
            ramp.insert(ramp.end(), {static_cast<float>(column), static_cast<float>(row), 0, 2});
    }
    const Tensor small = Tensor::fromHost<float>(*m_stream, m_device, {1, kSide, kSide, 4}, ramp);
    const Tensor large = enlarged(*m_stream, small);
    QVERIFY(large.shape() == (Shape{1, 2 * kSide, 2 * kSide, 4}));
    const auto values = large.toHost<float>(*m_stream);
    // Texel centres of the large panel lie at (i + 1/2) / 2 − 1/2 of the small one.
    for (int i = 0; i < 2 * kSide; ++i) {
        const float expected = std::clamp((static_cast<float>(i) - 0.5f) / 2, 0.0f, 3.0f);
        QCOMPARE(values[static_cast<std::size_t>(i) * 4], expected);
        QCOMPARE(values[static_cast<std::size_t>(i * 2 * kSide) * 4 + 1], expected);
        QCOMPARE(values[static_cast<std::size_t>(i) * 4 + 3], 2.0f);
    }
}

void TestLightFieldSolver::coarseStartIsBetterThanBlack()
{
    const auto states = trainingStates({});
    const auto op = std::make_shared<TableOperator>(*m_stream, m_device, smallOptics(), states, 4);
    const LaneScene scene{checkerboardScene({.n = 26}), 1};
    const Targets targets =
        renderTargets(*m_stream, m_device, smallOptics(), states, 4, std::span(&scene, 1));
    SolverSettings settings;
    settings.iterations = 15;
    Solver solver(*m_stream, op, targets, settings);
    const double black = solver.iterate(*m_stream).mse;
    const Tensor start = coarsePlanes(*m_stream, *op, scene, 4, settings, [] { return false; });
    solver.initialise(*m_stream, InitMode::Given, start);
    const double coarse = solver.iterate(*m_stream).mse;
    QVERIFY2(coarse < 0.5 * black, qPrintable(QString("%1 %2").arg(coarse).arg(black)));
}

VERGENCE_TEST(TestLightFieldSolver)
#include "tst_light_field_solver.moc"
