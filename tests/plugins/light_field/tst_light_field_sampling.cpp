#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include <QTest>

#include "plugins/light_field/compute/eye_view.h"
#include "plugins/light_field/compute/ground_truth.h"
#include "plugins/light_field/compute/table_operator.h"
#include "tests/plugins/light_field/light_field_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::light_field;

// How the tables sample texels and what they do with rays that miss.
class TestLightFieldSampling : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void nearestTexelIsTheFloor();
    void nearestTexelsReachTheEdge();
    void gainsFollowTheEye();
    void renormalisedDirectPlanesAreNotBrightened();

private:
    std::shared_ptr<Device> m_device = makeCpuDevice();
    std::unique_ptr<Stream> m_stream = m_device->createStream();
    std::vector<EyeState> m_states = trainingStates({});
};

namespace {

/// One ray per pixel through one plane focused at 200 mm, pixel (1, 2) at the slopes (0.1, 0).
Optics singleRayOptics()
{
    Optics optics = demoOptics(1);
    optics.focalLengths = {focalForDistance(optics, 200)};
    optics.lensletShape = LensletShape::Square;
    optics.renderResolution = 3;
    optics.retinaSize = 7.2;
    return optics;
}

} // namespace

void TestLightFieldSampling::nearestTexelIsTheFloor()
{
    // That ray arrives at u = 344.2467 and r = 255.5, see the known points of the optics.
    for (const TexelSampling sampling : {TexelSampling::Bilinear, TexelSampling::NearestFloor}) {
        Optics optics = singleRayOptics();
        optics.sampling = sampling;
        const TableOperator op(*m_stream, m_device, optics, {{0, 0, 5}}, 1);
        std::vector<float> texels(512 * 512, 0.0f);
        texels[255 * 512 + 344] = 1;
        Tensor image = Tensor::empty(m_device, {op.measurements(), 1});
        op.forward(*m_stream,
                   Tensor::fromHost<float>(*m_stream, m_device, {op.unknowns(), 1}, texels), image);
        const float seen = image.toHost<float>(*m_stream)[1 * 3 + 2];
        const bool floors = sampling == TexelSampling::NearestFloor;
        QVERIFY2(std::abs(seen - (floors ? 1.0f : 0.5f * (1 - 0.2467f))) < (floors ? 1e-7f : 1e-4f),
                 qPrintable(QString::number(static_cast<double>(seen))));
    }
}

void TestLightFieldSampling::nearestTexelsReachTheEdge()
{
    Optics optics = smallOptics();
    optics.focalLengths = {focalForDistance(optics, 200)};
    optics.headroom = 1;
    optics.panelResolution = 16; // texels that are wider than the steps of the rays
    optics.lensletShape = LensletShape::Square;
    optics.sampling = TexelSampling::NearestFloor;
    const EyeState eye{0.3, -0.2, 5};
    const TableOperator op(*m_stream, m_device, optics, {eye}, 1);
    const Tensor x = randomTensor<float>(*m_stream, m_device, {op.unknowns(), 1}, 18, 0, 1);
    Tensor image = Tensor::empty(m_device, {op.measurements(), 1});
    op.forward(*m_stream, x, image);
    const auto texels = x.toHost<float>(*m_stream), seen = image.toHost<float>(*m_stream);
    const double last = optics.panelResolution - 1;
    int atEdge = 0;
    for (int i = 0; i < op.resolution(); ++i) {
        for (int j = 0; j < op.resolution(); ++j) {
            const RayPath ray = tracePixel(optics, eye, 1, i, j).front();
            const auto column = static_cast<std::size_t>(std::clamp(ray.texel[0], 0.0, last));
            const auto row = static_cast<std::size_t>(std::clamp(ray.texel[1], 0.0, last));
            const bool arrives = ray.rejection == Rejection::None;
            atEdge += arrives && (column == 15 || row == 15) ? 1 : 0;
            QCOMPARE(seen[static_cast<std::size_t>(i * op.resolution() + j)],
                     arrives ? texels[row * 16 + column] : 0.0f);
        }
    }
    QVERIFY(atEdge > 0);
}

void TestLightFieldSampling::gainsFollowTheEye()
{
    Optics optics = smallOptics();
    optics.missing = MissingPolicy::Renormalise;
    TableOperator moved(*m_stream, m_device, optics, {{0, 0, 5}}, 4);
    const TableOperator there(*m_stream, m_device, optics, {{1, -0.5, 6}}, 4);
    moved.setEyeStates(*m_stream, {{1, -0.5, 6}});
    QVERIFY(moved.rowSums(*m_stream).toHost<float>(*m_stream) ==
            there.rowSums(*m_stream).toHost<float>(*m_stream));
    QVERIFY(moved.columnSums(*m_stream).toHost<float>(*m_stream) ==
            there.columnSums(*m_stream).toHost<float>(*m_stream));
}

void TestLightFieldSampling::renormalisedDirectPlanesAreNotBrightened()
{
    const LaneScene scene{namedScene("basic"), 3};
    const auto planesOf = [&](MissingPolicy missing) {
        Optics optics = smallOptics();
        optics.missing = missing;
        const TableOperator op(*m_stream, m_device, optics, m_states, 4);
        return directPlanes(*m_stream, op, std::span(&scene, 1)).toHost<float>(*m_stream);
    };
    const auto absorbed = planesOf(MissingPolicy::Absorb),
               renormalised = planesOf(MissingPolicy::Renormalise);
    for (std::size_t i = 0; i < absorbed.size(); ++i) {
        const double expected =
            std::min(1.0, static_cast<double>(renormalised[i]) * 4 / std::numbers::pi);
        QVERIFY(std::abs(static_cast<double>(absorbed[i]) - expected) < 1e-6);
    }
}

VERGENCE_TEST(TestLightFieldSampling)
#include "tst_light_field_sampling.moc"
