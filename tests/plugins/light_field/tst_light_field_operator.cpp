#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <QTest>

#include "core/base/error.h"
#include "plugins/light_field/compute/eye_view.h"
#include "plugins/light_field/compute/ground_truth.h"
#include "plugins/light_field/compute/seed_operator.h"
#include "tests/plugins/light_field/light_field_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::light_field;

class TestLightFieldOperator : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void adjointIsTheTranspose_data();
    void adjointIsTheTranspose();
    void doubleAdjointIsTheTranspose_data();
    void doubleAdjointIsTheTranspose();
    void gradientEqualsFiniteDifferences();
    void floatGradientEqualsFiniteDifferences();
    void tunedDriversEqualThePlainOnes_data();
    void tunedDriversEqualThePlainOnes();
    void rowSubsetsAddUp_data();
    void rowSubsetsAddUp();
    void constantPanelsShowRowSums();
    void demoRowSumsAreKnown();
    void energyEqualsColumnSums();
    void majoriserBoundsTheHessian_data();
    void majoriserBoundsTheHessian();
    void bytesDoNotDependOnThreadsOrTiles_data();
    void bytesDoNotDependOnThreadsOrTiles();
    void planesAddUp();
    void renormalisedConstantsStayConstant_data();
    void renormalisedConstantsStayConstant();
    void wrongShapesAreRefused();

private:
    std::shared_ptr<LinearOperator> make(const QString& kind) const;
    static void addOperators();

    std::shared_ptr<Device> m_device = makeCpuDevice();
    std::unique_ptr<Stream> m_stream = m_device->createStream();
    std::vector<EyeState> m_states = trainingStates({});
};

void TestLightFieldOperator::initTestCase()
{
    QCOMPARE(m_states.size(), std::size_t(3));
}

std::shared_ptr<LinearOperator> TestLightFieldOperator::make(const QString& kind) const
{
    if (kind == "seed" || kind == "seed 4 rays") {
        Optics optics = seedOptics();
        optics.renderResolution = 128;
        optics.panelResolution = 256;
        return std::make_shared<SeedOperator>(*m_stream, m_device, optics, 30.0,
                                              kind == "seed" ? 1 : 4);
    }
    Optics optics = smallOptics();
    std::vector<EyeState> states = m_states;
    if (kind == "aperture") {
        optics.tunableAperture = 12;
        optics.lensletCount = 31;
    } else if (kind == "square") {
        optics.lensletShape = LensletShape::Square;
        optics.baffles = true;
    } else if (kind == "nearest floor") {
        optics.sampling = TexelSampling::NearestFloor;
    } else if (kind == "renormalise") {
        optics.missing = MissingPolicy::Renormalise;
        optics.tunableAperture = 12;
        optics.lensletCount = 31;
    } else if (kind == "odd sizes" || kind == "floor, renormalise") {
        optics.renderResolution = 61;
        optics.panelResolution = 77;
        if (kind != "odd sizes") {
            optics.sampling = TexelSampling::NearestFloor;
            optics.missing = MissingPolicy::Renormalise;
        }
        states = {{0.4, -0.7, 5.5}, {-1, 0.2, 4}};
    } else if (kind == "wide") {
        optics.renderResolution = 257;
        optics.panelResolution = 64;
    }
    return std::make_shared<TableOperator>(*m_stream, m_device, optics, states, 4);
}

void TestLightFieldOperator::addOperators()
{
    QTest::addColumn<QString>("kind");
    QTest::addColumn<int>("lanes");
    for (const char* kind : {"tables", "aperture", "square", "odd sizes", "wide", "nearest floor",
                             "renormalise", "floor, renormalise", "seed", "seed 4 rays"}) {
        for (const int lanes : {1, 4, 16})
            QTest::newRow(qPrintable(QString("%1, %2 lanes").arg(kind).arg(lanes)))
                << kind << lanes;
    }
}

void TestLightFieldOperator::adjointIsTheTranspose_data()
{
    addOperators();
}

void TestLightFieldOperator::adjointIsTheTranspose()
{
    QFETCH(QString, kind);
    QFETCH(int, lanes);
    const auto op = make(kind);
    const Tensor x = randomTensor<float>(*m_stream, m_device, {op->unknowns(), lanes}, 1, 0, 1);
    const Tensor y = randomTensor<float>(*m_stream, m_device, {op->measurements(), lanes}, 2, 0, 1);
    Tensor ax = Tensor::empty(m_device, y.shape()), aty = Tensor::empty(m_device, x.shape());
    op->forward(*m_stream, x, ax);
    op->adjoint(*m_stream, y, aty);
    const double left = innerProduct<float>(*m_stream, ax, y),
                 right = innerProduct<float>(*m_stream, x, aty);
    QVERIFY(left > 0);
    QVERIFY2(std::abs(left - right) <= 1e-5 * left,
             qPrintable(QString("%1 %2").arg(left).arg(right)));
}

void TestLightFieldOperator::doubleAdjointIsTheTranspose_data()
{
    QTest::addColumn<TexelSampling>("sampling");
    QTest::addColumn<MissingPolicy>("missing");
    QTest::newRow("bilinear, absorb") << TexelSampling::Bilinear << MissingPolicy::Absorb;
    QTest::newRow("bilinear, renormalise") << TexelSampling::Bilinear << MissingPolicy::Renormalise;
    QTest::newRow("floor, absorb") << TexelSampling::NearestFloor << MissingPolicy::Absorb;
    QTest::newRow("floor, renormalise")
        << TexelSampling::NearestFloor << MissingPolicy::Renormalise;
}

void TestLightFieldOperator::doubleAdjointIsTheTranspose()
{
    QFETCH(TexelSampling, sampling);
    QFETCH(MissingPolicy, missing);
    Optics optics = smallOptics();
    optics.sampling = sampling;
    optics.missing = missing;
    for (const int lanes : {1, 4, 16}) {
        const TableOperator op(*m_stream, m_device, optics, m_states, 4, DType::F64);
        const Tensor x =
            randomTensor<double>(*m_stream, m_device, {op.unknowns(), lanes}, 3, -1, 1);
        const Tensor y =
            randomTensor<double>(*m_stream, m_device, {op.measurements(), lanes}, 4, 0, 1);
        Tensor ax = Tensor::empty(m_device, y.shape(), DType::F64),
               aty = Tensor::empty(m_device, x.shape(), DType::F64);
        op.forward(*m_stream, x, ax);
        op.adjoint(*m_stream, y, aty);
        const double left = innerProduct<double>(*m_stream, ax, y),
                     right = innerProduct<double>(*m_stream, x, aty);
        const double size = std::sqrt(innerProduct<double>(*m_stream, ax, ax) *
                                      innerProduct<double>(*m_stream, y, y));
        QVERIFY(std::abs(left - right) <= 1e-12 * size);
    }
}

namespace {

/// ½ Σ (A x − y)² with texel `at` moved by `step`.
template <class Real>
double objective(Stream& stream, const LinearOperator& op, std::vector<Real> x, std::size_t at,
                 Real step, const Tensor& y, Tensor& images, Tensor& residual)
{
    x[at] += step;
    const Tensor moved = Tensor::fromHost<Real>(stream, op.device(), {op.unknowns(), 1}, x);
    return op.residual(stream, moved, y, {}, images, residual).squared[0] / 2;
}

/// Largest relative error of the gradient at random texels, the panel's edge and unseen texels.
template <class Real>
double worstGradientError(Stream& stream, const TableOperator& op, Real h)
{
    const auto& device = op.device();
    const auto x = randomTensor<Real>(stream, device, {op.unknowns(), 1}, 5, 0, 1)
                       .template toHost<Real>(stream);
    const Tensor y = randomTensor<Real>(stream, device, {op.measurements(), 1}, 6, 0, 2);
    Tensor images = Tensor::empty(device, y.shape(), op.elementType());
    Tensor residual = Tensor::empty(device, y.shape(), op.elementType());
    Tensor gradient = Tensor::empty(device, {op.unknowns(), 1}, op.elementType());
    objective<Real>(stream, op, x, 0, 0, y, images, residual);
    op.adjoint(stream, residual, gradient);
    const auto g = gradient.toHost<Real>(stream);
    const auto columns = op.columnSums(stream).template toHost<Real>(stream);
    const std::size_t r = 128;
    std::vector<std::size_t> texels{0, r - 1, r * r - 1, r * (r / 2)};
    const Rng rng(7);
    while (texels.size() < 20)
        texels.push_back(rng.bits(texels.size()) % g.size());
    for (std::size_t i = 0; i < g.size() && texels.size() < 24; ++i) {
        if (columns[i] == 0)
            texels.push_back(i);
    }
    double worst = 0;
    for (const std::size_t at : texels) {
        const double up = objective<Real>(stream, op, x, at, h, y, images, residual);
        const double down = objective<Real>(stream, op, x, at, -h, y, images, residual);
        const double slope = (up - down) / (2 * static_cast<double>(h)),
                     exact = static_cast<double>(g[at]);
        if (columns[at] == 0)
            worst = std::max(worst, exact == 0 && slope == 0 ? 0.0 : 1.0);
        else
            worst = std::max(worst, std::abs(slope - exact) / std::max(std::abs(exact), 1e-1));
    }
    return worst;
}

} // namespace

void TestLightFieldOperator::gradientEqualsFiniteDifferences()
{
    const TableOperator op(*m_stream, m_device, smallOptics(), m_states, 4, DType::F64);
    const double worst = worstGradientError<double>(*m_stream, op, 1e-3);
    QVERIFY2(worst < 1e-6, qPrintable(QString::number(worst)));
}

void TestLightFieldOperator::floatGradientEqualsFiniteDifferences()
{
    const TableOperator op(*m_stream, m_device, smallOptics(), m_states, 4);
    const double worst = worstGradientError<float>(*m_stream, op, 0.05f);
    QVERIFY2(worst < 1e-2, qPrintable(QString::number(worst)));
}

void TestLightFieldOperator::tunedDriversEqualThePlainOnes_data()
{
    QTest::addColumn<QString>("kind");
    QTest::addColumn<int>("lanes");
    for (const char* kind : {"tables", "aperture", "square", "odd sizes", "wide", "nearest floor",
                             "renormalise", "floor, renormalise"}) {
        for (const int lanes : {1, 4, 16})
            QTest::newRow(qPrintable(QString("%1, %2 lanes").arg(kind).arg(lanes)))
                << kind << lanes;
    }
}

void TestLightFieldOperator::tunedDriversEqualThePlainOnes()
{
    QFETCH(QString, kind);
    QFETCH(int, lanes);
    const auto op = std::dynamic_pointer_cast<TableOperator>(make(kind));
    const Tensor x = randomTensor<float>(*m_stream, m_device, {op->unknowns(), lanes}, 8, 0, 1);
    const Tensor y = randomTensor<float>(*m_stream, m_device, {op->measurements(), lanes}, 9, 0, 1);
    const Tensor weights = randomTensor<float>(*m_stream, m_device, {op->measurements()}, 10, 0, 2);
    std::array<std::vector<float>, 2> images, gradients;
    std::array<ResidualSums, 2> sums;
    for (const std::size_t plain : {0, 1}) {
        op->usePlainDrivers(plain == 1);
        Tensor image = Tensor::empty(m_device, y.shape()),
               residual = Tensor::empty(m_device, y.shape());
        Tensor gradient = Tensor::empty(m_device, x.shape());
        sums[plain] = op->residual(*m_stream, x, y, weights, image, residual);
        op->adjoint(*m_stream, residual, gradient);
        images[plain] = image.toHost<float>(*m_stream);
        gradients[plain] = gradient.toHost<float>(*m_stream);
    }
    for (std::size_t i = 0; i < images[0].size(); ++i)
        QVERIFY(std::abs(images[0][i] - images[1][i]) <= 2e-5f + 1e-5f * std::abs(images[1][i]));
    for (std::size_t i = 0; i < gradients[0].size(); ++i)
        QVERIFY(std::abs(gradients[0][i] - gradients[1][i]) <=
                1e-4f + 1e-5f * std::abs(gradients[1][i]));
    for (std::size_t lane = 0; lane < sums[0].squared.size(); ++lane) {
        QVERIFY(std::abs(sums[0].squared[lane] - sums[1].squared[lane]) <=
                1e-6 * sums[1].squared[lane]);
        QVERIFY(std::abs(sums[0].weighted[lane] - sums[1].weighted[lane]) <=
                1e-6 * sums[1].weighted[lane]);
    }
}

void TestLightFieldOperator::rowSubsetsAddUp_data()
{
    QTest::addColumn<QString>("kind");
    QTest::addColumn<bool>("plain");
    QTest::newRow("tables") << "tables" << false;
    QTest::newRow("odd sizes") << "odd sizes" << false;
    QTest::newRow("plain") << "odd sizes" << true;
    QTest::newRow("renormalise") << "renormalise" << false;
    QTest::newRow("floor, renormalise, plain") << "floor, renormalise" << true;
    QTest::newRow("seed") << "seed 4 rays" << false;
}

void TestLightFieldOperator::rowSubsetsAddUp()
{
    QFETCH(QString, kind);
    QFETCH(bool, plain);
    const auto op = make(kind);
    if (plain)
        std::dynamic_pointer_cast<TableOperator>(op)->usePlainDrivers(true);
    const auto all = op->columnSums(*m_stream).toHost<float>(*m_stream);
    std::vector<float> sum(all.size(), 0.0f);
    for (int subset = 0; subset < 4; ++subset) {
        const auto part = op->columnSums(*m_stream, {4, subset}).toHost<float>(*m_stream);
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] += part[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i)
        QVERIFY(std::abs(sum[i] - all[i]) <= 1e-4f * std::max(1.0f, all[i]));
    const Tensor x = randomTensor<float>(*m_stream, m_device, {op->unknowns(), 4}, 11, 0, 1);
    const Tensor y = randomTensor<float>(*m_stream, m_device, {op->measurements(), 4}, 12, 0, 1);
    Tensor images = Tensor::empty(m_device, y.shape()),
           residual = Tensor::empty(m_device, y.shape());
    const double whole = op->residual(*m_stream, x, y, {}, images, residual).squared[2];
    double parts = 0;
    for (int subset = 0; subset < 3; ++subset)
        parts += op->residual(*m_stream, x, y, {}, images, residual, {3, subset}).squared[2];
    QVERIFY(std::abs(whole - parts) <= 1e-9 * whole);
}

void TestLightFieldOperator::constantPanelsShowRowSums()
{
    const auto op = make("tables");
    const Tensor x = Tensor::fromHost<float>(
        *m_stream, m_device, {op->unknowns(), 1},
        std::vector<float>(static_cast<std::size_t>(op->unknowns()), 0.37f));
    Tensor images = Tensor::empty(m_device, {op->measurements(), 1});
    op->forward(*m_stream, x, images);
    const auto seen = images.toHost<float>(*m_stream),
               rows = op->rowSums(*m_stream).toHost<float>(*m_stream);
    for (std::size_t i = 0; i < seen.size(); ++i) {
        QVERIFY(std::abs(seen[i] - 0.37f * rows[i]) <= 1e-5f);
        QVERIFY(rows[i] <= 4.0f + 1e-5f);
    }
}

void TestLightFieldOperator::demoRowSumsAreKnown()
{
    const TableOperator op(*m_stream, m_device, demoOptics(), m_states, 16);
    const LaneScene scene{checkerboardScene({}), 1};
    const Targets targets =
        renderTargets(*m_stream, m_device, op.optics(), m_states, 16, std::span(&scene, 1));
    const auto rows = op.rowSums(*m_stream).toHost<float>(*m_stream);
    const auto roi = targets.roi.toHost<float>(*m_stream);
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (roi[i] > 0) {
            sum += static_cast<double>(rows[i]);
            count += 1;
        }
    }
    QVERIFY2(std::abs(sum / count - 6.205) < 0.01,
             qPrintable(QString::number(sum / count, 'g', 8)));
}

void TestLightFieldOperator::energyEqualsColumnSums()
{
    const auto op = make("tables");
    const auto columns = op->columnSums(*m_stream).toHost<float>(*m_stream);
    const auto energyOf = [&](const Tensor& x) {
        Tensor images = Tensor::empty(m_device, {op->measurements(), 1});
        op->forward(*m_stream, x, images);
        double energy = 0;
        for (const float value : images.toHost<float>(*m_stream))
            energy += static_cast<double>(value);
        return energy;
    };
    std::vector<float> single(columns.size(), 0.0f);
    const std::size_t at = (2 * 128 + 70) * 128 + 41;
    single[at] = 0.8f;
    const double one =
        energyOf(Tensor::fromHost<float>(*m_stream, m_device, {op->unknowns(), 1}, single));
    const double expected = 0.8 * static_cast<double>(columns[at]);
    QVERIFY(expected > 0 && std::abs(one - expected) <= 1e-5 * expected);
    const Tensor x = randomTensor<float>(*m_stream, m_device, {op->unknowns(), 1}, 13, 0, 1);
    const double total = innerProduct<float>(*m_stream, x, op->columnSums(*m_stream));
    QVERIFY(std::abs(energyOf(x) - total) <= 1e-5 * total);
}

void TestLightFieldOperator::majoriserBoundsTheHessian_data()
{
    QTest::addColumn<MissingPolicy>("missing");
    QTest::newRow("absorb") << MissingPolicy::Absorb;
    QTest::newRow("renormalise") << MissingPolicy::Renormalise;
}

void TestLightFieldOperator::majoriserBoundsTheHessian()
{
    QFETCH(MissingPolicy, missing);
    Optics optics = smallOptics();
    optics.missing = missing;
    const TableOperator op(*m_stream, m_device, optics, m_states, 4, DType::F64);
    const Tensor weights = randomTensor<double>(*m_stream, m_device, {op.measurements()}, 14, 0, 2);
    const auto d = op.majoriser(*m_stream, weights).toHost<double>(*m_stream);
    const Tensor zeros = Tensor::zeros(*m_stream, m_device, {op.measurements(), 1}, DType::F64);
    Tensor images = Tensor::empty(m_device, zeros.shape(), DType::F64);
    Tensor residual = Tensor::empty(m_device, zeros.shape(), DType::F64);
    for (std::uint64_t trial = 0; trial < 100; ++trial) {
        const Tensor v =
            randomTensor<double>(*m_stream, m_device, {op.unknowns(), 1}, 100 + trial, -1, 1);
        const auto values = v.toHost<double>(*m_stream);
        double bound = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
            bound += d[i] * values[i] * values[i];
        const double curvature =
            op.residual(*m_stream, v, zeros, weights, images, residual).weighted[0];
        QVERIFY(bound - curvature >= -1e-6 * bound);
    }
}

void TestLightFieldOperator::bytesDoNotDependOnThreadsOrTiles_data()
{
    QTest::addColumn<bool>("seed");
    QTest::newRow("tables") << false;
    QTest::newRow("seed") << true;
}

void TestLightFieldOperator::bytesDoNotDependOnThreadsOrTiles()
{
    QFETCH(bool, seed);
    std::vector<float> images, gradient;
    std::vector<double> squared;
    for (const int threads : {1, 2, 8}) {
        const auto device = makeCpuDevice(threads);
        const auto stream = device->createStream();
        std::shared_ptr<LinearOperator> op;
        if (seed)
            op = std::make_shared<SeedOperator>(*stream, device, seedOptics(), 30.0, 1);
        else
            op = std::make_shared<TableOperator>(*stream, device, smallOptics(), m_states, 4);
        const Tensor x = randomTensor<float>(*stream, device, {op->unknowns(), 1}, 15, 0, 1);
        const Tensor y = randomTensor<float>(*stream, device, {op->measurements(), 1}, 16, 0, 1);
        for (const int tile : {256, 8192}) {
            op->setTileRays(tile);
            Tensor image = Tensor::empty(device, y.shape()),
                   residual = Tensor::empty(device, y.shape());
            Tensor g = Tensor::empty(device, x.shape());
            const auto sums = op->residual(*stream, x, y, {}, image, residual);
            op->adjoint(*stream, residual, g);
            if (images.empty()) {
                images = image.toHost<float>(*stream);
                gradient = g.toHost<float>(*stream);
                squared = sums.squared;
            }
            QVERIFY(image.toHost<float>(*stream) == images);
            QVERIFY(g.toHost<float>(*stream) == gradient);
            QVERIFY(sums.squared == squared);
        }
    }
}

void TestLightFieldOperator::planesAddUp()
{
    const auto op = std::dynamic_pointer_cast<TableOperator>(make("tables"));
    const Tensor x = randomTensor<float>(*m_stream, m_device, {op->unknowns(), 4}, 17, 0, 1);
    Tensor whole = Tensor::empty(m_device, {op->measurements(), 4}),
           part = Tensor::empty(m_device, whole.shape());
    op->forward(*m_stream, x, whole);
    std::vector<float> sum(static_cast<std::size_t>(whole.size()), 0.0f);
    for (int k = 0; k < op->planes(); ++k) {
        op->forwardPlanes(*m_stream, x, k, 1, part);
        const auto values = part.toHost<float>(*m_stream);
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] += values[i];
    }
    const auto expected = whole.toHost<float>(*m_stream);
    for (std::size_t i = 0; i < sum.size(); ++i)
        QVERIFY(std::abs(sum[i] - expected[i]) <= 1e-5f);
}

void TestLightFieldOperator::renormalisedConstantsStayConstant_data()
{
    QTest::addColumn<QString>("kind");
    QTest::addColumn<bool>("plain");
    for (const char* kind : {"renormalise", "floor, renormalise"}) {
        QTest::addRow("%s", kind) << kind << false;
        QTest::addRow("%s, plain", kind) << kind << true;
    }
}

void TestLightFieldOperator::renormalisedConstantsStayConstant()
{
    QFETCH(QString, kind);
    QFETCH(bool, plain);
    const auto op = std::dynamic_pointer_cast<TableOperator>(make(kind));
    op->usePlainDrivers(plain);
    const Tensor x = Tensor::fromHost<float>(
        *m_stream, m_device, {op->unknowns(), 1},
        std::vector<float>(static_cast<std::size_t>(op->unknowns()), 0.37f));
    Tensor image = Tensor::empty(m_device, {op->measurements(), 1});
    const float weight = static_cast<float>(op->optics().planeWeight());
    for (int k = 0; k < op->planes(); ++k) {
        op->forwardPlanes(*m_stream, x, k, 1, image);
        std::array<int, 2> count = {0, 0};
        for (const float value : image.toHost<float>(*m_stream)) {
            QVERIFY(value == 0 || std::abs(value - 0.37f * weight) < 1e-6f);
            ++count[value == 0 ? 0 : 1];
        }
        QVERIFY(count[1] > 0);
        QVERIFY(kind != "renormalise" || count[0] > 0);
    }
}

void TestLightFieldOperator::wrongShapesAreRefused()
{
    const auto op = make("tables");
    Tensor images = Tensor::empty(m_device, {op->measurements(), 1});
    const Tensor wrong = Tensor::zeros(*m_stream, m_device, {op->unknowns() + 1, 1});
    QVERIFY_THROWS_EXCEPTION(ContractError, op->forward(*m_stream, wrong, images));
    const Tensor three = Tensor::zeros(*m_stream, m_device, {op->unknowns(), 3});
    QVERIFY_THROWS_EXCEPTION(ContractError, op->forward(*m_stream, three, images));
    QVERIFY_THROWS_EXCEPTION(ContractError, op->setTileRays(0));
    QVERIFY_THROWS_EXCEPTION(ContractError,
                             TableOperator(*m_stream, m_device, smallOptics(), {}, 4));
    QVERIFY_THROWS_EXCEPTION(ContractError, lanesFor(17));
}

VERGENCE_TEST(TestLightFieldOperator)
#include "tst_light_field_operator.moc"
