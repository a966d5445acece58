#include <QTest>

#include "tests/plugins/foveated_vlm/t0_model.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {
/// A head alone, with random weights, for states of 12.
struct Head {
    std::shared_ptr<Device> device = devices().devices.front();
    std::unique_ptr<Stream> stream = device->createStream();
    ParameterSet parameters;
    HeadSettings settings;
    std::unique_ptr<PredictionHead> head;

    explicit Head(const HeadSettings& wanted, Index stateWidth = 12, bool allocates = true)
        : parameters(device, DType::F64, DType::F64),
          settings(wanted)
    {
        const LayerGroups groups{parameters.addGroup({"matrices", 0, false}),
                                 parameters.addGroup({"others", 0, false})};
        head = std::make_unique<PredictionHead>(UniformDeclaration(parameters, groups), settings,
                                                stateWidth);
        if (!allocates)
            return;
        parameters.allocate(*stream);
        parameters.initialise(*stream, 5);
    }

    Index count() const
    {
        Index sum = 0;
        for (int i = 0; i < parameters.count(); ++i)
            sum += elementCount(parameters[i].shape);
        return sum;
    }

    std::vector<double> predict(const std::vector<double>& states,
                                const std::vector<double>& latents)
    {
        const Index n = static_cast<Index>(states.size()) / 12;
        Graph graph(*stream, device, {false, DType::F64});
        const ForwardPass pass{graph, parameters, nullptr, false, {}};
        const Value h = graph.constant(tensorOf(*stream, device, {n, 12}, states, DType::F64));
        const Value l = graph.constant(
            tensorOf(*stream, device, {n, settings.height, settings.width, settings.widths.front()},
                     latents, DType::F64));
        return numbersOf(*stream, graph.dense(head->predict(pass, h, head->encode(pass, l))));
    }
    void set(const std::string& name, double value, Index first, Index count)
    {
        auto* data = static_cast<double*>(parameters.named(name).data());
        std::fill_n(data + first, count, value);
    }
};

std::vector<double> wave(std::size_t count, double phase)
{
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i)
        values.push_back(std::sin(phase + 0.37 * static_cast<double>(i)));
    return values;
}

HeadSettings smallHead(HeadKind kind)
{
    HeadSettings settings;
    settings.kind = kind;
    settings.hidden = 6;
    settings.widths = {4, 6, 16};
    settings.height = 3;
    settings.width = 5;
    return settings;
}
} // namespace

class TestFvlmHead : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sizesAreThePublishedOnes_data();
    void sizesAreThePublishedOnes();
    void constantModulationIgnoresTheState();
    void filmEqualsItsFormula();
    void everyKindReadsStateAndLatent_data();
    void everyKindReadsStateAndLatent();
    void convolutionsSeeOnlyTheirNeighbourhood();
};

void TestFvlmHead::sizesAreThePublishedOnes_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("count");
    QTest::newRow("film") << static_cast<int>(HeadKind::Film) << 1'300'612;
    QTest::newRow("perceptron") << static_cast<int>(HeadKind::Mlp) << 22'167'552;
    QTest::newRow("attention") << static_cast<int>(HeadKind::CrossAttention) << 1'325'572;
}

void TestFvlmHead::sizesAreThePublishedOnes()
{
    QFETCH(int, kind);
    QFETCH(int, count);
    HeadSettings settings;
    settings.kind = static_cast<HeadKind>(kind);
    QCOMPARE(Head(settings, 576, false).count(), Index{count});
}

/// γ = 1, β = 0 whatever the state.
void TestFvlmHead::constantModulationIgnoresTheState()
{
    Head head(smallHead(HeadKind::Film));
    head.set("h_to_film.2.weight", 0, 0, 32 * 6);
    head.set("h_to_film.2.bias", 1, 0, 16);
    head.set("h_to_film.2.bias", 0, 16, 16);
    const auto latents = wave(60, 0.2);
    QCOMPARE(head.predict(wave(12, 1), latents), head.predict(wave(12, 2), latents));
}

/// One place and kernels that see their centre alone: a small sum by hand.
void TestFvlmHead::filmEqualsItsFormula()
{
    HeadSettings settings;
    settings.hidden = 1;
    settings.widths = {1, 1};
    settings.height = settings.width = 1;
    Head head(settings);
    const auto at = [&](const char* name, Index i) {
        return static_cast<const double*>(head.parameters.named(name).data())[i];
    };
    const auto states = wave(12, 0.4);
    double before = at("h_to_film.0.bias", 0);
    for (Index i = 0; i < 12; ++i)
        before += at("h_to_film.0.weight", i) * states[static_cast<std::size_t>(i)];
    const double gelu = 0.5 * before * (1 + std::erf(before / std::sqrt(2.0)));
    const double gamma = at("h_to_film.2.weight", 0) * gelu + at("h_to_film.2.bias", 0);
    const double beta = at("h_to_film.2.weight", 1) * gelu + at("h_to_film.2.bias", 1);
    const double feature = at("encoder.0.weight", 4) * 0.7 + at("encoder.0.bias", 0);
    const double wanted =
        at("decoder.0.weight", 4) * (gamma * feature + beta) + at("decoder.0.bias", 0);
    VERGENCE_AGREES(
        difference(head.predict(states, {0.7}), std::vector<double>{wanted}, 1e-14, 1e-13));
}

void TestFvlmHead::everyKindReadsStateAndLatent_data()
{
    QTest::addColumn<int>("kind");
    for (int kind = 0; kind < 3; ++kind)
        QTest::addRow("kind %d", kind) << kind;
}

void TestFvlmHead::everyKindReadsStateAndLatent()
{
    QFETCH(int, kind);
    Head head(smallHead(static_cast<HeadKind>(kind)));
    const auto states = wave(24, 1), latents = wave(120, 0.2);
    const auto both = head.predict(states, latents);
    QCOMPARE(both.size(), std::size_t{120});
    auto otherState = states;
    otherState[3] += 0.5;
    auto otherLatent = latents;
    otherLatent[70] += 0.5;
    const auto a = head.predict(otherState, latents), b = head.predict(states, otherLatent);
    // The first sample feels its own state alone, the second its own latent alone.
    QVERIFY(!std::equal(a.begin(), a.begin() + 60, both.begin()));
    QVERIFY(std::equal(a.begin() + 60, a.end(), both.begin() + 60));
    QVERIFY(std::equal(b.begin(), b.begin() + 60, both.begin()));
    QVERIFY(!std::equal(b.begin() + 60, b.end(), both.begin() + 60));
}

/// Two convolutions each way reach four places; the borders are zeros.
void TestFvlmHead::convolutionsSeeOnlyTheirNeighbourhood()
{
    HeadSettings settings = smallHead(HeadKind::Film);
    settings.height = 1;
    settings.width = 12;
    Head head(settings);
    const auto states = wave(12, 1);
    auto latents = wave(48, 0.2);
    const auto before = head.predict(states, latents);
    latents[0] += 0.5; // channel 0 of the first place
    const auto after = head.predict(states, latents);
    for (std::size_t place = 0; place < 12; ++place) {
        const bool changed =
            !std::equal(before.begin() + static_cast<std::ptrdiff_t>(4 * place),
                        before.begin() + static_cast<std::ptrdiff_t>(4 * place + 4),
                        after.begin() + static_cast<std::ptrdiff_t>(4 * place));
        QCOMPARE(changed, place <= 4);
    }
}

VERGENCE_TEST(TestFvlmHead)
#include "tst_fvlm_head.moc"
