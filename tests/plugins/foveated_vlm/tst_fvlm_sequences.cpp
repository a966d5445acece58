#include <QTest>

#include "tests/plugins/foveated_vlm/t0_model.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

using Rows = std::vector<std::int32_t>;

namespace {
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

ModelSettings settingsOf(Variant variant, SequenceOrder order = SequenceOrder::FramesText)
{
    ModelSettings settings = T0::settings(variant);
    settings.order = order;
    return settings;
}
} // namespace

/// Rows: learned tokens (coarse 0, fine 1, no text 2, end of video 3), then slots, then text.
class TestFvlmSequences : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void framesThenText();
    void promptFramesAnswer();
    void latentsAfterText();
    void jointHasTheEndOfTheVideo();
    void seedAsRunHasNoTextRow();
    void imagesHaveMoreSlotsThanFrames();
    void endingsShareThePrompt();
    void paddingIsRightAndNeverCounted();
    void roundedShapesRepeat();
    void tablesHoldTheSame();
    void badSamplesAreNamed();
};

void TestFvlmSequences::framesThenText()
{
    const Sequences s(std::vector<SampleTokens>{sample(2, {}, {7, 8, 9}), sample(1, {}, {4})},
                      settingsOf(Variant::Captions));
    const SequenceShape wanted{2, 2, 3, 3, 4, 5, 2, 4, 2};
    QVERIFY(s.shape() == wanted);
    QCOMPARE(s.textIds, (Rows{7, 8, 9, 4}));
    QCOMPARE(s.fine, (Rows{0, 1, 3, 4, 5, 2, 6, -1, -1, -1}));
    QCOMPARE(s.coarse, s.fine);
    QCOMPARE(s.shortFine, (Rows{0, 1, 2, -1}));
    QCOMPARE(s.visual, (Rows{0, 1, 5}));
    QCOMPARE(s.shortVisual, (Rows{0, 1, 2}));
    QCOMPARE(s.queryOf, (Rows{0, 1, 0}));
    QCOMPARE(s.frameOf, (Rows{0, 1, 2}));
    // The last visual position predicts the first text token.
    QCOMPARE(s.predicting, (Rows{1, 2, 3, 5}));
    QCOMPARE(s.labels, (Rows{7, 8, 9, 4}));
    QCOMPARE(s.sequenceOf, (Rows{0, 0, 0, 1}));
}

void TestFvlmSequences::promptFramesAnswer()
{
    const auto settings = settingsOf(Variant::Captions, SequenceOrder::PromptFramesAnswer);
    const std::vector<SampleTokens> samples{sample(2, {5, 6}, {7}), sample(0, {1}, {2, 3})};
    const Sequences s(samples, settings);
    QCOMPARE(s.fine, (Rows{2, 3, 0, 1, 4, 5, 6, 7, -1, -1}));
    QCOMPARE(s.shortFine, (Rows{2, 3, 0, 1, -1, -1, -1, -1}));
    QCOMPARE(s.visual, (Rows{2, 3}));
    QCOMPARE(s.predicting, (Rows{3, 5, 6}));
    QCOMPARE(s.labels, (Rows{7, 2, 3}));
    // A prompt that is counted: its first token has nothing before it.
    SampleTokens all = samples.front();
    all.beforeMask = {1, 1};
    QCOMPARE(countedTokens(all, settings), Index{2});
    all.frames = 0;
    QCOMPARE(countedTokens(all, settings), Index{2});
    QCOMPARE(countedTokens(all, settingsOf(Variant::Latents)), Index{0});
}

void TestFvlmSequences::latentsAfterText()
{
    const Sequences s(std::vector<SampleTokens>{sample(3, {}, {}), sample(2, {9}, {8})},
                      settingsOf(Variant::Latents));
    QCOMPARE(s.learned(), 4);
    QCOMPARE(s.fine, (Rows{2, 1, 4, 5, 6, 9, 10, 1, 7, 8}));
    QCOMPARE(s.coarse, (Rows{2, 0, 4, 5, 6, 9, 10, 0, 7, 8}));
    QCOMPARE(s.shortCoarse, s.coarse);
    // The mode token predicts the first latent, frame t latent t + 1.
    QCOMPARE(s.before, (Rows{1, 2, 3, 7, 8}));
    QCOMPARE(s.latentBefore, (Rows{0, 1, 2, 0, 4}));
    QVERIFY(s.labels.empty());
}

void TestFvlmSequences::jointHasTheEndOfTheVideo()
{
    const Sequences s(std::vector<SampleTokens>{sample(2, {}, {7, 8}), sample(0, {}, {5, 6})},
                      settingsOf(Variant::Joint));
    QCOMPARE(s.fine, (Rows{1, 4, 5, 3, 6, 7, 8, 9, -1, -1, -1, -1}));
    QCOMPARE(s.shortCoarse, (Rows{0, 4, 5, -1, -1, -1}));
    QCOMPARE(s.before, (Rows{0, 1}));
    QCOMPARE(s.predicting, (Rows{3, 4, 6}));
    QCOMPARE(s.labels, (Rows{7, 8, 6}));
}

void TestFvlmSequences::seedAsRunHasNoTextRow()
{
    ModelSettings settings = settingsOf(Variant::Latents);
    settings.seedAsRun = true;
    const Sequences s(std::vector<SampleTokens>{sample(2, {}, {})}, settings);
    QCOMPARE(s.fine, (Rows{-1, 1, 2, 3})); // a row of zeros stands for the text
}

void TestFvlmSequences::imagesHaveMoreSlotsThanFrames()
{
    SampleTokens image = sample(3, {}, {7});
    image.isImage = true;
    const auto settings = settingsOf(Variant::Joint);
    const Sequences s(std::vector<SampleTokens>{image, sample(1, {}, {8})}, settings);
    QCOMPARE(s.shape().frames, Index{2});
    QCOMPARE(s.shape().slots, Index{4});
    QCOMPARE(s.frameOf, (Rows{0, 0, 0, 1}));
    QCOMPARE(s.latentBefore, (Rows{0, 1, 1, 0}));
    QCOMPARE(s.queryOf, (Rows{0, 1, 2, 0}));
    SequenceShape shape = s.shape();
    shape.frames = shape.slots;
    VERGENCE_THROWS(
        ContractError, "images need a shape with more slots than frames",
        Sequences(std::vector<SampleTokens>{image, sample(1, {}, {8})}, settings, shape));
}

void TestFvlmSequences::endingsShareThePrompt()
{
    SampleTokens pair = sample(1, {5, 6}, {7});
    pair.others = {{{8, 9}, {1, 1}}};
    const Sequences s(std::vector<SampleTokens>{pair},
                      settingsOf(Variant::Captions, SequenceOrder::PromptFramesAnswer));
    QCOMPARE(s.textIds, (Rows{5, 6, 7, 8, 9}));
    QCOMPARE(s.fine, (Rows{1, 2, 0, 3, -1, 1, 2, 0, 4, 5}));
    QCOMPARE(s.shortFine, (Rows{1, 2, 0}));
    QCOMPARE(s.visual, Rows{2});
    QCOMPARE(s.predicting, (Rows{2, 7, 8}));
    QCOMPARE(s.sequenceOf, (Rows{0, 1, 1}));
}

void TestFvlmSequences::paddingIsRightAndNeverCounted()
{
    const auto settings = settingsOf(Variant::Captions);
    const std::vector<SampleTokens> samples{sample(2, {}, {7, 8})};
    SequenceShape shape = shapeOf(samples, settings);
    shape.frames = shape.slots = 3;
    shape.text = 4;
    shape.length = 6;
    shape.counted = 5;
    const Sequences s(samples, settings, shape);
    QCOMPARE(s.textIds, (Rows{7, 8, -1, -1}));
    QCOMPARE(s.fine, (Rows{0, 1, 3, 4, -1, -1}));
    QCOMPARE(s.visual, (Rows{0, 1, -1}));
    QCOMPARE(s.queryOf, (Rows{0, 1, 0}));
    QCOMPARE(s.frameOf, (Rows{0, 1, 2}));
    QCOMPARE(s.labels, (Rows{7, 8, -100, -100, -100}));
    QCOMPARE(s.predicting, (Rows{1, 2, -1, -1, -1}));
    shape.text = 1;
    VERGENCE_THROWS(ContractError, "do not fit the shape", Sequences(samples, settings, shape));
}

void TestFvlmSequences::roundedShapesRepeat()
{
    ModelSettings settings = settingsOf(Variant::Captions);
    SequenceShape a{8, 8, 48, 48, 150, 23, 6, 61, 6};
    const SequenceShape up = roundedUp(a, settings);
    for (Index SequenceShape::*extent :
         {&SequenceShape::frames, &SequenceShape::slots, &SequenceShape::text,
          &SequenceShape::length, &SequenceShape::counted}) {
        QVERIFY(up.*extent >= a.*extent);
        QVERIFY(static_cast<double>(up.*extent) <= 1.125 * static_cast<double>(a.*extent));
    }
    a.counted = 64;
    a.text = 160;
    a.length = 24;
    QVERIFY(roundedUp(a, settings) == up);
    QVERIFY(roundedUp(up, settings) == up);
    a.frames = 47; // an image among clips: never as many slots as frames
    QVERIFY(roundedUp(a, settings).frames != roundedUp(a, settings).slots);
    settings.norm = VisualNorm::BatchStd;
    a.frames = a.slots = 47;
    QCOMPARE(roundedUp(a, settings).slots, Index{47});
}

void TestFvlmSequences::tablesHoldTheSame()
{
    T0 t0(Variant::Joint);
    const std::vector<SampleTokens> samples{sample(3, {}, {7, 8}), sample(1, {}, {5})};
    const Sequences s(samples, t0.model.settings());
    SequenceTables tables(t0.device, s.shape(), DType::F64);
    const void* address = tables.fine.data();
    tables.fill(*t0.stream, s);
    QCOMPARE(tables.fine.toHost<std::int32_t>(*t0.stream), s.fine);
    QCOMPARE(tables.labels.toHost<std::int32_t>(*t0.stream), s.labels);
    QCOMPARE(tables.latentBefore.toHost<std::int32_t>(*t0.stream), s.latentBefore);
    QCOMPARE(numbersOf(*t0.stream, tables.countedTokens), std::vector<double>{3});
    QCOMPARE(numbersOf(*t0.stream, tables.laterShare), (std::vector<double>{0, 0.5, 0.5, 0}));
    QCOMPARE(numbersOf(*t0.stream, tables.frameShare),
             (std::vector<double>{0.5, 0, 0, 0.5, 0, 1, 0, 0, 0, 0, 1, 0}));
    const Sequences others(std::vector<SampleTokens>{samples[1], samples[0]}, t0.model.settings());
    tables.fill(*t0.stream, others);
    QCOMPARE(tables.fine.data(), address);
    QCOMPARE(tables.fine.toHost<std::int32_t>(*t0.stream), others.fine);
    const Sequences less(std::vector<SampleTokens>{samples[1]}, t0.model.settings());
    VERGENCE_THROWS(ContractError, "another shape", tables.fill(*t0.stream, less));
}

void TestFvlmSequences::badSamplesAreNamed()
{
    const auto build = [](SampleTokens bad, Variant variant = Variant::Captions) {
        Sequences(std::vector<SampleTokens>{std::move(bad)}, settingsOf(variant));
    };
    SampleTokens bad = sample(1, {}, {3, 4});
    bad.afterMask.pop_back();
    VERGENCE_THROWS(ContractError, "2 tokens with a mask of 1", build(bad));
    VERGENCE_THROWS(ContractError, "token 11 is not in the vocabulary of 11",
                    build(sample(1, {}, {11})));
    VERGENCE_THROWS(ContractError, "needs frames or text", build(sample(0, {}, {})));
    VERGENCE_THROWS(ContractError, "needs frames", build(sample(0, {}, {1}), Variant::Latents));
}

VERGENCE_TEST(TestFvlmSequences)
#include "tst_fvlm_sequences.moc"
