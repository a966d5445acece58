#include <QTest>

#include "core/compute/optim/adam.h"
#include "plugins/foveated_vlm/model/known_names.h"
#include "tests/plugins/foveated_vlm/t0_model.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {
ModelSettings smallest(Variant variant)
{
    ModelSettings settings;
    settings.variant = variant;
    settings.vit = *knownVit("dinov2-small", 224);
    settings.llm = *knownLlm("smollm2-135m-instruct");
    return settings;
}

/// Declared, not allocated.
FoveatedModel::Counts countsOf(const ModelSettings& settings)
{
    return FoveatedModel(devices().devices.front(), settings).counts();
}

/// Mean and deviation of a parameter's numbers.
std::pair<double, double> moments(const std::vector<double>& values)
{
    double mean = 0, square = 0;
    for (const double v : values)
        mean += v / static_cast<double>(values.size());
    for (const double v : values)
        square += (v - mean) * (v - mean) / static_cast<double>(values.size());
    return {mean, std::sqrt(square)};
}
} // namespace

class TestFvlmModel : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void countsAreThePublishedOnes();
    void knownTowersHaveTheirCounts_data();
    void knownTowersHaveTheirCounts();
    void everyNameIsThere();
    void onlyMatricesDecay();
    void decayMovesNoBiasWithoutGradient();
    void frozenWeightsKeepTheirBits();
    void startValuesAreTheStatedOnes();
    void captionsHaveNoHead();
};

void TestFvlmModel::countsAreThePublishedOnes()
{
    const auto release = countsOf(smallest(Variant::Captions));
    QCOMPARE(release.vit, Index{22'056'576});
    QCOMPARE(release.connector, Index{739'392});
    QCOMPARE(release.llm, Index{134'515'008});
    QCOMPARE(release.all(), Index{157'310'976});
    ModelSettings phase1 = smallest(Variant::Latents);
    QCOMPARE(countsOf(phase1).all(), Index{158'617'988});
    phase1.seedAsRun = true;
    phase1.query.mode = QueryMode::ShallowAverage;
    phase1.query.bias = true;
    QCOMPARE(countsOf(phase1).all(), Index{158'617'220});
}

void TestFvlmModel::knownTowersHaveTheirCounts_data()
{
    QTest::addColumn<QString>("vit");
    QTest::addColumn<QString>("llm");
    QTest::addColumn<qlonglong>("vitCount");
    QTest::addColumn<qlonglong>("llmCount");
    QTest::newRow("small, 360M") << "dinov2-with-registers-small"
                                 << "smollm2-360m" << qlonglong{22'056'576 + 4 * 384}
                                 << qlonglong{361'821'120};
    QTest::newRow("base, 1.7B") << "dinov2-base"
                                << "smollm2-1.7b-instruct" << qlonglong{86'580'480}
                                << qlonglong{1'711'376'384};
}

void TestFvlmModel::knownTowersHaveTheirCounts()
{
    QFETCH(QString, vit);
    QFETCH(QString, llm);
    ModelSettings settings;
    settings.vit = *knownVit(vit.toStdString(), 224);
    settings.llm = *knownLlm(llm.toStdString());
    const auto counts = countsOf(settings);
    QTEST(static_cast<qlonglong>(counts.vit), "vitCount");
    QTEST(static_cast<qlonglong>(counts.llm), "llmCount");
    QVERIFY(!knownVit("dinov3-small", 224) && !knownLlm("smollm2-135") &&
            !knownLlm("tiny-instruct"));
    for (const std::string_view name : kKnownVitNames)
        QVERIFY(knownVit(std::string(name), 224).has_value());
    for (const std::string_view name : kKnownLlmNames)
        QVERIFY(knownLlm(std::string(name)).has_value());
}

void TestFvlmModel::everyNameIsThere()
{
    T0 t0(Variant::Joint);
    for (const char* name : {"encoder.dino.embeddings.cls_token",
                             "encoder.dino.embeddings.mask_token",
                             "encoder.dino.embeddings.position_embeddings",
                             "encoder.dino.embeddings.patch_embeddings.projection.bias",
                             "encoder.dino.encoder.layer.1.attention.attention.value.bias",
                             "encoder.dino.encoder.layer.0.attention.output.dense.weight",
                             "encoder.dino.encoder.layer.0.layer_scale2.lambda1",
                             "encoder.dino.layernorm.weight",
                             "encoder.query_input_proj.weight",
                             "encoder.output_proj.bias",
                             "dino_to_llm.weight",
                             "llm_to_query.bias",
                             "q_static",
                             "q_init",
                             "llm.model.embed_tokens.weight",
                             "llm.model.layers.1.self_attn.k_proj.weight",
                             "llm.model.layers.0.mlp.gate_proj.weight",
                             "llm.model.norm.weight",
                             "pred_head.h_to_film.2.weight",
                             "pred_head.encoder.4.bias",
                             "pred_head.decoder.0.weight",
                             "z_vae_init",
                             "coarse_token",
                             "fine_token",
                             "no_text_token",
                             "video_end_token"})
        QVERIFY2(t0.parameters().named(name).device() != nullptr, name);
    QVERIFY(!t0.parameters().named("encoder.query_input_proj.bias").device());
    QVERIFY(!t0.parameters().named("llm.lm_head.weight").device());
}

void TestFvlmModel::onlyMatricesDecay()
{
    for (const bool decaysAll : {false, true}) {
        T0 t0(Variant::Joint, DType::F64,
              [&](ModelSettings& settings) { settings.decaysAll = decaysAll; });
        const std::vector<std::string> names{"vit", "vit_others", "connector", "connector_others",
                                             "llm", "llm_others"};
        QCOMPARE(t0.parameters().groups().size(), names.size());
        for (int i = 0; i < t0.parameters().count(); ++i) {
            const Parameter& parameter = t0.parameters()[i];
            const auto& group = t0.parameters().groups()[static_cast<std::size_t>(parameter.group)];
            QCOMPARE(group.name, names[static_cast<std::size_t>(parameter.group)]);
            const bool isNorm = parameter.name.find("norm") != std::string::npos;
            const bool isMatrix = parameter.name.ends_with(".weight") && !isNorm &&
                                  parameter.name.find("embed_tokens") == std::string::npos;
            QVERIFY2((group.weightDecay == 0.01) == (decaysAll || isMatrix),
                     parameter.name.c_str());
        }
    }
}

void TestFvlmModel::decayMovesNoBiasWithoutGradient()
{
    T0 t0(Variant::Joint, DType::F32);
    t0.parameters().zeroGradients(*t0.stream);
    Adam adam(t0.parameters(), *t0.stream);
    adam.setRates(*t0.stream, std::vector<double>(FoveatedModel::kGroups, 0.1));
    std::vector<std::vector<double>> before;
    for (int i = 0; i < t0.parameters().count(); ++i)
        before.push_back(numbersOf(*t0.stream, t0.parameters()[i].value));
    adam.step(*t0.stream);
    for (int i = 0; i < t0.parameters().count(); ++i) {
        const Parameter& parameter = t0.parameters()[i];
        const auto after = numbersOf(*t0.stream, parameter.value);
        const auto& was = before[static_cast<std::size_t>(i)];
        if (parameter.group % 2 == 1)
            QVERIFY2(after == was, parameter.name.c_str());
        else
            QVERIFY2(std::abs(after[0] - 0.999 * was[0]) < 1e-6, parameter.name.c_str());
    }
}

void TestFvlmModel::frozenWeightsKeepTheirBits()
{
    T0 t0(Variant::Captions, DType::F32,
          [](ModelSettings& settings) { settings.freezesVit = true; });
    const T0Batch batch(t0, t0Captions());
    Adam adam(t0.parameters(), *t0.stream);
    adam.setRates(*t0.stream, std::vector<double>(FoveatedModel::kGroups, 0.1));
    const auto vit = t0.values("encoder.dino.encoder.layer.0.mlp.fc1.weight");
    const auto norm = t0.values("encoder.dino.layernorm.weight");
    const auto language = t0.values("llm.model.layers.0.mlp.up_proj.weight");
    t0Step(t0, batch, t0Losses(t0, batch));
    adam.step(*t0.stream);
    QVERIFY(t0.values("encoder.dino.encoder.layer.0.mlp.fc1.weight") == vit);
    QVERIFY(t0.values("encoder.dino.layernorm.weight") == norm);
    QVERIFY(t0.values("llm.model.layers.0.mlp.up_proj.weight") != language);
}

void TestFvlmModel::startValuesAreTheStatedOnes()
{
    ModelSettings settings;
    settings.variant = Variant::Latents;
    settings.vit = *knownVit("tiny", 64);
    settings.llm = *knownLlm("tiny");
    settings.head.widths = {4, 16, 32, 32};
    settings.head.height = settings.head.width = 8;
    const auto device = devices().devices.front();
    const auto stream = device->createStream();
    FoveatedModel model(device, settings);
    model.allocate(*stream);
    model.initialise(*stream, 42);
    const auto values = [&](const char* name) {
        return numbersOf(*stream, model.parameters().named(name));
    };
    const auto expectUniform = [&](const char* name, double fanIn) {
        const double bound = 1 / std::sqrt(fanIn);
        const auto numbers = values(name);
        const auto [mean, deviation] = moments(numbers);
        for (const double v : numbers)
            QVERIFY2(std::abs(v) <= bound, name);
        // The standard error of a deviation from n numbers is below 1/√n of it.
        const double error = 5 / std::sqrt(static_cast<double>(numbers.size()));
        QVERIFY2(std::abs(deviation - bound / std::sqrt(3.0)) < error * bound, name);
        QVERIFY2(std::abs(mean) < error * bound, name);
    };
    expectUniform("dino_to_llm.weight", 64);
    expectUniform("dino_to_llm.bias", 64);
    expectUniform("llm_to_query.weight", 96);
    expectUniform("pred_head.h_to_film.0.weight", 96);
    expectUniform("pred_head.encoder.2.weight", 9 * 16);
    expectUniform("encoder.query_input_proj.weight", 384);
    expectUniform("encoder.output_proj.weight", 64);
    const auto expectNormal = [&](const char* name, double wanted) {
        const auto numbers = values(name);
        const double error = 5 / std::sqrt(2 * static_cast<double>(numbers.size()));
        QVERIFY2(std::abs(moments(numbers).second - wanted) < error * wanted, name);
    };
    expectNormal("q_static", 1);
    expectNormal("q_init", 1);
    expectNormal("coarse_token", 0.14);
    expectNormal("video_end_token", 0.14);
    // narrow towers start wider than the published ones, or nearly nothing passes through them
    expectNormal("llm.model.embed_tokens.weight", 1 / std::sqrt(96.0));
    expectNormal("encoder.dino.encoder.layer.0.mlp.fc1.weight", 1 / std::sqrt(64.0));
    QCOMPARE(knownLlm("smollm2-135m")->deviation, 1.0 / 24);
    QCOMPARE(knownVit("dinov2-small", 224)->deviation, 0.02);
    for (const double v : values("z_vae_init"))
        QCOMPARE(v, 0.0);
    for (const double v : values("encoder.dino.encoder.layer.2.layer_scale1.lambda1"))
        QCOMPARE(v, 1.0);
    const auto first = values("q_static");
    model.initialise(*stream, 43);
    QVERIFY(values("q_static") != first);
    model.initialise(*stream, 42);
    QVERIFY(values("q_static") == first);
}

void TestFvlmModel::captionsHaveNoHead()
{
    T0 t0;
    VERGENCE_THROWS(ContractError, "predicts no latents", t0.model.head());
    ModelSettings bad = T0::settings(Variant::Captions);
    bad.query.width = 0;
    VERGENCE_THROWS(ContractError, "a query needs a width", FoveatedModel(t0.device, bad));
}

VERGENCE_TEST(TestFvlmModel)
#include "tst_fvlm_model.moc"
