#include <algorithm>

#include <QTest>

#include "plugins/foveated_vlm/model/cached_language.h"
#include "tests/plugins/foveated_vlm/t0_model.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {
constexpr double kRounding = 1e-12;

std::vector<double> rows(const std::vector<double>& values, std::size_t first, std::size_t count,
                         std::size_t width)
{
    return {values.begin() + static_cast<std::ptrdiff_t>(first * width),
            values.begin() + static_cast<std::ptrdiff_t>((first + count) * width)};
}

std::vector<double> tokens(T0& t0, const T0Batch& batch, Mode mode, int refinements = 1)
{
    EvaluationWish wish;
    wish.refinements = refinements;
    const Evaluation result = t0Evaluate(t0, batch, mode, wish);
    return numbersOf(*t0.stream,
                     mode == Mode::CoarseOnly ? result.coarseTokens : result.fineTokens);
}

std::vector<double> queries(T0& t0, const T0Batch& batch, Mode mode)
{
    return numbersOf(*t0.stream, t0Evaluate(t0, batch, mode).queries);
}

void promptFirst(ModelSettings& settings)
{
    settings.order = SequenceOrder::PromptFramesAnswer;
}

void promptAsks(ModelSettings& settings)
{
    promptFirst(settings);
    settings.firstQuery = FirstQuery::Prompt;
}

SampleTokens sample(int frames, std::vector<int> before, std::vector<int> after)
{
    SampleTokens result;
    result.frames = frames;
    result.beforeMask.assign(before.size(), 0);
    result.afterMask.assign(after.size(), 1);
    result.before = std::move(before);
    result.after = std::move(after);
    return result;
}

/// Clips of different lengths with prompts of different lengths.
std::vector<SampleTokens> prompted()
{
    return {sample(3, {1, 4, 7}, {2, 5}), sample(2, {3}, {9, 2, 6, 1}), sample(3, {}, {8}),
            sample(1, {6, 6, 6, 2, 1}, {4, 4, 2})};
}

std::vector<double> nllOf(T0& t0, const T0Batch& batch, Mode mode)
{
    return t0Evaluate(t0, batch, mode).nll;
}
} // namespace

class TestFvlmModes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void refinementsMeetTheSequentialMode_data();
    void refinementsMeetTheSequentialMode();
    void latentsAreReadSequentiallyToo_data();
    void latentsAreReadSequentiallyToo();
    void tokensEnterAsTheNormSays();
    void oneFrameIsSequentialAlready();
    void deafProjectionMakesBothPassesEqual();
    void laterFramesDoNotReachEarlierOnes_data();
    void laterFramesDoNotReachEarlierOnes();
    void cacheMayBeSplitAnywhere_data();
    void cacheMayBeSplitAnywhere();
    void trailingTextDoesNotChangeQueries();
    void firstQueryAloneTrainsOnOneFrame();
    void promptSteersTheGazeOnlyWhereItStandsFirst();
    void promptAsksAboutTheFirstFrame();
    void slotsTakeStaticQueriesInTurn_data();
    void slotsTakeStaticQueriesInTurn();
    void neighboursAndPaddingDoNotMatter_data();
    void neighboursAndPaddingDoNotMatter();
    void imagesAreEncodedOnce();
    void otherEndingsShareTheFrames();
    void textAloneNeedsNoFrames();
    void givenQueriesAreAsked();
};

void TestFvlmModes::refinementsMeetTheSequentialMode_data()
{
    QTest::addColumn<int>("mode");
    QTest::addColumn<bool>("isPromptFirst");
    QTest::addColumn<bool>("promptAsksFirst");
    const auto add = [](const char* name, QueryMode mode, bool isFirst, bool asks) {
        QTest::newRow(name) << static_cast<int>(mode) << isFirst << asks;
    };
    add("deep, frames first", QueryMode::Deep, false, false);
    add("deep, prompt first", QueryMode::Deep, true, false);
    add("deep, prompt asks", QueryMode::Deep, true, true);
    add("average, prompt first", QueryMode::ShallowAverage, true, false);
    add("last block, prompt first", QueryMode::ShallowLast, true, false);
}

void TestFvlmModes::refinementsMeetTheSequentialMode()
{
    QFETCH(int, mode);
    QFETCH(bool, isPromptFirst);
    QFETCH(bool, promptAsksFirst);
    T0 t0(Variant::Captions, DType::F64, [&](ModelSettings& settings) {
        settings.query.mode = static_cast<QueryMode>(mode);
        if (isPromptFirst)
            promptFirst(settings);
        if (promptAsksFirst)
            promptAsks(settings);
        if (settings.query.mode == QueryMode::ShallowAverage)
            settings.query.width = 6;
    });
    const T0Batch batch(t0, prompted());
    const auto sequential = tokens(t0, batch, Mode::Sequential);
    for (int k = 1; k <= 3; ++k) {
        const auto refined = tokens(t0, batch, Mode::CoarseFine, k);
        const auto count = static_cast<std::size_t>(k);
        VERGENCE_AGREES(difference(rows(refined, 0, count, 8), rows(sequential, 0, count, 8),
                                   kRounding, kRounding));
        if (k < 3)
            QVERIFY(
                !difference(rows(refined, count, 1, 8), rows(sequential, count, 1, 8), 1e-6, 1e-6)
                     .empty());
        else
            VERGENCE_AGREES(difference(refined, sequential, kRounding, kRounding));
    }
    EvaluationWish wish;
    wish.refinements = 3;
    const auto fine = t0Evaluate(t0, batch, Mode::CoarseFine, wish);
    const auto stepwise = t0Evaluate(t0, batch, Mode::Sequential);
    VERGENCE_AGREES(difference(fine.nll, stepwise.nll, kRounding, kRounding));
    QCOMPARE(fine.counted, stepwise.counted);
    VERGENCE_AGREES(difference(numbersOf(*t0.stream, fine.queries),
                               numbersOf(*t0.stream, stepwise.queries), kRounding, kRounding));
}

void TestFvlmModes::latentsAreReadSequentiallyToo_data()
{
    QTest::addColumn<int>("variant");
    QTest::newRow("latents") << static_cast<int>(Variant::Latents);
    QTest::newRow("joint") << static_cast<int>(Variant::Joint);
}

void TestFvlmModes::latentsAreReadSequentiallyToo()
{
    QFETCH(int, variant);
    T0 t0(static_cast<Variant>(variant));
    SampleTokens image = sample(3, {}, {5, 6});
    image.isImage = true;
    const T0Batch batch(t0, {sample(3, {4}, {2, 5}), sample(2, {}, {}), image});
    EvaluationWish wish;
    wish.refinements = 3;
    wish.readsAttention = true;
    const Evaluation fine = t0Evaluate(t0, batch, Mode::CoarseFine, wish);
    const Evaluation stepwise = t0Evaluate(t0, batch, Mode::Sequential, wish);
    QCOMPARE(fine.latentErrors.size(), std::size_t{8});
    VERGENCE_AGREES(difference(stepwise.latentErrors, fine.latentErrors, kRounding, kRounding));
    VERGENCE_AGREES(difference(stepwise.nll, fine.nll, kRounding, kRounding));
    for (const auto& [a, b] :
         {std::pair{stepwise.predictions, fine.predictions},
          std::pair{stepwise.queries, fine.queries},
          std::pair{stepwise.fineAttention.weights, fine.fineAttention.weights}}) {
        QCOMPARE(a.shape(), b.shape());
        VERGENCE_AGREES(
            difference(numbersOf(*t0.stream, a), numbersOf(*t0.stream, b), kRounding, kRounding));
    }
    QCOMPARE(fine.coarseAttention.weights.shape(), (Shape{8, 2, 2, 5}));
}

void TestFvlmModes::tokensEnterAsTheNormSays()
{
    const auto rowsOf = [](VisualNorm norm) {
        T0 t0(Variant::Captions, DType::F64, [&](ModelSettings& settings) {
            settings.norm = norm;
            settings.visualScale = 0.2;
        });
        const T0Batch batch(t0, t0Captions());
        Graph graph(*t0.stream, t0.device, {false, t0.type()});
        const ForwardPass pass{graph, t0.parameters(), nullptr, false, {}};
        const GazeForward forward(pass, t0.model, batch.batch);
        return numbersOf(*t0.stream, graph.tensor(forward.coarse().rows));
    };
    const auto plain = rowsOf(VisualNorm::None);
    std::vector<double> scaled, byToken, byBatch;
    double mean = 0, variance = 0;
    for (const double y : plain)
        mean += y / 60;
    for (const double y : plain)
        variance += (y - mean) * (y - mean) / 60;
    for (std::size_t token = 0; token < 5; ++token) {
        double square = 0;
        for (const double y : rows(plain, token, 1, 12))
            square += y * y / 12;
        for (const double y : rows(plain, token, 1, 12)) {
            scaled.push_back(0.2 * y);
            byToken.push_back(0.2 * y / std::sqrt(square + 1e-6));
            byBatch.push_back(0.2 * y / std::sqrt(variance + 1e-12));
        }
    }
    VERGENCE_AGREES(difference(rowsOf(VisualNorm::Scale), scaled, 0, kRounding));
    VERGENCE_AGREES(difference(rowsOf(VisualNorm::TokenRms), byToken, 0, kRounding));
    VERGENCE_AGREES(difference(rowsOf(VisualNorm::BatchStd), byBatch, 0, kRounding));
}

void TestFvlmModes::oneFrameIsSequentialAlready()
{
    T0 t0;
    const T0Batch batch(t0, {sample(1, {}, {1, 4, 7}), sample(1, {}, {2, 5})});
    const auto fine = nllOf(t0, batch, Mode::CoarseFine);
    VERGENCE_AGREES(difference(fine, nllOf(t0, batch, Mode::Sequential), kRounding, kRounding));
    QVERIFY(!difference(fine, nllOf(t0, batch, Mode::CoarseOnly), 1e-6, 1e-6).empty());
    t0.set("q_init", t0.values("q_static"));
    QCOMPARE(nllOf(t0, batch, Mode::CoarseFine).front() /
                 nllOf(t0, batch, Mode::CoarseOnly).front(),
             1.0);
    VERGENCE_AGREES(difference(nllOf(t0, batch, Mode::CoarseFine),
                               nllOf(t0, batch, Mode::CoarseOnly), kRounding, kRounding));
}

void TestFvlmModes::deafProjectionMakesBothPassesEqual()
{
    T0 t0;
    t0.set("encoder.query_input_proj.weight", std::vector<double>(48, 0));
    const T0Batch batch(t0, t0Captions());
    const T0Step step = t0Step(t0, batch, t0Losses(t0, batch, 0.5));
    VERGENCE_AGREES(difference(step.fineTokens, step.coarseTokens, kRounding, kRounding));
    QVERIFY(std::abs(step.coarse / step.fine - 1) < kRounding);
    for (const char* name : {"q_static", "q_init", "llm_to_query.weight", "llm_to_query.bias"}) {
        for (const double g : t0.gradient(name))
            QCOMPARE(g, 0.0);
    }
}

void TestFvlmModes::laterFramesDoNotReachEarlierOnes_data()
{
    QTest::addColumn<int>("mode");
    QTest::newRow("coarse and fine") << static_cast<int>(Mode::CoarseFine);
    QTest::newRow("sequential") << static_cast<int>(Mode::Sequential);
}

void TestFvlmModes::laterFramesDoNotReachEarlierOnes()
{
    QFETCH(int, mode);
    T0 t0;
    T0Batch batch(t0, {sample(3, {}, {1, 4})});
    const auto z = tokens(t0, batch, static_cast<Mode>(mode));
    const auto q = queries(t0, batch, static_cast<Mode>(mode));
    for (int changed = 1; changed < 3; ++changed) {
        std::vector<T0Frame> frames{{0, 0}, {0, 1}, {0, 2}};
        frames[static_cast<std::size_t>(changed)] = {1, 1};
        batch.setFrames(t0, frames);
        const auto newZ = tokens(t0, batch, static_cast<Mode>(mode));
        const auto newQ = queries(t0, batch, static_cast<Mode>(mode));
        const auto count = static_cast<std::size_t>(changed);
        QVERIFY(rows(newZ, 0, count, 8) == rows(z, 0, count, 8));
        QVERIFY(rows(newQ, 0, count + 1, 6) == rows(q, 0, count + 1, 6));
        QVERIFY(rows(newZ, count, 1, 8) != rows(z, count, 1, 8));
    }
}

void TestFvlmModes::cacheMayBeSplitAnywhere_data()
{
    QTest::addColumn<int>("first");
    QTest::addColumn<int>("second");
    for (int first = 1; first < 5; ++first) {
        for (int second = 1; second < 4; ++second)
            QTest::addRow("%d, %d", first, second) << first << second;
    }
}

/// Two sequences of 6 and 5 positions, read in pieces that differ between them.
void TestFvlmModes::cacheMayBeSplitAnywhere()
{
    QFETCH(int, first);
    QFETCH(int, second);
    T0 t0;
    Graph graph(*t0.stream, t0.device, {false, t0.type()});
    const ForwardPass pass{graph, t0.parameters(), nullptr, false, {}};
    const LlamaModel& language = t0.model.language();
    const std::vector<std::int32_t> ids{1, 4, 7, 2, 9, 3, 5, 5, 8, 0, 10, 0};
    const Tensor all = Tensor::fromHost<std::int32_t>(*t0.stream, t0.device, {2, 6}, ids);
    const auto wanted =
        numbersOf(*t0.stream, graph.tensor(language.states(pass, language.embed(pass, all))));
    CachedLanguage cache(pass, language, 2, 6);
    std::vector<double> got(wanted.size(), 0);
    const std::vector<std::vector<Index>> pieces{{first, second}, {6 - first, 5 - second}};
    for (const std::vector<Index>& counts : pieces) {
        const Index added = std::max(counts[0], counts[1]);
        std::vector<std::int32_t> next;
        for (Index i = 0; i < 2; ++i) {
            for (Index s = 0; s < added; ++s) {
                const Index place = cache.lengths()[static_cast<std::size_t>(i)] + s;
                next.push_back(place < 6 ? ids[static_cast<std::size_t>(i * 6 + place)] : 0);
            }
        }
        const auto before = cache.lengths();
        const Tensor piece =
            Tensor::fromHost<std::int32_t>(*t0.stream, t0.device, {2, added}, next);
        const auto states = numbersOf(
            *t0.stream, graph.tensor(cache.extend(pass, language.embed(pass, piece), counts)));
        for (std::size_t i = 0; i < 2; ++i)
            std::copy_n(states.begin() + static_cast<std::ptrdiff_t>(i) * added * 12,
                        counts[i] * 12,
                        got.begin() + (static_cast<std::ptrdiff_t>(i) * 6 + before[i]) * 12);
    }
    VERGENCE_AGREES(
        difference(rows(got, 0, 11, 12), rows(wanted, 0, 11, 12), kRounding, kRounding));
    const Tensor one = Tensor::fromHost<std::int32_t>(*t0.stream, t0.device, {2, 1},
                                                      std::vector<std::int32_t>{1, 1});
    VERGENCE_THROWS(ContractError, "7 positions do not fit a cache of 6",
                    cache.extend(pass, language.embed(pass, one), std::vector<Index>{1, 0}));
}

void TestFvlmModes::trailingTextDoesNotChangeQueries()
{
    T0 t0;
    const T0Batch batch(t0, t0Captions());
    EvaluationWish wish;
    const auto without = t0Evaluate(t0, batch, Mode::CoarseFine, wish);
    wish.comparesCoarse = true;
    const auto with = t0Evaluate(t0, batch, Mode::CoarseFine, wish);
    VERGENCE_AGREES(difference(numbersOf(*t0.stream, with.queries),
                               numbersOf(*t0.stream, without.queries), kRounding, kRounding));
    VERGENCE_AGREES(
        difference(with.coarseNll, nllOf(t0, batch, Mode::CoarseOnly), kRounding, kRounding));
    // The loss that is only charted changes neither the fine loss nor any gradient.
    LossSettings settings = t0Losses(t0, batch);
    const T0Step plain = t0Step(t0, batch, settings);
    const auto gradient = numbersOf(*t0.stream, t0.parameters().gradients());
    settings.chartsCoarse = true;
    const T0Step charted = t0Step(t0, batch, settings);
    QVERIFY(std::isnan(plain.coarse));
    QVERIFY(std::abs(charted.coarse - 3.3376507811) < 1e-9);
    QVERIFY(std::abs(charted.loss - plain.loss) < kRounding);
    VERGENCE_AGREES(difference(numbersOf(*t0.stream, t0.parameters().gradients()), gradient,
                               kRounding, kRounding));
}

void TestFvlmModes::firstQueryAloneTrainsOnOneFrame()
{
    T0 t0;
    const T0Batch batch(t0, {sample(1, {}, {1, 4, 7})});
    t0Step(t0, batch, t0Losses(t0, batch));
    for (const double g : t0.gradient("q_static"))
        QCOMPARE(g, 0.0);
    double largest = 0;
    for (const double g : t0.gradient("q_init"))
        largest = std::max(largest, std::abs(g));
    QVERIFY(largest > 1e-6);
    // The gradients of the language model arrive though its first pass trains nothing.
    const double norm = t0.gradientNorm(4, 6);
    T0 plain(Variant::Captions, DType::F64,
             [](ModelSettings& settings) { settings.savings.jointLanguageGradients = false; });
    t0Step(plain, batch, t0Losses(t0, batch));
    QVERIFY(norm > 0.1);
    QVERIFY(std::abs(norm - plain.gradientNorm(4, 6)) < 1e-12 * norm);
}

void TestFvlmModes::promptSteersTheGazeOnlyWhereItStandsFirst()
{
    for (const bool isFirst : {false, true}) {
        T0 t0(Variant::Captions, DType::F64, isFirst ? T0::Change(promptFirst) : T0::Change());
        for (const Mode mode : {Mode::CoarseFine, Mode::Sequential}) {
            const auto one = queries(t0, T0Batch(t0, {sample(3, {1, 4}, {2})}), mode);
            const auto other = queries(t0, T0Batch(t0, {sample(3, {1, 5}, {2})}), mode);
            QVERIFY(rows(one, 0, 1, 6) == rows(other, 0, 1, 6)); // the learned first query
            QCOMPARE(one == other, !isFirst);
        }
    }
}

/// The first query is llm_to_query of the last state of the prompt: another prompt changes it,
/// other frames, visual tokens and q_init do not.
void TestFvlmModes::promptAsksAboutTheFirstFrame()
{
    T0 t0(Variant::Captions, DType::F64, promptAsks);
    const auto asked = [&](std::vector<int> prompt, int clip, Mode mode) {
        return rows(queries(t0, T0Batch(t0, {sample(2, std::move(prompt), {2})}, {clip}), mode), 0,
                    1, 6);
    };
    const auto first = asked({1, 4}, 0, Mode::CoarseFine);
    QVERIFY(asked({1, 5}, 0, Mode::CoarseFine) != first);
    VERGENCE_AGREES(difference(asked({1, 4}, 1, Mode::CoarseFine), first, kRounding, kRounding));
    VERGENCE_AGREES(difference(asked({1, 4}, 1, Mode::Sequential), first, kRounding, kRounding));
    t0.set("q_init", t0.values("q_static"));
    QCOMPARE(asked({1, 4}, 0, Mode::CoarseFine), first);

    Graph graph(*t0.stream, t0.device, {false, t0.type()});
    const ForwardPass pass{graph, t0.parameters(), nullptr, false, {}};
    const T0Batch text(t0, {sample(0, {1, 4}, {2})});
    GazeForward forward(pass, t0.model, text.batch);
    const LanguageStates states = forward.wholeStates({}, false);
    const Value query = t0.model.llmToQuery()(pass, states.states);
    VERGENCE_AGREES(difference(rows(numbersOf(*t0.stream, graph.tensor(query)), 1, 1, 6), first,
                               kRounding, kRounding));

    // One frame: what training does is what is done in use.
    const T0Batch single(t0, {sample(1, {1, 4, 7}, {2, 5}), sample(1, {3}, {9})});
    VERGENCE_AGREES(difference(nllOf(t0, single, Mode::CoarseFine),
                               nllOf(t0, single, Mode::Sequential), kRounding, kRounding));
}

void TestFvlmModes::slotsTakeStaticQueriesInTurn_data()
{
    QTest::addColumn<bool>("isImage");
    QTest::newRow("frames") << false;
    QTest::newRow("an image") << true;
}

/// Each slot has the token, and the weights, that a model with its query alone gives it.
void TestFvlmModes::slotsTakeStaticQueriesInTurn()
{
    QFETCH(bool, isImage);
    SampleTokens clip = sample(3, {1, 4}, {2});
    clip.isImage = isImage;
    EvaluationWish wish;
    wish.readsAttention = true;
    T0 many(Variant::Captions, DType::F64, [](ModelSettings& s) { s.staticQueries = 2; });
    const Evaluation seen = t0Evaluate(many, T0Batch(many, {clip}), Mode::CoarseOnly, wish);
    const auto tokensOfAll = numbersOf(*many.stream, seen.coarseTokens);
    const auto weightsOfAll = numbersOf(*many.stream, seen.coarseAttention.weights);
    const std::size_t weights = weightsOfAll.size() / 3;
    const auto own = many.values("q_static");
    QCOMPARE(own.size(), std::size_t{12});
    for (std::size_t slot = 0; slot < 3; ++slot) {
        T0 one;
        one.set("q_static", rows(own, slot % 2, 1, 6));
        const T0Batch batch(one, {clip});
        const Evaluation single = t0Evaluate(one, batch, Mode::CoarseOnly, wish);
        VERGENCE_AGREES(difference(rows(numbersOf(*one.stream, single.coarseTokens), slot, 1, 8),
                                   rows(tokensOfAll, slot, 1, 8), kRounding, kRounding));
        VERGENCE_AGREES(difference(
            rows(numbersOf(*one.stream, single.coarseAttention.weights), slot, 1, weights),
            rows(weightsOfAll, slot, 1, weights), kRounding, kRounding));
    }
}

void TestFvlmModes::neighboursAndPaddingDoNotMatter_data()
{
    QTest::addColumn<int>("mode");
    QTest::newRow("coarse and fine") << static_cast<int>(Mode::CoarseFine);
    QTest::newRow("coarse") << static_cast<int>(Mode::CoarseOnly);
    QTest::newRow("sequential") << static_cast<int>(Mode::Sequential);
}

void TestFvlmModes::neighboursAndPaddingDoNotMatter()
{
    QFETCH(int, mode);
    for (const T0::Change& change :
         {T0::Change(), T0::Change(promptFirst), T0::Change(promptAsks)}) {
        T0 t0(Variant::Captions, DType::F64, change);
        std::vector<SampleTokens> samples = prompted();
        const SampleTokens alone = sample(0, {}, {3, 1, 4, 1, 5, 9, 2, 6, 5});
        samples.insert(samples.begin() + 2, alone);
        const std::vector<int> clips{0, 1, 1, 0, 1};
        SequenceShape shape = shapeOf(samples, t0.model.settings());
        shape.frames = shape.slots = shape.slots + 4;
        shape.length += 3;
        shape.shortLength += 2;
        shape.text += 5;
        shape.counted += 7;
        const auto together =
            nllOf(t0, T0Batch(t0, samples, clips, shape), static_cast<Mode>(mode));
        for (std::size_t i = 0; i < samples.size(); ++i) {
            const auto own =
                nllOf(t0, T0Batch(t0, {samples[i]}, {clips[i]}), static_cast<Mode>(mode));
            VERGENCE_AGREES(
                difference(own, std::vector<double>{together[i]}, kRounding, kRounding));
        }
    }
}

void TestFvlmModes::imagesAreEncodedOnce()
{
    T0 t0;
    SampleTokens image = sample(3, {}, {1, 4});
    SampleTokens clip = image;
    image.isImage = true;
    const T0Batch once(t0, {image, sample(2, {}, {3})}, {0, 1});
    QCOMPARE(once.sequences.shape().frames, Index{3});
    QCOMPARE(once.sequences.shape().slots, Index{5});
    T0Batch often(t0, {clip, sample(2, {}, {3})}, {0, 1});
    often.setFrames(t0, {{0, 0}, {0, 0}, {0, 0}, {1, 0}, {1, 1}});
    for (const Mode mode : {Mode::CoarseFine, Mode::CoarseOnly, Mode::Sequential})
        VERGENCE_AGREES(
            difference(nllOf(t0, once, mode), nllOf(t0, often, mode), kRounding, kRounding));
    t0Step(t0, once, t0Losses(t0, once, 0.3));
    const auto gradient = numbersOf(*t0.stream, t0.parameters().gradients());
    t0Step(t0, often, t0Losses(t0, often, 0.3));
    VERGENCE_AGREES(
        difference(numbersOf(*t0.stream, t0.parameters().gradients()), gradient, 1e-11, 1e-11));
}

void TestFvlmModes::otherEndingsShareTheFrames()
{
    T0 t0(Variant::Captions, DType::F64, promptFirst);
    SampleTokens question = sample(3, {1, 4}, {2, 5});
    question.others = {{{9, 2, 2}, {1, 1, 1}}, {{7}, {1}}};
    const T0Batch options(t0, {sample(2, {3}, {8}), question}, {1, 0});
    QCOMPARE(options.sequences.shape().frames, Index{5});
    QCOMPARE(options.sequences.shape().sequences, Index{4});
    for (const Mode mode : {Mode::CoarseFine, Mode::CoarseOnly, Mode::Sequential}) {
        const auto together = nllOf(t0, options, mode);
        const std::vector<std::vector<int>> endings{{2, 5}, {9, 2, 2}, {7}};
        for (std::size_t i = 0; i < endings.size(); ++i) {
            const T0Batch alone(t0, {sample(3, {1, 4}, endings[i])}, {0});
            VERGENCE_AGREES(difference(nllOf(t0, alone, mode), std::vector<double>{together[i + 1]},
                                       kRounding, kRounding));
        }
    }
}

void TestFvlmModes::textAloneNeedsNoFrames()
{
    T0 t0;
    const T0Batch batch(t0, {sample(0, {}, {3, 1, 4, 1, 5})});
    const auto fine = nllOf(t0, batch, Mode::CoarseFine);
    VERGENCE_AGREES(difference(fine, nllOf(t0, batch, Mode::Sequential), kRounding, kRounding));
    QCOMPARE(t0Evaluate(t0, batch, Mode::CoarseFine).counted, std::vector<int>{4});
    const T0Step step = t0Step(t0, batch, t0Losses(t0, batch, 0.5));
    QVERIFY(std::abs(step.fine - fine.front() / 4) < kRounding);
    QVERIFY(std::abs(step.loss - 1.5 * step.fine) < kRounding); // both passes are the same
    QCOMPARE(t0.gradientNorm(0, 4), 0.0);
    QVERIFY(t0.gradientNorm(4, 6) > 0);
}

void TestFvlmModes::givenQueriesAreAsked()
{
    T0 t0;
    const T0Batch batch(t0, t0Captions());
    EvaluationWish wish;
    wish.queries = t0Evaluate(t0, batch, Mode::CoarseFine).queries;
    VERGENCE_AGREES(difference(t0Evaluate(t0, batch, Mode::CoarseFine, wish).nll,
                               nllOf(t0, batch, Mode::CoarseFine), kRounding, kRounding));
    wish.queries = t0Evaluate(t0, batch, Mode::Sequential).queries;
    VERGENCE_AGREES(difference(t0Evaluate(t0, batch, Mode::CoarseFine, wish).nll,
                               nllOf(t0, batch, Mode::Sequential), kRounding, kRounding));
}

VERGENCE_TEST(TestFvlmModes)
#include "tst_fvlm_modes.moc"
