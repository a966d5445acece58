#include <QTest>

#include "tests/plugins/foveated_vlm/t0_model.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {
std::vector<SampleTokens> pairs()
{
    std::vector<SampleTokens> samples = t0Captions();
    samples[0].others = {{{8, 6}, {1, 1}}};
    samples[1].others = {{{1, 1, 4, 5}, {0, 1, 1, 1}}};
    return samples;
}

struct Result {
    double loss = 0;
    std::vector<double> margins, logProbabilities;
};

PreferenceSettings settingsOf(T0& t0, const std::vector<double>& reference, double inverse)
{
    PreferenceSettings settings;
    const Index count = static_cast<Index>(reference.size()) / 2;
    settings.inversePairs = tensorOf(*t0.stream, t0.device, {1}, {inverse}, t0.type());
    settings.reference = tensorOf(*t0.stream, t0.device, {count, 2}, reference, t0.type());
    return settings;
}

Result run(T0& t0, const T0Batch& batch, const PreferenceSettings& settings,
           bool accumulates = false)
{
    Graph graph(*t0.stream, t0.device, {true, t0.type()});
    const ForwardPass pass{graph, t0.parameters(), nullptr, false, {}};
    const PreferenceValues values = preferenceLoss(pass, t0.model, batch.batch, settings);
    if (!accumulates)
        t0.parameters().zeroGradients(*t0.stream);
    graph.backward(values.loss);
    return {numbersOf(*t0.stream, graph.tensor(values.loss)).front(),
            numbersOf(*t0.stream, graph.dense(values.margins)),
            numbersOf(*t0.stream, graph.dense(values.logProbabilities))};
}
} // namespace

class TestFvlmDpo : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void knownLosses_data();
    void knownLosses();
    void probabilitiesAreThoseOfSeparateAnswers();
    void accumulationEqualsOneBatch();
    void unpairedSamplesAreRefused();
};

void TestFvlmDpo::knownLosses_data()
{
    QTest::addColumn<double>("difference");
    QTest::addColumn<double>("loss");
    QTest::newRow("2") << 2.0 << 0.59813887;
    QTest::newRow("0") << 0.0 << 0.69314718;
    QTest::newRow("far") << -20000.0 << 2000.0;
}

/// The reference is set so that the policy prefers by a known difference; β 0.1.
void TestFvlmDpo::knownLosses()
{
    QFETCH(double, difference);
    QFETCH(double, loss);
    T0 t0;
    const T0Batch batch(t0, pairs());
    const std::vector<double> own =
        run(t0, batch, settingsOf(t0, {0, 0, 0, 0}, 0.5)).logProbabilities;
    std::vector<double> reference = own;
    reference[0] -= difference;
    reference[3] += difference;
    const Result result = run(t0, batch, settingsOf(t0, reference, 0.5));
    QVERIFY(std::abs(result.loss - loss) < 1e-8 * std::max(1.0, loss));
    VERGENCE_AGREES(vergence::test::difference(
        result.margins, std::vector<double>(2, 0.1 * difference), 1e-11, 1e-12));
}

void TestFvlmDpo::probabilitiesAreThoseOfSeparateAnswers()
{
    T0 t0;
    const T0Batch batch(t0, pairs());
    const auto together = run(t0, batch, settingsOf(t0, {0, 0, 0, 0}, 0.5)).logProbabilities;
    std::vector<SampleTokens> chosen = t0Captions(), rejected = pairs();
    for (SampleTokens& sample : rejected) {
        sample.after = sample.others.front().tokens;
        sample.afterMask = sample.others.front().mask;
        sample.others.clear();
    }
    const auto good = t0Evaluate(t0, T0Batch(t0, chosen), Mode::CoarseFine).nll;
    const auto bad = t0Evaluate(t0, T0Batch(t0, rejected), Mode::CoarseFine).nll;
    VERGENCE_AGREES(
        difference(together, std::vector<double>{-good[0], -bad[0], -good[1], -bad[1]}, 0, 1e-12));
}

void TestFvlmDpo::accumulationEqualsOneBatch()
{
    T0 t0;
    const std::vector<double> reference{-6, -5, -4.5, -7};
    const double whole = run(t0, T0Batch(t0, pairs()), settingsOf(t0, reference, 0.5)).loss;
    const auto wanted = numbersOf(*t0.stream, t0.parameters().gradients());
    double sum = 0;
    for (std::size_t i = 0; i < 2; ++i) {
        const T0Batch one(t0, {pairs()[i]}, {static_cast<int>(i)});
        sum +=
            run(t0, one, settingsOf(t0, {reference[2 * i], reference[2 * i + 1]}, 0.5), i > 0).loss;
    }
    QVERIFY(std::abs(sum - whole) < 1e-12 * whole);
    VERGENCE_AGREES(
        difference(numbersOf(*t0.stream, t0.parameters().gradients()), wanted, 1e-11, 1e-11));
}

void TestFvlmDpo::unpairedSamplesAreRefused()
{
    T0 t0;
    const T0Batch batch(t0, t0Captions());
    VERGENCE_THROWS(ContractError, "a chosen and one rejected ending",
                    run(t0, batch, settingsOf(t0, {0, 0, 0, 0}, 0.5)));
}

VERGENCE_TEST(TestFvlmDpo)
#include "tst_fvlm_dpo.moc"
