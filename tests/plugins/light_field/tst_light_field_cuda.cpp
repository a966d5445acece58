#include <cmath>

#include <QTest>

#include "plugins/light_field/compute/ground_truth.h"
#include "plugins/light_field/compute/seed_operator.h"
#include "plugins/light_field/compute/solver.h"
#include "tests/plugins/light_field/light_field_support.h"
#include "tests/support/cuda_device.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::light_field;

/// Every operation of the lab on the CUDA device against the CPU. Skipped by name where there is
/// none.
class TestLightFieldCuda : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void targetsEqualTheCpu();
    void operatorEqualsTheCpu_data();
    void operatorEqualsTheCpu();
    void lossesEqualTheCpu_data();
    void lossesEqualTheCpu();
    void seedProfileEqualsTheCpu();
    void directPlanesEqualTheCpu();

private:
    std::shared_ptr<Device> m_cpu = makeCpuDevice();
    std::unique_ptr<Stream> m_cpuStream = m_cpu->createStream();
    std::vector<EyeState> m_states = trainingStates({});
};

namespace {

/// Share of values that differ by more than the tolerance.
double shareOutside(const std::vector<float>& a, const std::vector<float>& b, float absolute,
                    float relative)
{
    double outside = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        outside += std::abs(a[i] - b[i]) > absolute + relative * std::abs(b[i]) ? 1 : 0;
    return a.size() == b.size() ? outside / static_cast<double>(a.size()) : 1.0;
}

} // namespace

void TestLightFieldCuda::targetsEqualTheCpu()
{
    VERGENCE_CUDA_DEVICE(device)
    const auto stream = device->createStream();
    const std::vector<LaneScene> scenes{{namedScene("textured_basic"), 3}};
    const auto cpu = renderTargets(*m_cpuStream, m_cpu, smallOptics(), m_states, 8, scenes);
    const auto cuda = renderTargets(*stream, device, smallOptics(), m_states, 8, scenes);
    // A texture edge may fall on either side of a sample.
    QVERIFY(shareOutside(cuda.radiance.toHost<float>(*stream),
                         cpu.radiance.toHost<float>(*m_cpuStream), 1e-5f, 0) < 1e-3);
    QVERIFY(shareOutside(cuda.coverage.toHost<float>(*stream),
                         cpu.coverage.toHost<float>(*m_cpuStream), 1e-5f, 0) < 1e-3);
}

void TestLightFieldCuda::operatorEqualsTheCpu_data()
{
    QTest::addColumn<int>("lanes");
    QTest::addColumn<bool>("plain");
    QTest::addColumn<bool>("seedPolicies");
    for (const int lanes : {1, 4, 16}) {
        QTest::addRow("tiles, %d lanes", lanes) << lanes << false << false;
        QTest::addRow("plain, %d lanes", lanes) << lanes << true << false;
        QTest::addRow("floor, renormalise, tiles, %d lanes", lanes) << lanes << false << true;
        QTest::addRow("floor, renormalise, plain, %d lanes", lanes) << lanes << true << true;
    }
}

void TestLightFieldCuda::operatorEqualsTheCpu()
{
    QFETCH(int, lanes);
    QFETCH(bool, plain);
    QFETCH(bool, seedPolicies);
    VERGENCE_CUDA_DEVICE(device)
    const auto stream = device->createStream();
    const auto run = [&](Stream& on, const std::shared_ptr<Device>& where, bool plainDrivers) {
        Optics optics = smallOptics();
        if (seedPolicies) {
            optics.sampling = TexelSampling::NearestFloor;
            optics.missing = MissingPolicy::Renormalise;
        }
        TableOperator op(on, where, optics, m_states, 4);
        op.usePlainDrivers(plainDrivers);
        const Tensor x = randomTensor<float>(on, where, {op.unknowns(), lanes}, 1, 0, 1);
        const Tensor y = randomTensor<float>(on, where, {op.measurements(), lanes}, 2, 0, 1);
        Tensor images = Tensor::empty(where, y.shape()), residual = Tensor::empty(where, y.shape());
        Tensor gradient = Tensor::empty(where, x.shape());
        const auto sums = op.residual(on, x, y, {}, images, residual);
        op.adjoint(on, residual, gradient);
        return std::tuple(images.toHost<float>(on), gradient.toHost<float>(on), sums.squared[0]);
    };
    const auto [images, gradient, squared] = run(*stream, device, plain);
    const auto [cpuImages, cpuGradient, cpuSquared] = run(*m_cpuStream, m_cpu, false);
    // Tables are computed in double on both sides; a ray on the rim of a lenslet may still fall on
    // either side.
    QVERIFY(shareOutside(images, cpuImages, 1e-4f, 1e-4f) < 1e-3);
    QVERIFY(shareOutside(gradient, cpuGradient, 1e-3f, 1e-4f) < 1e-3);
    QVERIFY(std::abs(squared - cpuSquared) < 1e-4 * cpuSquared);
}

void TestLightFieldCuda::lossesEqualTheCpu_data()
{
    QTest::addColumn<int>("kind");
    QTest::newRow("pga") << static_cast<int>(SolverKind::Pga);
    QTest::newRow("adam") << static_cast<int>(SolverKind::Adam);
    QTest::newRow("os_sirt") << static_cast<int>(SolverKind::OsSirt);
    QTest::newRow("cg") << static_cast<int>(SolverKind::Cg);
}

void TestLightFieldCuda::lossesEqualTheCpu()
{
    QFETCH(int, kind);
    VERGENCE_CUDA_DEVICE(device)
    const auto stream = device->createStream();
    const auto run = [&](Stream& on, const std::shared_ptr<Device>& where) {
        const std::vector<LaneScene> scenes{{namedScene("basic"), 3}};
        const auto op = std::make_shared<TableOperator>(on, where, smallOptics(), m_states, 4);
        SolverSettings settings;
        settings.kind = static_cast<SolverKind>(kind);
        Solver solver(on, op, renderTargets(on, where, smallOptics(), m_states, 4, scenes),
                      settings);
        double loss = 0;
        for (int i = 0; i < 10; ++i)
            loss = solver.iterate(on).loss;
        return loss;
    };
    const double cuda = run(*stream, device), cpu = run(*m_cpuStream, m_cpu);
    QVERIFY2(std::abs(cuda - cpu) < 1e-4 * cpu,
             qPrintable(QString("%1 against %2").arg(cuda).arg(cpu)));
}

void TestLightFieldCuda::seedProfileEqualsTheCpu()
{
    VERGENCE_CUDA_DEVICE(device)
    const auto stream = device->createStream();
    const auto run = [&](Stream& on, const std::shared_ptr<Device>& where) {
        const std::vector<LaneScene> scenes{{checkerboardScene({}), 1}};
        const auto op = std::make_shared<SeedOperator>(on, where, seedOptics(), 30.0, 1);
        SolverSettings settings;
        settings.kind = SolverKind::AdamW;
        settings.weightDecay = 0.01;
        settings.epsilon = 1e-8;
        Solver solver(on, op, renderSeedTargets(on, where, seedOptics(), 30.0, 1, scenes),
                      settings);
        double mse = 0;
        for (int i = 0; i < 10; ++i)
            mse = solver.iterate(on).mse;
        return mse;
    };
    const double cuda = run(*stream, device), cpu = run(*m_cpuStream, m_cpu);
    QVERIFY2(std::abs(cuda - cpu) < 1e-5, qPrintable(QString("%1 against %2").arg(cuda).arg(cpu)));
}

void TestLightFieldCuda::directPlanesEqualTheCpu()
{
    VERGENCE_CUDA_DEVICE(device)
    const auto stream = device->createStream();
    const auto run = [&](Stream& on, const std::shared_ptr<Device>& where) {
        const std::vector<LaneScene> scenes{{namedScene("basic"), 3}};
        const TableOperator op(on, where, smallOptics(), m_states, 4);
        return directPlanes(on, op, scenes).toHost<float>(on);
    };
    QVERIFY(shareOutside(run(*stream, device), run(*m_cpuStream, m_cpu), 1e-4f, 1e-4f) < 1e-3);
}

VERGENCE_TEST(TestLightFieldCuda)
#include "tst_light_field_cuda.moc"
