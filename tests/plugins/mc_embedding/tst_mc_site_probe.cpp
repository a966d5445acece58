#include <algorithm>
#include <set>

#include <QTest>

#include "tests/plugins/mc_embedding/encoder_setup.h"
#include "tests/plugins/mc_embedding/faulty_device.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using namespace vergence::test;

namespace {

/// Section 3.6 to the letter: two passes with p = 0.5 on the whole image, one site at a time.
std::vector<int> deadOneByOne(EncoderSetup& setup, const Tensor& pixels)
{
    const std::vector<std::uint32_t> ids = {0};
    const std::vector<PassId> passes = {{0, 0}, {0, 1}};
    const auto sites = setup.encoder.sites();
    std::vector<int> dead;
    for (const auto& site : sites) {
        setup.perturb({site}, 0.5);
        setup.encoder.begin(*setup.stream, pixels, ids);
        auto twice = setup.host(setup.encoder.deterministic());
        twice.insert(twice.end(), twice.begin(), twice.end());
        if (setup.host(setup.encoder.run(*setup.stream, passes)) == twice)
            dead.push_back(site.number);
    }
    setup.perturb(sites, 0.01);
    return dead;
}

} // namespace

/// Which dropout sites of an encoder change its features.
class TestMcSiteProbe : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void declaredSitesAreAlive_data() { addPresetRows(); }
    void declaredSitesAreAlive();
    void deadSitesAreFound();
    void probeFindsWhatSingleRunsFind_data() { addTowerRows(); }
    void probeFindsWhatSingleRunsFind();
    void probeTakesLittleOfAStudy();
    void probabilityZeroGivesNoVariance_data() { addPresetRows(); }
    void probabilityZeroGivesNoVariance();
    void noiseIsAliveAtEverySite_data() { addTowerRows(); }
    void noiseIsAliveAtEverySite();
};

void TestMcSiteProbe::declaredSitesAreAlive()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(QString, tower);
    QFETCH(QString, preset);
    EncoderSetup setup(device, tower.toStdString());
    const auto sites = liveSites(setup.encoder.tower(),
                                 placementWithFlags(preset.toStdString(), setup.encoder.tower()));
    setup.perturb(sites, 0.01);
    const auto dead = deadSites(*setup.stream, setup.encoder, setup.pixels(1, 9));
    QVERIFY2(dead.empty(),
             dead.empty() ? "" : siteName(dead[0].number, setup.encoder.tower()).c_str());
    QCOMPARE(setup.encoder.sites().size(), sites.size());
    QCOMPARE(setup.encoder.perturbation().p, 0.01);
}

void TestMcSiteProbe::deadSitesAreFound()
{
    EncoderSetup setup(devices().devices.front(), "tiny_clip");
    const Tensor weight =
        setup.encoder.parameters().named("vision_model.encoder.layers.1.mlp.fc2.weight");
    setup.stream->fillBytes(weight.data(), 0, weight.bytes());
    setup.encoder.refreshWeights(*setup.stream);
    setup.perturb(liveSites(setup.encoder.tower(), {}), 0.01);
    const auto dead = deadSites(*setup.stream, setup.encoder, setup.pixels(1, 9));
    QCOMPARE(dead.size(), 2u);
    QCOMPARE(dead[0].number, siteNumber(1, SiteCode::Fc1));
    QCOMPARE(dead[1].number, siteNumber(1, SiteCode::Fc2));
}

void TestMcSiteProbe::probeFindsWhatSingleRunsFind()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(QString, tower);
    const std::string block = "vision_model.encoder.layers.1.";
    const std::string parts[] = {"", block + "mlp.fc2", block + "mlp.fc1",
                                 block + "self_attn.out_proj", block + "attention.qkv"};
    for (const std::string& part : parts) {
        EncoderSetup setup(device, tower.toStdString());
        const auto clear = [&](const std::string& name) {
            const Tensor values = setup.encoder.parameters().named(name);
            setup.stream->fillBytes(values.data(), 0, values.bytes());
        };
        if (!part.empty()) {
            clear(part + ".weight");
            clear(part + ".bias");
        }
        setup.encoder.refreshWeights(*setup.stream);
        for (const char* preset : {"all_linear", "stochastic_depth"}) {
            setup.perturb(
                liveSites(setup.encoder.tower(), placementWithFlags(preset, setup.encoder.tower())),
                0.01);
            const Tensor pixels = setup.pixels(1, 9);
            std::vector<int> found;
            for (const auto& site : deadSites(*setup.stream, setup.encoder, pixels))
                found.push_back(site.number);
            const std::vector<int> expected = deadOneByOne(setup, pixels);
            QVERIFY2(found == expected, part.c_str());
            QVERIFY(part.empty() == expected.empty());
        }
    }
}

/// Against the smallest study of real weights that has a preset, exp0_cpu. Weights of 0 are the
/// dearest case: every site is tried twice.
void TestMcSiteProbe::probeTakesLittleOfAStudy()
{
    Faults faults;
    const auto device = std::make_shared<FaultyDevice>(faults);
    const auto stream = device->createStream();
    const TowerShape tower = testTower("clip_b32");
    Encoder encoder(*stream, device, tower, EncoderSetup::normalising({}));
    encoder.refreshWeights(*stream);
    encoder.setPerturbation(liveSites(tower, {}), {});
    const Tensor pixels = Tensor::zeros(*stream, device, {1, 224, 224, 3}, DType::U8);
    const double before = faults.flop;
    QCOMPARE(deadSites(*stream, encoder, pixels).size(), encoder.sites().size());
    const double study = 50.0 * 3 * 16 * tower.flop(), share = (faults.flop - before) / study;
    QVERIFY2(share <= 0.02, qPrintable(QStringLiteral("%1 % of the study").arg(100 * share)));
}

void TestMcSiteProbe::probabilityZeroGivesNoVariance()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(QString, tower);
    QFETCH(QString, preset);
    EncoderSetup setup(device, tower.toStdString());
    setup.perturb(liveSites(setup.encoder.tower(),
                            placementWithFlags(preset.toStdString(), setup.encoder.tower())),
                  0);
    const std::vector<std::uint32_t> ids = {1, 2};
    const std::vector<PassId> passes = {{0, 0}, {0, 1}, {3, 9}};
    setup.encoder.begin(*setup.stream, setup.pixels(2, 4), ids);
    Moments moments(*setup.stream, setup.encoder.deterministic());
    moments.add(*setup.stream, setup.encoder.run(*setup.stream, passes));
    const auto state = moments.snapshot(*setup.stream);
    for (const bool post : {false, true}) {
        for (const double variance : state.variance(post))
            QCOMPARE(variance, 0.0);
    }
    for (const double sum : state.sum)
        QCOMPARE(sum, 0.0);
}

void TestMcSiteProbe::noiseIsAliveAtEverySite()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(QString, tower);
    EncoderSetup setup(device, tower.toStdString());
    Placement placement = placementWithFlags("all_linear", setup.encoder.tower());
    placement.attentionProbabilities = false;
    const std::vector<std::uint32_t> ids = {5, 6};
    const std::vector<PassId> passes = {{0, 0}, {0, 1}, {1, 0}};
    for (const auto kind : {Perturbation::Kind::Gaussian, Perturbation::Kind::Scale}) {
        for (const mc_embedding::Site& site : liveSites(setup.encoder.tower(), placement)) {
            Perturbation how;
            how.kind = kind;
            how.magnitude = 0.5;
            setup.encoder.setPerturbation({site}, how);
            const auto alone = setup.features(ids, {0, 1}, passes, 1, 1);
            QVERIFY(alone == setup.features(ids, {0, 1}, passes, 2, 3));
            const std::size_t size = alone[0].size() / 3;
            const std::vector<float> first(alone[0].begin(),
                                           alone[0].begin() + static_cast<std::ptrdiff_t>(size)),
                second(alone[0].begin() + static_cast<std::ptrdiff_t>(size),
                       alone[0].begin() + static_cast<std::ptrdiff_t>(2 * size));
            QVERIFY2(first != second, siteName(site.number, setup.encoder.tower()).c_str());
            how.magnitude = 0; // without noise the bits are those without perturbation
            setup.encoder.setPerturbation({site}, how);
            const auto quiet = setup.features(ids, {0, 1}, {{0, 0}}, 2, 1);
            const auto deterministic = setup.host(setup.encoder.deterministic());
            QVERIFY(std::equal(quiet[0].begin(), quiet[0].end(), deterministic.begin()));
        }
    }
}

VERGENCE_TEST(TestMcSiteProbe)
#include "tst_mc_site_probe.moc"
