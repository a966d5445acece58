#include <set>

#include <QTest>

#include "plugins/mc_embedding/compute/sites.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

TowerShape tower(const std::string& key)
{
    return towerShape(key).value();
}

Placement preset(const std::string& name)
{
    Placement placement;
    placement.preset = name;
    return placement;
}

std::vector<int> numbers(const std::vector<Site>& sites)
{
    std::vector<int> result;
    for (const Site& site : sites)
        result.push_back(site.number);
    return result;
}

Index elements(const std::vector<Site>& sites)
{
    Index sum = 0;
    for (const Site& site : sites)
        sum += site.elements();
    return sum;
}

} // namespace

class TestMcSites : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void towersHaveTheTabledExtents_data();
    void towersHaveTheTabledExtents();
    void unknownKeysGiveNothing();
    void presetsHaveTheTabledCounts_data();
    void presetsHaveTheTabledCounts();
    void allLinearMasksTheTabledElements();
    void doublePlacementIsInTheOrderOfEvaluation();
    void blocksNarrowAPreset();
    void flagsAddSites();
    void listedSitesAreTakenAlone();
    void whatTheTowerLacksIsRefused();
    void sitesHaveNames();
};

void TestMcSites::towersHaveTheTabledExtents_data()
{
    QTest::addColumn<QString>("key");
    QTest::addColumn<int>("tokens");
    QTest::addColumn<double>("millions");
    QTest::addColumn<double>("gigaflop");
    QTest::addColumn<double>("flopTolerance");
    const auto row = [](const char* key, int tokens, double millions, double gigaflop,
                        double tolerance = 0.005) {
        QTest::newRow(key) << QString(key) << tokens << millions << gigaflop << tolerance;
    };
    row("clip_b32", 50, 87.85, 8.82);
    row("clip_l14", 257, 303.97, 162.03);
    row("siglip2_b16", 196, 92.88, 35.42);
    row("siglip2_so400m", 729, 428.23, 670.35);
    row("siglip2_so400m_p16", 576, 428.26, 518.94);
    row("siglip2_g16", 576, 1163.66, 1392.98);
    row("tiny_clip", 17, 0.63, 0.0213, 0.00005);
    row("tiny_siglip", 16, 0.34, 0.0093, 0.00005);
}

void TestMcSites::towersHaveTheTabledExtents()
{
    QFETCH(QString, key);
    QFETCH(int, tokens);
    QFETCH(double, millions);
    QFETCH(double, gigaflop);
    QFETCH(double, flopTolerance);
    const TowerShape shape = tower(key.toStdString());
    QCOMPARE(shape.tokens(), Index{tokens});
    QVERIFY2(std::abs(static_cast<double>(shape.parameterCount()) / 1e6 - millions) < 0.0051,
             qPrintable(QString::number(shape.parameterCount())));
    QVERIFY2(std::abs(shape.flop() / 1e9 - gigaflop) <= flopTolerance,
             qPrintable(QString::number(shape.flop())));
    // Masks come in blocks of 16 elements that no row may share.
    QCOMPARE(shape.width % 16, Index{0});
    QCOMPARE(shape.hidden % 16, Index{0});
    QCOMPARE(shape.feature % 16, Index{0});
}

void TestMcSites::unknownKeysGiveNothing()
{
    QVERIFY(!towerShape("clip_b64"));
    QCOMPARE(modelZoo().back().key, std::string("toy_linear"));
}

void TestMcSites::presetsHaveTheTabledCounts_data()
{
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("count");
    const auto row = [](const char* key, const char* name, int count) {
        QTest::addRow("%s, %s", key, name) << QString(key) << QString(name) << count;
    };
    row("clip_b32", "all_linear", 72);
    row("clip_b32", "mlp_only", 24);
    row("clip_l14", "mlp_only", 48);
    row("siglip2_b16", "all_linear", 78);
    row("siglip2_b16", "siglip_transformers", 74);
    row("siglip2_so400m", "siglip_transformers", 164);
    row("siglip2_b16", "siglip_timm_double", 13 * 9 + 2);
    row("clip_b32", "fc2_all", 12);
    row("siglip2_b16", "attention_only", 52);
    row("clip_b32", "stochastic_depth", 24);
    row("clip_b32", "block_output", 12);
    row("toy_linear", "all_linear", 1);
}

void TestMcSites::presetsHaveTheTabledCounts()
{
    QFETCH(QString, key);
    QFETCH(QString, name);
    QFETCH(int, count);
    const auto live = numbers(liveSites(tower(key.toStdString()), preset(name.toStdString())));
    QCOMPARE(static_cast<int>(live.size()), count);
    QCOMPARE(static_cast<int>(std::set(live.begin(), live.end()).size()), count);
}

void TestMcSites::allLinearMasksTheTabledElements()
{
    QCOMPARE(elements(liveSites(tower("siglip2_b16"), {})), Index{16'563'456});
    // The table counts blocks alone.
    const auto millions = [](const char* key) {
        const TowerShape shape = tower(key);
        Placement placement;
        for (int block = 0; block < shape.layers; ++block)
            placement.blocks.push_back(block);
        return static_cast<double>(elements(liveSites(shape, placement))) / 1e6;
    };
    QVERIFY(std::abs(millions("clip_b32") - 4.1) < 0.06);
    QVERIFY(std::abs(millions("clip_l14") - 56.8) < 0.06);
    QVERIFY(std::abs(millions("siglip2_b16") - 16.3) < 0.06);
    QVERIFY(std::abs(millions("siglip2_so400m") - 198.1) < 0.06);
    QVERIFY(std::abs(millions("siglip2_g16") - 318.5) < 0.06);
}

void TestMcSites::doublePlacementIsInTheOrderOfEvaluation()
{
    const auto live = numbers(liveSites(tower("tiny_siglip"), preset("siglip_timm_double")));
    const std::vector<int> block = {0, 1, 2, 3, 8, 4, 9, 5, 10};
    QCOMPARE(live.front(), kPositionAdd);
    QCOMPARE(live.back(), kFinalFeature);
    for (std::size_t i = 0; i < 4 * block.size(); ++i)
        QCOMPARE(live[1 + i], 16 * static_cast<int>(i / block.size()) + block[i % block.size()]);
}

void TestMcSites::blocksNarrowAPreset()
{
    Placement placement = preset("fc2_all");
    placement.blocks = {7, 8, 9};
    QCOMPARE(numbers(liveSites(tower("clip_b32"), placement)),
             (std::vector{16 * 7 + 5, 16 * 8 + 5, 16 * 9 + 5}));
    placement.blocks = {12};
    QCOMPARE(numbers(liveSites(tower("siglip2_b16"), placement)), (std::vector{16 * 12 + 5}));
}

void TestMcSites::flagsAddSites()
{
    Placement placement = preset("block_output");
    placement.finalProjection = placement.patchEmbedding = placement.positionAdd = true;
    const auto live = numbers(liveSites(tower("tiny_clip"), placement));
    QCOMPARE(live, (std::vector{kPatchEmbedding, kPositionAdd, 6, 22, 38, kFinalProjection}));
    placement = preset("mlp_only");
    placement.afterActivation = placement.attentionProbabilities = placement.blockOutput = true;
    placement.blocks = {1};
    QCOMPARE(numbers(liveSites(tower("tiny_clip"), placement)),
             (std::vector{16 + 7, 16 + 4, 16 + 9, 16 + 5, 16 + 6}));
}

void TestMcSites::listedSitesAreTakenAlone()
{
    Placement placement = preset("sites");
    placement.sites = {kFinalFeature, 4, 23};
    const auto live = liveSites(tower("tiny_clip"), placement);
    QCOMPARE(numbers(live), (std::vector{4, 23, kFinalFeature}));
    QCOMPARE(live[0].elements(), Index{17 * 512});
    QCOMPARE(live[1].elements(), Index{2 * 17 * 17});
    QCOMPARE(live[2].elements(), Index{48});
}

void TestMcSites::whatTheTowerLacksIsRefused()
{
    const TowerShape clip = tower("tiny_clip"), siglip = tower("tiny_siglip");
    VERGENCE_THROWS(ContractError, "no placement all", liveSites(clip, preset("all")));
    VERGENCE_THROWS(ContractError, "describes SigLIP",
                    liveSites(clip, preset("siglip_timm_double")));
    VERGENCE_THROWS(ContractError, "no site of the placement sites",
                    liveSites(clip, preset("sites")));
    VERGENCE_THROWS(ContractError, "no site of the placement attention_only",
                    liveSites(tower("toy_linear"), preset("attention_only")));
    Placement placement;
    placement.blocks = {3};
    VERGENCE_THROWS(ContractError, "no block 3; they are 0 to 2", liveSites(clip, placement));
    placement = preset("sites");
    placement.sites = {kFinalProjection};
    VERGENCE_THROWS(ContractError, "final projection", liveSites(siglip, placement));
    placement = {};
    placement.finalProjection = true;
    VERGENCE_THROWS(ContractError, "no final projection", liveSites(siglip, placement));
    placement = {};
    placement.sites = {4};
    VERGENCE_THROWS(ContractError, "wants the placement sites", liveSites(clip, placement));
}

void TestMcSites::sitesHaveNames()
{
    const TowerShape siglip = tower("tiny_siglip");
    QCOMPARE(siteName(84, tower("clip_b32")), std::string("block 5 fc1"));
    QCOMPARE(siteName(16 * 3 + 2, siglip), std::string("head value"));
    QCOMPARE(siteName(kPositionAdd, siglip), std::string("positions"));
}

VERGENCE_TEST(TestMcSites)
#include "tst_mc_sites.moc"
