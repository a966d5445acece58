#include <QTest>

#include "core/artifact/safetensors.h"
#include "plugins/sugar/compute/reference_raster.h"
#include "tests/plugins/sugar/golden_case.h"
#include "tests/plugins/sugar/raster_support.h"
#include "tests/support/golden.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

bool near(double got, double want, double relative = 1e-6)
{
    if (std::abs(got - want) <= relative * std::max(1e-3, std::abs(want)))
        return true;
    qWarning("%.9g instead of %.9g", got, want);
    return false;
}

struct Picture {
    Raster raster;
    Images images;
    int width;

    Picture(const Parameters& parameters, const ReferenceSettings& settings)
        : raster(parameters, settings),
          images(raster.render()),
          width(settings.camera.width)
    {
    }
    std::size_t at(int row, int column) const
    {
        return static_cast<std::size_t>(row * width + column);
    }
    double coverage(int row, int column) const { return 1 - images.transmittance[at(row, column)]; }
    double colour(int channel, int row, int column) const
    {
        const std::size_t pixels = images.transmittance.size();
        return images.colour[static_cast<std::size_t>(channel) * pixels + at(row, column)];
    }
};

/// Gaussians that stress the formulas: capped alpha, outside of 1.3 fields of view, equal scales.
Parameters hardGaussians()
{
    Parameters g = randomGaussians(6, 3, 7);
    g.opacity[0] = logit(0.999);
    g.position[0] = g.position[1] = g.position[2] = 0;
    g.logScale[0] = g.logScale[1] = std::log(0.25); // capped near its centre
    g.logScale[2] = std::log(0.2); // of equal scales the normal is not differentiable
    g.position[3] = 2.6; // far to the side, large: the Jacobian is clamped, its foot is in view
    g.position[4] = 0.1;
    g.position[5] = -1.6;
    g.logScale[3] = g.logScale[4] = std::log(0.7);
    g.logScale[5] = std::log(0.5);
    for (int k = 0; k < 4; ++k)
        g.rotation[static_cast<std::size_t>(8 + k)] *= 5; // far from norm 1
    return g;
}

} // namespace

class SugarReferenceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void isotropicSplatHasTheKnownCoverage();
    void mipFiltersHaveTheKnownEffect();
    void rotatedSplatHasTheKnownConic();
    void nearerSplatCoversTheFarther();
    void harmonicsHaveTheKnownValues();
    void gradientsAgreeWithDifferences_data();
    void gradientsAgreeWithDifferences();
    void goldenCaseIsReproduced_data();
    void goldenCaseIsReproduced();
};

void SugarReferenceTest::isotropicSplatHasTheKnownCoverage() // 17.1
{
    Parameters g;
    add(g, {0, 0, 5}, {0.1, 0.1, 0.1}, {1, 0, 0, 0}, 0.8, {1, 0.5, 0.25});
    ReferenceSettings settings;
    settings.camera = plainCamera();
    const Picture picture(g, settings);
    const Projection<double>& p = picture.raster.splats()[0].projection;
    QVERIFY(near(p.a, 4.3) && near(p.c, 4.3) && near(p.u, 32) && near(p.v, 32));
    QVERIFY(near(p.conicA, 0.232558140));
    QVERIFY(near(std::sqrt(2 * std::log(255 * p.opacity) * p.a), 6.762827));
    QVERIFY(near(picture.coverage(31, 31), 0.754814628));
    QVERIFY(near(picture.images.depth[picture.at(31, 31)], 3.774073138));
    QVERIFY(near(picture.coverage(31, 34), 0.375702563));
    QVERIFY(near(picture.coverage(31, 38), 0.005713040));
    QCOMPARE(picture.coverage(31, 39), 0.0);
    QVERIFY(near(picture.colour(1, 31, 31), 0.5 * 0.754814628));
    int touched = 0;
    for (const int count : picture.images.contributors)
        touched += count;
    QCOMPARE(touched, 148);
}

void SugarReferenceTest::mipFiltersHaveTheKnownEffect() // 17.1 and 17.15
{
    Parameters g;
    add(g, {0, 0, 5}, {0.1, 0.1, 0.1}, {1, 0, 0, 0}, 0.8, {1, 0.5, 0.25});
    ReferenceSettings settings;
    settings.camera = plainCamera();
    settings.blur = screenFilter<double>(true);
    const Picture flat(g, settings);
    QVERIFY(near(flat.raster.splats()[0].projection.rho, 0.975609756));
    QVERIFY(near(flat.raster.splats()[0].projection.conicA, 0.243902439));
    QVERIFY(near(flat.coverage(31, 31), 0.734318975));
    QVERIFY(near(smoothingSigma(5.0 / 100), 0.022360680));
    g.filter = {smoothingSigma(5.0 / 100)};
    const Picture both(g, settings);
    const Projection<double>& p = both.raster.splats()[0].projection;
    QVERIFY(near(p.filteredOpacity, 0.743542913) && near(p.a0, 4.2) && near(p.rho, 0.976744186));
    QVERIFY(near(both.coverage(31, 31), 0.685231302));
}

void SugarReferenceTest::rotatedSplatHasTheKnownConic() // 17.2
{
    Parameters g;
    add(g, {0.5, -0.25, 4}, {0.2, 0.05, 0.01}, {0.9, 0.1, -0.3, 0.2}, 0.8, {1, 1, 1});
    ReferenceSettings settings;
    settings.camera = plainCamera();
    const Picture picture(g, settings);
    const Projection<double>& p = picture.raster.splats()[0].projection;
    const double rows[9] = {0.726315789,  -0.442105263, -0.526315789, 0.315789474, 0.894736842,
                            -0.315789474, 0.610526316,  0.063157895,  0.789473684};
    for (int i = 0; i < 9; ++i)
        QVERIFY(near(p.camera[i], rows[i]));
    QVERIFY(near(p.u, 44.5) && near(p.v, 25.75));
    QVERIFY(near(p.a0, 10.903320312) && near(p.b, 5.130165502) && near(p.c0, 4.398332675));
    QVERIFY(near(p.conicA, 0.178519422) && near(p.conicB, -0.194927487) &&
            near(p.conicC, 0.425685112));
    QVERIFY(near(p.normal[0], 0.526315789) && near(p.normal[1], 0.315789474) &&
            near(p.normal[2], -0.789473684));
    QVERIFY(near(picture.coverage(25, 44), 0.789428344));
    QVERIFY(near(picture.coverage(24, 48), 0.051896556));
}

void SugarReferenceTest::nearerSplatCoversTheFarther() // 17.3
{
    for (const bool swapped : {false, true}) {
        Parameters g;
        for (const bool red : {!swapped, swapped}) {
            add(g, {0, 0, red ? 5.0 : 6.0}, {0.1, 0.1, 0.1}, {1, 0, 0, 0}, 0.8,
                red ? std::vector<double>{1, 0, 0} : std::vector<double>{0, 0, 1});
        }
        ReferenceSettings settings;
        settings.camera = plainCamera();
        settings.background[1] = 1;
        const Picture picture(g, settings);
        QVERIFY(near(picture.colour(0, 31, 31), 0.754814628));
        QVERIFY(near(picture.colour(1, 31, 31), 0.064339785));
        QVERIFY(near(picture.colour(2, 31, 31), 0.180845587));
        QVERIFY(near(picture.images.depth[picture.at(31, 31)], 4.859146662));
        QVERIFY(near(picture.coverage(31, 31), 0.935660215));
    }
}

void SugarReferenceTest::harmonicsHaveTheKnownValues() // 17.5
{
    const double want[16] = {0.282094792,  -0.261169028, 0.391753542,  -0.130584514,
                             0.156078347,  -0.468235042, 0.292863596,  -0.234117521,
                             -0.117058760, 0.022527969,  0.331092173,  -0.540952781,
                             0.064115724,  -0.270476391, -0.248319130, 0.123903829};
    const double d[3] = {1 / std::sqrt(14.0), 2 / std::sqrt(14.0), 3 / std::sqrt(14.0)};
    double basis[16], sum = 0;
    shBasis<3>(d, basis);
    for (int k = 0; k < 16; ++k) {
        QVERIFY(near(basis[k], want[k], 1e-8 / std::abs(want[k])));
        sum += basis[k] * basis[k];
    }
    QVERIFY(near(sum, 1.273239545));
    QVERIFY(near((0.2 - 0.5) / ShConstants<double>::c0, -1.063472310, 1e-7));
    std::mt19937 random(3);
    std::uniform_real_distribution<double> unit(-1, 1);
    std::vector<double> weights(16), at(3);
    for (double& w : weights)
        w = unit(random);
    for (double& x : at)
        x = unit(random);
    std::vector<double> gradient(3);
    shBasisBackward<3>(at.data(), weights.data(), gradient.data());
    VERGENCE_AGREES(gradientDifference(
        [&](const std::vector<double>& x) {
            double y[16], total = 0;
            shBasis<3>(x.data(), y);
            for (std::size_t k = 0; k < 16; ++k)
                total += weights[k] * y[k];
            return total;
        },
        at, gradient, 1e-8));
}

void SugarReferenceTest::gradientsAgreeWithDifferences_data() // 17.8
{
    QTest::addColumn<bool>("mip");
    QTest::addColumn<bool>("filtered");
    QTest::newRow("classic") << false << false;
    QTest::newRow("mip 2D") << true << false;
    QTest::newRow("mip 2D and 3D") << true << true;
}

void SugarReferenceTest::gradientsAgreeWithDifferences()
{
    QFETCH(bool, mip);
    QFETCH(bool, filtered);
    Parameters g = hardGaussians();
    for (std::size_t i = 0; filtered && i < g.count(); ++i)
        g.filter.push_back(0.03 + 0.02 * static_cast<double>(i));
    ReferenceSettings settings;
    settings.camera = oddCamera();
    settings.blur = screenFilter<double>(mip);
    settings.background[0] = 0.3;
    settings.background[2] = 0.7;
    settings.isSmooth = true;
    const Images weights = lossWeights(settings.camera, 11);
    const Raster raster(g, settings);
    QVERIFY(raster.splats()[0].projection.opacity > 0.99 * (mip ? 0.9 : 1));
    QVERIFY(raster.splats()[1].projection.freeX == 0);
    const Images images = raster.render();
    Parameters gradient = raster.backward(images, weights);
    for (std::size_t group = 0; group < 5; ++group) {
        const auto loss = [&](const std::vector<double>& values) {
            Parameters changed = g;
            *changed.groups()[group] = values;
            return lossOf(Raster(changed, settings).render(), weights);
        };
        VERGENCE_AGREES(
            gradientDifference(loss, *g.groups()[group], *gradient.groups()[group], 1e-6, 1000));
    }
}

void SugarReferenceTest::goldenCaseIsReproduced_data()
{
    QTest::addColumn<QString>("name");
    QTest::newRow("classic") << "gaussian_classic";
    QTest::newRow("antialiased") << "gaussian_antialiased";
}

void SugarReferenceTest::goldenCaseIsReproduced()
{
    QFETCH(QString, name);
    VERGENCE_GOLDEN_FOLDER(folder, name.toStdString());
    const GoldenCase golden = goldenCase(folder, name == "gaussian_antialiased");
    const Raster raster(golden.gaussians, golden.settings);
    const Images images = raster.render();
    const Images& want = golden.images; // float32 results
    const std::size_t pixels = images.transmittance.size();
    std::size_t atThreshold = 0;
    for (std::size_t p = 0; p < pixels; ++p) {
        if (images.margin[p] < 1e-5) { // rounding may decide whether a sample counts
            ++atThreshold;
            continue;
        }
        QCOMPARE(images.contributors[p], want.contributors[p]);
        QVERIFY(std::abs(images.transmittance[p] - want.transmittance[p]) < 1e-5);
        QVERIFY(std::abs(images.depth[p] - want.depth[p]) <
                1e-5 * std::max(1.0, std::abs(want.depth[p])));
        for (std::size_t c = 0; c < 3; ++c)
            QVERIFY(std::abs(images.colour[c * pixels + p] - want.colour[c * pixels + p]) < 1e-5);
    }
    qInfo("%zu of %zu pixels are at a threshold", atThreshold, pixels);
    QVERIFY(atThreshold * 100 < pixels);
    Parameters gradient = raster.backward(images, golden.weights);
    for (std::size_t group = 0; group < 5; ++group) {
        const std::vector<double>& wanted = golden.gradients[group];
        double largest = 0;
        for (const double w : wanted)
            largest = std::max(largest, std::abs(w));
        VERGENCE_AGREES(difference(*gradient.groups()[group], wanted, 1e-3 * largest, 0));
    }
}

VERGENCE_TEST(SugarReferenceTest)
#include "tst_sugar_reference.moc"
