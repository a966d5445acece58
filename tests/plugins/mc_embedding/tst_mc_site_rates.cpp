#include <algorithm>
#include <cmath>

#include <QTest>

#include "plugins/mc_embedding/models/text_model.h"
#include "tests/plugins/mc_embedding/encoder_setup.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using namespace vergence::test;

namespace {

const std::vector<std::uint32_t> kIds{1, 2};
const std::vector<PassId> kPasses{{0, 0}, {0, 1}, {1, 0}};

std::vector<float> featuresOf(EncoderSetup& setup, const std::vector<mc_embedding::Site>& sites,
                              const Perturbation& how)
{
    setup.encoder.setPerturbation(sites, how);
    setup.encoder.begin(*setup.stream, setup.pixels(2, 3), kIds);
    return setup.host(setup.encoder.run(*setup.stream, kPasses));
}

} // namespace

/// Drop probabilities of single sites, and masks on text towers.
class TestMcSiteRates : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void equalRatesAreOneProbability_data() { addTowerRows(); }
    void equalRatesAreOneProbability()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(QString, tower);
        EncoderSetup setup(device, tower.toStdString());
        const auto sites = liveSites(setup.encoder.tower(), {});
        Perturbation plain, each;
        plain.p = 0.1;
        each.p = 0.7;
        for (const auto& site : sites)
            each.rates[site.number] = 0.1;
        QCOMPARE(featuresOf(setup, sites, each), featuresOf(setup, sites, plain));
    }

    /// A site whose rate is 0 is as one that is not live.
    void rateZeroIsNoMask_data() { addTowerRows(); }
    void rateZeroIsNoMask()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(QString, tower);
        EncoderSetup setup(device, tower.toStdString());
        const auto all = liveSites(setup.encoder.tower(), {});
        Placement mlp;
        mlp.preset = "mlp_only";
        const auto some = liveSites(setup.encoder.tower(), mlp);
        Perturbation plain, each;
        plain.p = each.p = 0.1;
        for (const auto& site : all) {
            if (std::none_of(some.begin(), some.end(),
                             [&](const auto& other) { return other.number == site.number; }))
                each.rates[site.number] = 0;
        }
        QVERIFY(!each.rates.empty());
        QCOMPARE(featuresOf(setup, all, each), featuresOf(setup, some, plain));
    }

    void wrongRatesAreRefused()
    {
        EncoderSetup setup(devices().devices.front(), "tiny_clip");
        const auto sites = liveSites(setup.encoder.tower(), {});
        Perturbation how;
        how.rates[sites.front().number] = 0.95;
        VERGENCE_THROWS(ContractError, "0.95", setup.encoder.setPerturbation(sites, how));
        how.rates = {{kFinalFeature, 0.1}};
        VERGENCE_THROWS(ContractError, "not live", setup.encoder.setPerturbation(sites, how));
    }

    /// Masks on a text tower: a function of text, trial and pass; none where p is 0.
    void textMasksFollowTextAndPass()
    {
        const auto device = devices().devices.front();
        const auto stream = device->createStream();
        const auto text = demoTextModel("demo", 32, 42, device);
        const std::vector<std::string> prompts{"a small dog", "a red car on a sandy beach"};
        Perturbation how;
        how.p = 0.2;
        const auto encode = [&](const std::vector<std::string>& list) {
            return text->encodeMasked(*stream, list, "canonicalize", how, kPasses);
        };
        const Matrix once = encode(prompts), again = encode(prompts);
        QCOMPARE(once.rows, std::size_t(6));
        QCOMPARE(once.values, again.values);
        const auto row = [](const Matrix& m, std::size_t r) {
            return std::vector<double>(
                m.values.begin() + static_cast<std::ptrdiff_t>(r * m.columns),
                m.values.begin() + static_cast<std::ptrdiff_t>((r + 1) * m.columns));
        };
        QVERIFY(row(once, 0) != row(once, 2) && row(once, 0) != row(once, 4));
        // The company does not matter, up to the last bits of products of another extent.
        const Matrix alone = encode({prompts[1]});
        for (std::size_t t = 0; t < 3; ++t) {
            const auto a = row(alone, t), b = row(once, 2 * t + 1);
            for (std::size_t d = 0; d < a.size(); ++d)
                QVERIFY(std::abs(a[d] - b[d]) < 1e-5);
        }
        how.p = 0;
        const Matrix clean = encode(prompts);
        QCOMPARE(row(clean, 0), row(clean, 2));
        QVERIFY(row(clean, 0) != row(once, 0));
    }
};

VERGENCE_TEST(TestMcSiteRates)
#include "tst_mc_site_rates.moc"
