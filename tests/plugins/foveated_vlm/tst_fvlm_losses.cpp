#include <QTest>

#include "plugins/foveated_vlm/model/token_likelihood.h"
#include "plugins/foveated_vlm/model/visual_norm.h"
#include "tests/plugins/foveated_vlm/t0_model.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {
constexpr double kNear = 1e-12;

std::vector<double> gradients(T0& t0)
{
    return numbersOf(*t0.stream, t0.parameters().gradients());
}

/// |a − b| relative to the largest |b|: sums in another order.
std::string apart(const std::vector<double>& a, const std::vector<double>& b, double near = kNear)
{
    double largest = 0;
    for (const double x : b)
        largest = std::max(largest, std::abs(x));
    return difference(a, b, near * largest, 0);
}

SampleTokens sample(int frames, std::vector<int> after)
{
    SampleTokens result;
    result.frames = frames;
    result.afterMask.assign(after.size(), 1);
    result.after = std::move(after);
    return result;
}

std::vector<SampleTokens> fourClips()
{
    return {sample(3, {1, 4, 7, 2}), sample(2, {3, 9}), sample(3, {5}), sample(1, {6, 6, 2, 8, 1})};
}

void addVariantRows()
{
    QTest::addColumn<int>("variant");
    QTest::newRow("captions") << static_cast<int>(Variant::Captions);
    QTest::newRow("latents") << static_cast<int>(Variant::Latents);
    QTest::newRow("joint") << static_cast<int>(Variant::Joint);
}
} // namespace

class TestFvlmLosses : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void accumulationEqualsOneLargeBatch_data() { addVariantRows(); }
    void accumulationEqualsOneLargeBatch();
    void textAloneWeighsTheSameBesideClips_data();
    void textAloneWeighsTheSameBesideClips();
    void savingsChangeNothing_data();
    void savingsChangeNothing();
    void recomputationChangesNothing_data() { addVariantRows(); }
    void recomputationChangesNothing();
    void frozenPartsHaveNoGradients();
    void jointIsTextAndLatents();
    void refinementsMayBeWeighted();
    void coarseOnlyIsTheControl();
    void firstTextTokenIsCountedByItsMask();
    void noCountedTokenGivesNoLoss();
    void latentsOfLaterFramesAreToldApart();
    void lastKernelZeroLeavesTheLatents();
    void contrastIsTheMeanCosine();
    void entropyHingeIsTheMeanOverFrames();
    void halfWidthStaysNear_data() { addVariantRows(); }
    void halfWidthStaysNear();
    void towersMayBeRecomputedAlone();
    void gatheredRowsEqualMaskedOnes();
    void likelihoodByChunksAndItsGradient_data();
    void likelihoodByChunksAndItsGradient();
    void deviationNormAndItsGradient();
    void missingDenominatorsAreNamed();
};

void TestFvlmLosses::accumulationEqualsOneLargeBatch()
{
    QFETCH(int, variant);
    T0 t0(static_cast<Variant>(variant));
    const auto samples = fourClips();
    const T0Batch whole(t0, samples, {0, 1, 1, 0});
    LossSettings settings = t0Losses(t0, whole, 0.5);
    settings.contrast = 0.2;
    const T0Step large = t0Step(t0, whole, settings);
    const auto wanted = gradients(t0);
    for (const std::size_t size : {2, 1}) {
        double loss = 0, fine = 0, coarse = 0;
        for (std::size_t first = 0; first < 4; first += size) {
            const std::vector<SampleTokens> part(
                samples.begin() + static_cast<std::ptrdiff_t>(first),
                samples.begin() + static_cast<std::ptrdiff_t>(first + size));
            const std::vector<int> all{0, 1, 1, 0};
            const std::vector<int> clips(all.begin() + static_cast<std::ptrdiff_t>(first),
                                         all.begin() + static_cast<std::ptrdiff_t>(first + size));
            const T0Batch batch(t0, part, clips);
            const T0Step step = t0Step(t0, batch, settings, true, first > 0);
            loss += step.loss;
            fine += step.fine;
            coarse += step.coarse;
        }
        QVERIFY(std::abs(loss - large.loss) < kNear * std::abs(large.loss));
        QVERIFY(std::abs(fine - large.fine) < kNear * large.fine);
        QVERIFY(std::abs(coarse - large.coarse) < kNear * large.coarse);
        VERGENCE_AGREES(apart(gradients(t0), wanted));
    }
}

void TestFvlmLosses::textAloneWeighsTheSameBesideClips_data()
{
    QTest::addColumn<int>("variant");
    QTest::addColumn<bool>("isControl");
    QTest::newRow("captions") << static_cast<int>(Variant::Captions) << false;
    QTest::newRow("joint") << static_cast<int>(Variant::Joint) << false;
    QTest::newRow("control") << static_cast<int>(Variant::Captions) << true;
}

void TestFvlmLosses::textAloneWeighsTheSameBesideClips()
{
    QFETCH(int, variant);
    QFETCH(bool, isControl);
    T0 t0(static_cast<Variant>(variant));
    const std::vector<SampleTokens> samples{sample(3, {1, 4, 7, 2}), sample(0, {3, 9, 5})};
    const T0Batch together(t0, samples);
    LossSettings settings = t0Losses(t0, together, 0.5);
    settings.trainsCoarseOnly = isControl;
    const T0Step whole = t0Step(t0, together, settings);
    const auto wanted = gradients(t0);
    const T0Step clip = t0Step(t0, T0Batch(t0, {samples[0]}), settings);
    const T0Step alone = t0Step(t0, T0Batch(t0, {samples[1]}), settings, true, true);
    QVERIFY(std::abs(clip.loss + alone.loss - whole.loss) < kNear * whole.loss);
    QVERIFY(std::abs(clip.coarse + alone.coarse - whole.coarse) < kNear * whole.coarse);
    QCOMPARE(std::isnan(alone.fine), isControl);
    if (!isControl)
        QVERIFY(std::abs(clip.fine + alone.fine - whole.fine) < kNear * whole.fine);
    VERGENCE_AGREES(apart(gradients(t0), wanted));
}

void TestFvlmLosses::savingsChangeNothing_data()
{
    QTest::addColumn<int>("variant");
    QTest::addColumn<int>("saving");
    for (int variant = 0; variant < 3; ++variant) {
        for (int saving = 0; saving < 6; ++saving)
            QTest::addRow("variant %d, saving %d", variant, saving + 1) << variant << saving;
    }
}

void TestFvlmLosses::savingsChangeNothing()
{
    QFETCH(int, variant);
    QFETCH(int, saving);
    const auto run = [&](bool isOn) {
        T0 t0(static_cast<Variant>(variant), DType::F64, [&](ModelSettings& settings) {
            Savings& s = settings.savings;
            bool* all[] = {&s.deadTail,    &s.ridingQuery,   &s.mergedBackward,
                           &s.foldedScale, &s.sharedLatents, &s.jointLanguageGradients};
            *all[saving] = isOn;
        });
        const T0Batch batch(t0, fourClips(), {0, 1, 1, 0});
        LossSettings settings = t0Losses(t0, batch, 0.5);
        settings.refinements = 2;
        const T0Step step = t0Step(t0, batch, settings);
        std::vector<double> result = gradients(t0);
        result.push_back(step.loss);
        return result;
    };
    VERGENCE_AGREES(apart(run(false), run(true)));
}

void TestFvlmLosses::recomputationChangesNothing()
{
    QFETCH(int, variant);
    T0 t0(static_cast<Variant>(variant));
    const T0Batch batch(t0, fourClips(), {0, 1, 1, 0});
    const LossSettings settings = t0Losses(t0, batch, 0.5);
    const double loss = t0Step(t0, batch, settings).loss;
    const auto wanted = gradients(t0);
    QVERIFY(std::abs(t0Step(t0, batch, settings, true, false, true).loss - loss) < kNear * loss);
    VERGENCE_AGREES(apart(gradients(t0), wanted));
}

void TestFvlmLosses::frozenPartsHaveNoGradients()
{
    const auto run = [](bool freezesVit, bool freezesLlm) {
        auto t0 = std::make_unique<T0>(Variant::Joint, DType::F64, [&](ModelSettings& settings) {
            settings.freezesVit = freezesVit;
            settings.freezesLlm = freezesLlm;
        });
        const T0Batch batch(*t0, fourClips(), {0, 1, 1, 0});
        t0Step(*t0, batch, t0Losses(*t0, batch, 0.5));
        return t0;
    };
    const auto free = run(false, false), noVit = run(true, false), noLlm = run(false, true);
    for (int i = 0; i < free->parameters().count(); ++i) {
        const Parameter& parameter = free->parameters()[i];
        const auto wanted = numbersOf(*free->stream, parameter.gradient);
        const bool isVit = parameter.group < 2, isLlm = parameter.group >= 4;
        QCOMPARE(noVit->parameters()[i].gradient.isEmpty(), isVit);
        QCOMPARE(noLlm->parameters()[i].gradient.isEmpty(), isLlm);
        if (!isVit)
            VERGENCE_AGREES(apart(noVit->gradient(parameter.name), wanted, 1e-11));
        if (!isLlm)
            VERGENCE_AGREES(apart(noLlm->gradient(parameter.name), wanted, 1e-11));
    }
}

void TestFvlmLosses::jointIsTextAndLatents()
{
    T0 t0(Variant::Joint);
    const T0Batch batch(t0, fourClips(), {0, 1, 1, 0});
    LossSettings settings = t0Losses(t0, batch);
    settings.recon = 0.3;
    const T0Step step = t0Step(t0, batch, settings, false);
    QVERIFY(step.text > 0 && step.latents > 0);
    QVERIFY(std::abs(step.loss - (step.text + 0.3 * step.latents)) < kNear * step.loss);
    const Evaluation fine = t0Evaluate(t0, batch, Mode::CoarseFine);
    double nll = 0, errors = 0;
    for (const double x : fine.nll)
        nll += x;
    for (const double x : fine.latentErrors)
        errors += x;
    QVERIFY(std::abs(step.text - nll / 12) < kNear * step.text);
    QVERIFY(std::abs(step.latents - errors / 9) < kNear * step.latents);
}

void TestFvlmLosses::refinementsMayBeWeighted()
{
    T0 t0;
    const T0Batch batch(t0, t0Captions());
    LossSettings settings = t0Losses(t0, batch);
    double wanted = 0;
    for (int k = 1; k <= 3; ++k) {
        settings.refinements = k;
        wanted += k / 6.0 * t0Step(t0, batch, settings, false).loss;
    }
    settings.weightsRefinements = true;
    QVERIFY(std::abs(t0Step(t0, batch, settings, false).loss - wanted) < kNear * wanted);
}

void TestFvlmLosses::coarseOnlyIsTheControl()
{
    T0 t0;
    const T0Batch batch(t0, t0Captions());
    LossSettings settings = t0Losses(t0, batch);
    settings.trainsCoarseOnly = true;
    const T0Step step = t0Step(t0, batch, settings);
    QVERIFY(std::abs(step.loss - 3.3376507811) < 1e-9);
    QVERIFY(std::isnan(step.fine) && step.fineTokens.empty());
    for (const char* name : {"q_init", "llm_to_query.weight"}) {
        for (const double g : t0.gradient(name))
            QCOMPARE(g, 0.0);
    }
    QVERIFY(t0.gradientNorm(4, 6) > 0);
}

void TestFvlmLosses::firstTextTokenIsCountedByItsMask()
{
    T0 t0;
    std::vector<SampleTokens> samples = t0Captions();
    QCOMPARE(countedTokens(samples[0], t0.model.settings()), Index{3});
    samples[0].afterMask[0] = 1;
    QCOMPARE(countedTokens(samples[0], t0.model.settings()), Index{4});
    const T0Batch batch(t0, samples);
    for (const Mode mode : {Mode::CoarseFine, Mode::CoarseOnly, Mode::Sequential}) {
        const Evaluation with = t0Evaluate(t0, batch, mode);
        const Evaluation without = t0Evaluate(t0, T0Batch(t0, t0Captions()), mode);
        QCOMPARE(with.counted, (std::vector<int>{4, 2}));
        QVERIFY(with.nll[0] > without.nll[0] + 1e-3);
    }
}

void TestFvlmLosses::noCountedTokenGivesNoLoss()
{
    T0 t0;
    std::vector<SampleTokens> samples = t0Captions();
    for (SampleTokens& one : samples)
        one.afterMask.assign(one.after.size(), 0);
    const T0Batch batch(t0, samples);
    const T0Step step = t0Step(t0, batch, t0Losses(t0, batch, 0.5));
    QCOMPARE(step.loss, 0.0);
    QCOMPARE(t0.gradientNorm(0, 6), 0.0);
}

void TestFvlmLosses::latentsOfLaterFramesAreToldApart()
{
    T0 t0(Variant::Latents);
    const T0Batch batch(t0, {sample(3, {}), sample(2, {}), sample(1, {})}, {0, 1, 1});
    LossSettings settings = t0Losses(t0, batch, 1);
    const T0Step step = t0Step(t0, batch, settings, false);
    const auto errors = t0Evaluate(t0, batch, Mode::CoarseFine).latentErrors;
    QCOMPARE(errors.size(), std::size_t{6});
    const double first = (errors[0] + errors[3] + errors[5]) / 3,
                 second = (errors[1] + errors[4]) / 2;
    VERGENCE_AGREES(
        difference(step.latentsByFrame, std::vector<double>{first, second, errors[2]}, 0, kNear));
    const double later = (errors[1] + errors[2] + errors[4]) / 3;
    QVERIFY(std::abs(step.laterLatents - later) < kNear * later);
    QVERIFY(std::isfinite(step.laterCoarseLatents));
}

void TestFvlmLosses::lastKernelZeroLeavesTheLatents()
{
    T0 t0(Variant::Latents);
    t0.set("pred_head.decoder.4.weight", std::vector<double>(4 * 6 * 9, 0));
    t0.set("pred_head.decoder.4.bias", std::vector<double>(4, 0));
    const T0Batch batch(t0, t0Clips());
    double squares = 0;
    for (int clip = 0; clip < 2; ++clip) {
        for (int frame = 0; frame < 3; ++frame) {
            for (const double x : t0Latent({clip, frame}))
                squares += x * x;
        }
    }
    const T0Step step = t0Step(t0, batch, t0Losses(t0, batch, 1), false);
    QVERIFY(std::abs(step.fine - squares / (6 * 64)) < kNear);
    QVERIFY(std::abs(step.coarse - squares / (6 * 64)) < kNear);
}

void TestFvlmLosses::contrastIsTheMeanCosine()
{
    T0 t0;
    const T0Batch batch(t0, t0Captions());
    LossSettings settings = t0Losses(t0, batch);
    settings.measuresContrast = true;
    const T0Step measured = t0Step(t0, batch, settings, false);
    double mean = 0;
    for (std::size_t slot = 0; slot < 5; ++slot) {
        double ab = 0, aa = 0, bb = 0;
        for (std::size_t i = slot * 8; i < slot * 8 + 8; ++i) {
            ab += measured.fineTokens[i] * measured.coarseTokens[i];
            aa += measured.fineTokens[i] * measured.fineTokens[i];
            bb += measured.coarseTokens[i] * measured.coarseTokens[i];
        }
        mean += ab / std::sqrt(aa * bb) / 5;
    }
    QVERIFY(std::abs(measured.contrast - mean) < kNear);
    QVERIFY(std::abs(measured.loss - measured.fine) < kNear);
    settings.contrast = 0.4;
    const T0Step trained = t0Step(t0, batch, settings, false);
    QVERIFY(std::abs(trained.loss - (measured.fine + 0.4 * mean)) < kNear);
}

void TestFvlmLosses::entropyHingeIsTheMeanOverFrames()
{
    T0 t0;
    const T0Batch batch(t0, t0Captions());
    EvaluationWish wish;
    wish.readsAttention = true;
    const Evaluation looks = t0Evaluate(t0, batch, Mode::CoarseFine, wish);
    const auto fine = numbersOf(*t0.stream, looks.fineAttention.weights);
    const auto coarse = numbersOf(*t0.stream, looks.coarseAttention.weights);
    const double plain = t0Step(t0, batch, t0Losses(t0, batch), false).loss;
    for (const double margin : {0.1, 1.0}) {
        double mean = 0;
        for (std::size_t slot = 0; slot < 5; ++slot) {
            double difference = 0; // of sums over 2 blocks of 2 heads
            for (std::size_t i = slot * 20; i < slot * 20 + 20; ++i)
                difference += coarse[i] * std::log(coarse[i]) - fine[i] * std::log(fine[i]);
            mean += std::max(0.0, difference / 4 + margin) / 5;
        }
        LossSettings settings = t0Losses(t0, batch);
        settings.entropyMargin = margin;
        const double loss = t0Step(t0, batch, settings, false).loss;
        QVERIFY(mean > 0.01);
        QVERIFY(std::abs(loss - (plain + 0.1 * mean)) < 1e-11);
    }
}

/// BF16 keeps 8 bits; T0 is small, so a step in it is compared by its direction.
void TestFvlmLosses::halfWidthStaysNear()
{
    QFETCH(int, variant);
    T0 wide(static_cast<Variant>(variant), DType::F32);
    T0 half(static_cast<Variant>(variant), DType::F32, {}, {}, DType::BF16);
    bool areGood = true;
    const auto run = [&](T0& t0, double& loss) {
        const T0Batch batch(t0, fourClips(), {0, 1, 1, 0});
        LossSettings settings = t0Losses(t0, batch, 0.5);
        settings.contrast = 0.1;
        settings.entropyMargin = 1;
        settings.refinements = 2;
        loss = t0Step(t0, batch, settings).loss;
        for (const Mode mode : {Mode::CoarseFine, Mode::CoarseOnly, Mode::Sequential}) {
            for (const double nll : t0Evaluate(t0, batch, mode).nll)
                areGood = areGood && std::isfinite(nll) && nll >= 0;
        }
        return gradients(t0);
    };
    double wideLoss = 0, halfLoss = 0;
    const auto a = run(wide, wideLoss), b = run(half, halfLoss);
    QVERIFY(areGood);
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ab += a[i] * b[i];
        aa += a[i] * a[i];
        bb += b[i] * b[i];
    }
    QVERIFY2(std::abs(halfLoss / wideLoss - 1) < 0.05,
             fmt::format("{} against {}", halfLoss, wideLoss).c_str());
    QVERIFY2(ab / std::sqrt(aa * bb) > 0.98, fmt::format("{}", ab / std::sqrt(aa * bb)).c_str());
}

void TestFvlmLosses::towersMayBeRecomputedAlone()
{
    const auto run = [](bool vit, bool llm) {
        T0 t0(Variant::Joint, DType::F64, [&](ModelSettings& settings) {
            settings.recomputesVit = vit;
            settings.recomputesLlm = llm;
        });
        const T0Batch batch(t0, fourClips(), {0, 1, 1, 0});
        t0Step(t0, batch, t0Losses(t0, batch, 0.5));
        return gradients(t0);
    };
    const auto wanted = run(false, false);
    VERGENCE_AGREES(apart(run(true, false), wanted));
    VERGENCE_AGREES(apart(run(false, true), wanted));
    VERGENCE_AGREES(apart(run(true, true), wanted));
}

void TestFvlmLosses::gatheredRowsEqualMaskedOnes()
{
    T0 t0;
    const T0Batch batch(t0, t0Captions());
    Graph graph(*t0.stream, t0.device, {true, t0.type()});
    const ForwardPass pass{graph, t0.parameters(), nullptr, false, {}};
    GazeForward forward(pass, t0.model, batch.batch);
    const LanguageStates states = forward.wholeStates(forward.coarse(), true);
    const Value gathered =
        t0.model.language().loss(pass, forward.predictingStates(states), batch.tables.labels);
    std::vector<std::int32_t> labels(2 * 7, -100);
    for (std::size_t i = 0; i < batch.sequences.predicting.size(); ++i)
        labels[static_cast<std::size_t>(batch.sequences.predicting[i])] = batch.sequences.labels[i];
    const Tensor all = Tensor::fromHost<std::int32_t>(*t0.stream, t0.device, {14}, labels);
    const Value masked = t0.model.language().loss(pass, states.states, all);
    const auto a = numbersOf(*t0.stream, graph.tensor(gathered)),
               b = numbersOf(*t0.stream, graph.tensor(masked));
    VERGENCE_AGREES(difference(a, b, 0, kNear));
    t0.parameters().zeroGradients(*t0.stream);
    graph.backward(gathered);
    const auto wanted = gradients(t0);
    // The tape of one backward is used up, so the other loss is made anew.
    graph.reset();
    GazeForward again(pass, t0.model, batch.batch);
    const Value other =
        t0.model.language().loss(pass, again.wholeStates(again.coarse(), true).states, all);
    t0.parameters().zeroGradients(*t0.stream);
    graph.backward(other);
    VERGENCE_AGREES(apart(gradients(t0), wanted));
}

void TestFvlmLosses::likelihoodByChunksAndItsGradient_data()
{
    QTest::addColumn<int>("chunk");
    for (const int chunk : {1, 2, 5, 1024})
        QTest::addRow("%d", chunk) << chunk;
}

void TestFvlmLosses::likelihoodByChunksAndItsGradient()
{
    QFETCH(int, chunk);
    const auto device = devices().devices.front();
    const auto stream = device->createStream();
    constexpr Index kRows = 5, kWidth = 4, kVocabulary = 7;
    std::vector<double> x;
    for (int i = 0; i < kRows * kWidth + kVocabulary * kWidth; ++i)
        x.push_back(std::sin(1.0 + 2.3 * i));
    const std::vector<std::int32_t> ids{3, -100, 0, 6, 3};
    const std::vector<double> weights{0.5, 7, -1.5, 2, 0.25};
    std::vector<double> gradient;
    const auto run = [&](const std::vector<double>& all, bool goesBack) {
        Graph graph(*stream, device, {goesBack, DType::F64});
        const auto half = all.begin() + kRows * kWidth;
        const auto given = [&](const std::vector<double>& values, Shape shape) {
            const Tensor tensor = tensorOf(*stream, device, std::move(shape), values, DType::F64);
            return goesBack ? graph.variable(tensor) : graph.constant(tensor);
        };
        const Value hidden = given({all.begin(), half}, {kRows, kWidth});
        const Value matrix = given({half, all.end()}, {kVocabulary, kWidth});
        const Tensor labels = Tensor::fromHost<std::int32_t>(*stream, device, {kRows}, ids);
        const Value nll = tokenLikelihood(graph, hidden, matrix, labels, chunk);
        const auto each = numbersOf(*stream, graph.tensor(nll));
        if (goesBack) {
            graph.backward(
                weightedSum(graph, nll, tensorOf(*stream, device, {kRows}, weights, DType::F64)));
            gradient = numbersOf(*stream, graph.gradient(hidden));
            const auto second = numbersOf(*stream, graph.gradient(matrix));
            gradient.insert(gradient.end(), second.begin(), second.end());
        }
        double sum = 0;
        for (std::size_t i = 0; i < each.size(); ++i)
            sum += weights[i] * each[i];
        return sum;
    };
    run(x, true);
    VERGENCE_AGREES(gradientDifference(
        [&](const std::vector<double>& all) { return run(all, false); }, x, gradient));
}

void TestFvlmLosses::deviationNormAndItsGradient()
{
    const auto device = devices().devices.front();
    const auto stream = device->createStream();
    std::vector<double> x, probe;
    for (int i = 0; i < 12; ++i) {
        x.push_back(1 + std::sin(1.0 + 2.3 * i));
        probe.push_back(std::cos(0.7 * i));
    }
    std::vector<double> gradient, y;
    const auto run = [&](const std::vector<double>& all, bool goesBack) {
        Graph graph(*stream, device, {goesBack, DType::F64});
        const Tensor tensor = tensorOf(*stream, device, {3, 4}, all, DType::F64);
        const Value in = goesBack ? graph.variable(tensor) : graph.constant(tensor);
        const Value out = scaleByDeviation(graph, in, 0.14, 1e-12);
        y = numbersOf(*stream, graph.tensor(out));
        const Value sum =
            weightedSum(graph, out, tensorOf(*stream, device, {3, 4}, probe, DType::F64));
        if (goesBack) {
            graph.backward(sum);
            gradient = numbersOf(*stream, graph.gradient(in));
        }
        return numbersOf(*stream, graph.tensor(sum)).front();
    };
    run(x, true);
    double mean = 0, variance = 0;
    for (const double v : x)
        mean += v / 12;
    for (const double v : x)
        variance += (v - mean) * (v - mean) / 12;
    std::vector<double> wanted;
    for (const double v : x)
        wanted.push_back(0.14 * v / std::sqrt(variance + 1e-12));
    VERGENCE_AGREES(difference(y, wanted, 0, 1e-12));
    VERGENCE_AGREES(gradientDifference(
        [&](const std::vector<double>& all) { return run(all, false); }, x, gradient));
}

void TestFvlmLosses::missingDenominatorsAreNamed()
{
    T0 t0;
    const T0Batch batch(t0, t0Captions());
    LossSettings settings = t0Losses(t0, batch);
    settings.inverseCounted = {};
    VERGENCE_THROWS(ContractError, "the number of counted tokens is missing",
                    t0Step(t0, batch, settings));
    settings = t0Losses(t0, batch);
    settings.refinements = 0;
    VERGENCE_THROWS(ContractError, "at least one look", t0Step(t0, batch, settings));
}

VERGENCE_TEST(TestFvlmLosses)
#include "tst_fvlm_losses.moc"
