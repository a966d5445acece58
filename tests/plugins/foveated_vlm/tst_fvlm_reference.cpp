#include <algorithm>

#include <QTest>

#include "plugins/foveated_vlm/model/generation.h"
#include "plugins/foveated_vlm/model/sequential.h"
#include "tests/plugins/foveated_vlm/t0_model.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {
/// Relative to the value, in F64 1e-9 and in F32 2e-4 (forward), as the specification says.
double forwardTolerance(DType type)
{
    return type == DType::F64 ? 1e-9 : 2e-4;
}

double sum(const std::vector<double>& values, std::size_t first = 0, std::size_t count = ~0ull)
{
    double total = 0;
    for (std::size_t i = first; i < std::min(values.size(), first + std::min(count, values.size()));
         ++i)
        total += values[i];
    return total;
}

std::vector<double> row(const std::vector<double>& values, std::size_t i, std::size_t width)
{
    return {values.begin() + static_cast<std::ptrdiff_t>(i * width),
            values.begin() + static_cast<std::ptrdiff_t>((i + 1) * width)};
}

double cosine(const std::vector<double>& a, const std::vector<double>& b)
{
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ab += a[i] * b[i];
        aa += a[i] * a[i];
        bb += b[i] * b[i];
    }
    return ab / std::sqrt(aa * bb);
}

/// Mean over blocks and heads of the entropy, nats; weights of one look.
double entropy(const std::vector<double>& weights, std::size_t tokens)
{
    double total = 0;
    for (const double p : weights)
        total -= p > 0 ? p * std::log(p) : 0;
    return total / static_cast<double>(weights.size() / tokens);
}

void addTypeRows()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<bool>("isDouble");
    forEachDevice([](const std::string& name, int device) {
        QTest::addRow("%s, F64", name.c_str()) << device << true;
        QTest::addRow("%s, F32", name.c_str()) << device << false;
    });
}

#define FVLM_ROW(t0, variant)                                                                      \
    VERGENCE_ROW_DEVICE(device)                                                                    \
    QFETCH(bool, isDouble);                                                                        \
    const DType type = isDouble ? DType::F64 : DType::F32;                                         \
    T0 t0(variant, type, {}, device);                                                              \
    const double near = forwardTolerance(type)

#define FVLM_NEAR(got, want, relative)                                                             \
    VERGENCE_AGREES(                                                                               \
        difference(std::vector<double>{got}, std::vector<double>{want}, 1e-10, relative))
} // namespace

/// The numbers of the specification, section 16.3, from an independent reference.
class TestFvlmReference : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void weightsAreTheListedOnes();
    void tokensQueriesAndAttention_data() { addTypeRows(); }
    void tokensQueriesAndAttention();
    void captionLossesOfAllModes_data() { addTypeRows(); }
    void captionLossesOfAllModes();
    void refinements_data();
    void refinements();
    void wordsOfAllModes();
    void latentLosses_data() { addTypeRows(); }
    void latentLosses();
    void captionGradients_data() { addTypeRows(); }
    void captionGradients();
    void latentGradients_data() { addTypeRows(); }
    void latentGradients();
    void plainStepLowersTheLosses();
};

void TestFvlmReference::weightsAreTheListedOnes()
{
    T0 t0(Variant::Latents);
    QCOMPARE(t0.weightCount(), 7766);
    FVLM_NEAR(t0.weightSum(), 1987.7192760972, 1e-12);
    FVLM_NEAR(t0Patches({0, 0}).front(), -1.7925336073, 1e-10);
}

void TestFvlmReference::tokensQueriesAndAttention()
{
    FVLM_ROW(t0, Variant::Captions);
    const T0Batch batch(t0, t0Captions());
    EvaluationWish wish;
    wish.readsAttention = true;
    const Evaluation result = t0Evaluate(t0, batch, Mode::CoarseFine, wish);
    const auto coarse = numbersOf(*t0.stream, result.coarseTokens);
    const auto fine = numbersOf(*t0.stream, result.fineTokens);
    const auto queries = numbersOf(*t0.stream, result.queries);
    VERGENCE_AGREES(difference(std::vector<double>(coarse.begin(), coarse.begin() + 3),
                               std::vector<double>{-0.9014933732, -1.5840127409, -1.0246033856},
                               1e-10, near));
    FVLM_NEAR(sum(coarse, 0, 8), -1.1259858038, near);
    const std::vector<double> wantedQueries{-0.9618346086, -0.0035852655, 1.0233087361};
    const std::vector<double> wantedFine{-0.3730349319, 1.4407563112, -0.4332590195};
    const std::vector<double> wantedEntropy{0.8839551536, 1.1355967835, 1.2121975796};
    const std::vector<double> wantedCosine{0.9133871910, -0.9612306328, 0.9648198686};
    const auto fineWeights = numbersOf(*t0.stream, result.fineAttention.weights);
    const auto coarseWeights = numbersOf(*t0.stream, result.coarseAttention.weights);
    const std::size_t perLook = coarseWeights.size() / 5;
    QCOMPARE(perLook, std::size_t{2 * 2 * 5});
    // Sums of numbers of size 1 that nearly cancel are compared with that size.
    for (std::size_t t = 0; t < 3; ++t) {
        QVERIFY(std::abs(sum(queries, 6 * t, 6) - wantedQueries[t]) < 4 * near);
        QVERIFY(std::abs(sum(fine, 8 * t, 8) - wantedFine[t]) < 8 * near);
        FVLM_NEAR(entropy(row(fineWeights, t, perLook), 5), wantedEntropy[t], 2 * near);
        FVLM_NEAR(cosine(row(fine, t, 8), row(coarse, t, 8)), wantedCosine[t], 2 * near);
    }
    FVLM_NEAR(cosine(row(queries, 0, 6), row(queries, 1, 6)), -0.1279571142, 4 * near);
    FVLM_NEAR(cosine(row(queries, 1, 6), row(queries, 2, 6)), 0.9236003989, near);
    FVLM_NEAR(cosine(row(queries, 0, 6), row(queries, 2, 6)), 0.1086412465, 4 * near);
    FVLM_NEAR(entropy(row(coarseWeights, 0, perLook), 5), 0.3265233174, 2 * near);
    FVLM_NEAR(coarseWeights.front(), 0.9971880425, near);
}

void TestFvlmReference::captionLossesOfAllModes()
{
    FVLM_ROW(t0, Variant::Captions);
    const T0Batch batch(t0, t0Captions());
    LossSettings settings = t0Losses(t0, batch, 0.5);
    const T0Step step = t0Step(t0, batch, settings, false);
    FVLM_NEAR(step.fine, 2.1505326754, near);
    FVLM_NEAR(step.coarse, 3.3376507811, near);
    FVLM_NEAR(step.loss, 3.8193580659, near);
    const Evaluation fine = t0Evaluate(t0, batch, Mode::CoarseFine);
    FVLM_NEAR(fine.nll[0], 7.3224730146, near);
    FVLM_NEAR(fine.nll[1], 3.4301903622, near);
    QCOMPARE(fine.counted, (std::vector<int>{3, 2}));
    const Evaluation coarse = t0Evaluate(t0, batch, Mode::CoarseOnly);
    FVLM_NEAR((coarse.nll[0] + coarse.nll[1]) / 5, 3.3376507811, near);
    const Evaluation sequential = t0Evaluate(t0, batch, Mode::Sequential);
    FVLM_NEAR(sequential.nll[0], 7.0496031256, near);
    FVLM_NEAR(sequential.nll[1], 4.4891819277, near);
    FVLM_NEAR((sequential.nll[0] + sequential.nll[1]) / 5, 2.3077570107, near);
}

void TestFvlmReference::refinements_data()
{
    QTest::addColumn<int>("refinements");
    QTest::addColumn<double>("loss");
    QTest::newRow("1") << 1 << 2.1505326754;
    QTest::newRow("2") << 2 << 2.7894679541;
    QTest::newRow("3") << 3 << 2.3077570107;
}

void TestFvlmReference::refinements()
{
    QFETCH(int, refinements);
    QFETCH(double, loss);
    T0 t0;
    const T0Batch batch(t0, t0Captions());
    LossSettings settings = t0Losses(t0, batch);
    settings.refinements = refinements;
    FVLM_NEAR(t0Step(t0, batch, settings, false).loss, loss, 1e-9);
}

void TestFvlmReference::wordsOfAllModes()
{
    T0 t0;
    const T0Batch batch(t0, t0Captions());
    Graph graph(*t0.stream, t0.device, {false, t0.type()});
    const ForwardPass pass{graph, t0.parameters(), nullptr, false, {}};
    GazeForward forward(pass, t0.model, batch.batch);
    const Glance fine =
        forward.look(forward.nextQueries(forward.shortStates(forward.coarse(), true)));
    const Value logits = t0.model.language().logits(pass, forward.wholeStates(fine, false).states);
    const auto numbers = numbersOf(*t0.stream, graph.tensor(logits));
    std::vector<int> words;
    for (int p = 0; p < 7; ++p) {
        const auto first = numbers.begin() + p * 11;
        words.push_back(static_cast<int>(std::max_element(first, first + 11) - first));
    }
    QCOMPARE(words, (std::vector<int>{8, 2, 6, 3, 4, 2, 4}));

    SampleTokens prompt = t0Captions().front();
    prompt.after = {1, 4};
    prompt.afterMask = {0, 0};
    const T0Batch promptBatch(t0, {prompt});
    GenerationSettings settings;
    settings.mode = Mode::Sequential;
    settings.newTokens = 4;
    settings.stopToken = -1;
    QCOMPARE(generate(pass, t0.model, promptBatch.batch, settings),
             (std::vector<std::vector<int>>{{4, 6, 10, 8}}));
}

void TestFvlmReference::latentLosses()
{
    FVLM_ROW(t0, Variant::Latents);
    const T0Batch batch(t0, t0Clips());
    const T0Step step = t0Step(t0, batch, t0Losses(t0, batch, 1), false);
    FVLM_NEAR(step.fine, 3.9639880381, near);
    FVLM_NEAR(step.coarse, 2.0044290220, near);
    FVLM_NEAR(step.loss, 5.9684170602, near);
}

void TestFvlmReference::captionGradients()
{
    FVLM_ROW(t0, Variant::Captions);
    Q_UNUSED(near);
    const T0Batch batch(t0, t0Captions());
    t0Step(t0, batch, t0Losses(t0, batch, 0.5));
    // Norms of the reference are good to 1e-6, single entries to 1e-8.
    const double norms = isDouble ? 2e-6 : 1e-3, entries = isDouble ? 1e-7 : 1e-3;
    FVLM_NEAR(t0.gradientNorm(0, 6), 26.932904, norms);
    FVLM_NEAR(t0.gradientNorm(0, 2), 7.841979, norms);
    FVLM_NEAR(t0.gradientNorm(2, 4), 7.552837, norms);
    FVLM_NEAR(t0.gradientNorm(4, 6), 24.634109, norms);
    const std::string vit = "encoder.dino.", layer = vit + "encoder.layer.";
    struct Entry {
        std::string name;
        std::size_t place;
        double value;
    };
    const std::vector<Entry> wanted{
        {"q_static", 0, 0.0767969400},
        {"q_init", 0, 0.0118846154},
        {"encoder.query_input_proj.weight", 0, -0.1068758957},
        {"encoder.output_proj.weight", 0, -0.1234104439},
        {"dino_to_llm.weight", 0, -0.3597042329},
        {"llm_to_query.weight", 0, 0.0277171469},
        {vit + "embeddings.patch_embeddings.projection.weight", 0, -0.2470363610},
        {vit + "embeddings.position_embeddings", 0, 0.4136426807},
        {layer + "0.attention.attention.key.weight", 0, -0.0450244518},
        {layer + "1.attention.attention.value.weight", 8 + 2, -0.3146792309},
        {layer + "0.layer_scale1.lambda1", 0, 0.2043031566},
        {"llm.model.embed_tokens.weight", 2 * 12, -0.0669754765},
        {"llm.model.embed_tokens.weight", 7 * 12 + 3, -0.2669423137},
        {"llm.model.layers.0.self_attn.k_proj.weight", 0, 0.0794787284},
        {"llm.model.layers.1.mlp.down_proj.weight", 0, -0.0085631334}};
    for (const Entry& entry : wanted) {
        const std::string text =
            difference(std::vector<double>{t0.gradient(entry.name).at(entry.place)},
                       std::vector<double>{entry.value}, isDouble ? 1e-9 : 1e-4, entries);
        QVERIFY2(text.empty(), (entry.name + ": " + text).c_str());
    }
}

void TestFvlmReference::latentGradients()
{
    FVLM_ROW(t0, Variant::Latents);
    Q_UNUSED(near);
    const T0Batch batch(t0, t0Clips());
    t0Step(t0, batch, t0Losses(t0, batch, 1));
    const double norms = isDouble ? 2e-6 : 1e-3, entries = isDouble ? 1e-7 : 1e-3;
    FVLM_NEAR(t0.gradientNorm(0, 6), 783.93338, norms);
    FVLM_NEAR(t0.gradientNorm(0, 2), 186.36124, norms);
    FVLM_NEAR(t0.gradientNorm(4, 6), 730.31089, norms);
    // The reference counts head and learned tokens apart from the rest of the connector.
    FVLM_NEAR(t0.gradientNorm(2, 4), std::hypot(73.06126, 202.80307), norms);
    const std::vector<std::pair<std::string, double>> wanted{
        {"q_static", 2.367826205},
        {"q_init", -0.937603629},
        {"z_vae_init", 0.0087657660},
        {"pred_head.h_to_film.2.weight", 1.597967321},
        {"pred_head.encoder.0.weight", 1.639743207},
        {"coarse_token", 3.706869108},
        {"fine_token", 0.122514175},
        {"llm_to_query.weight", -5.067797825}};
    for (const auto& [name, value] : wanted) {
        const std::string text =
            difference(std::vector<double>{t0.gradient(name).front()}, std::vector<double>{value},
                       isDouble ? 1e-8 : 1e-2, entries);
        QVERIFY2(text.empty(), (name + ": " + text).c_str());
    }
}

namespace {
/// w ← w − rate · gradient, all weights.
void plainStep(T0& t0, double rate)
{
    for (int i = 0; i < t0.parameters().count(); ++i) {
        const std::string name = t0.parameters()[i].name;
        auto values = numbersOf(*t0.stream, t0.parameters()[i].value);
        const auto gradient = numbersOf(*t0.stream, t0.parameters()[i].gradient);
        for (std::size_t k = 0; k < values.size(); ++k)
            values[k] -= rate * gradient[k];
        t0.set(name, values);
    }
}
} // namespace

void TestFvlmReference::plainStepLowersTheLosses()
{
    T0 captions;
    const T0Batch texts(captions, t0Captions());
    const LossSettings settings = t0Losses(captions, texts, 0.5);
    t0Step(captions, texts, settings);
    plainStep(captions, 1e-3);
    const T0Step after = t0Step(captions, texts, settings, false);
    FVLM_NEAR(after.loss, 3.4600217774, 2e-6);
    FVLM_NEAR(after.fine, 1.8490263559, 2e-6);
    FVLM_NEAR(after.coarse, 3.2219908428, 2e-6);

    T0 latents(Variant::Latents);
    const T0Batch clips(latents, t0Clips());
    const LossSettings both = t0Losses(latents, clips, 1);
    t0Step(latents, clips, both);
    plainStep(latents, 1e-6);
    const T0Step later = t0Step(latents, clips, both, false);
    FVLM_NEAR(later.fine, 3.5666636436, 2e-6);
    FVLM_NEAR(later.coarse, 1.8055439181, 2e-6);
}

VERGENCE_TEST(TestFvlmReference)
#include "tst_fvlm_reference.moc"
