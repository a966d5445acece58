#include <algorithm>
#include <map>
#include <numeric>

#include <QTest>

#include "core/base/error.h"
#include "plugins/foveated_vlm/text/batch_maker.h"
#include "tests/plugins/foveated_vlm/text_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::fvlm::fixtures;

namespace {

std::vector<Index> numbers(Index count)
{
    std::vector<Index> members(static_cast<std::size_t>(count));
    std::iota(members.begin(), members.end(), 0);
    return members;
}

struct Bench {
    explicit Bench(BatchSettings wanted, int clipCount = 64, int mostFrames = 9)
        : clips(variedClips(clipCount, mostFrames)),
          settings(wanted)
    {
    }
    BatchMaker maker() const
    {
        return BatchMaker(clips, numbers(clips.count()), &chat, &texts, settings);
    }

    ListedClips clips;
    std::unique_ptr<Tokenizer> tokenizer = tokenizerOf({"what is the red disc doing?"});
    ChatTemplate chat{*tokenizer, {TemplateKind::Short}};
    std::vector<ClipText> texts{{"what?", "red", {}, {}, {}}, {"why?", "disc", {}, {}, {}}};
    BatchSettings settings;
};

BatchSettings small()
{
    BatchSettings settings;
    settings.batch = 4;
    settings.gradAccum = 2;
    settings.window = 64;
    return settings;
}

std::string described(const UpdatePlan& update)
{
    std::string text;
    for (const MicroBatchPlan& batch : update.microBatches) {
        for (const PlannedSample& sample : batch.samples)
            text += std::to_string(sample.clip) + "/" + std::to_string(sample.text) + " ";
        text += "| ";
    }
    return text;
}

} // namespace

class TestBatches : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyEpochShowsEveryClipOnce()
    {
        const Bench bench(small());
        BatchMaker maker = bench.maker();
        std::map<Index, int> seen;
        for (int update = 0; update < 16; ++update) {
            const UpdatePlan plan = maker.next();
            QCOMPARE(plan.microBatches.size(), std::size_t{2});
            QCOMPARE(plan.samples(), Index{8});
            for (const MicroBatchPlan& batch : plan.microBatches) {
                for (const PlannedSample& sample : batch.samples)
                    ++seen[sample.clip];
            }
        }
        QCOMPARE(seen.size(), std::size_t{64});
        for (const auto& [clip, count] : seen)
            QCOMPARE(count, 2);
        QCOMPARE(maker.epochs(128), 2.0);
    }

    void positionTellsEverything()
    {
        const Bench bench(small());
        BatchMaker maker = bench.maker();
        for (int update = 0; update < 13; ++update)
            maker.next();
        BatchMaker later = bench.maker();
        later.seek(maker.position());
        for (int update = 0; update < 9; ++update)
            QCOMPARE(described(later.next()), described(maker.next()));
    }

    void samplesOfABatchAreAlikeInLength()
    {
        const Bench bench(small());
        BatchMaker maker = bench.maker();
        std::vector<int> firstFrames;
        for (int update = 0; update < 8; ++update) {
            for (const MicroBatchPlan& batch : maker.next().microBatches) {
                const auto [least, most] = std::minmax_element(
                    batch.samples.begin(), batch.samples.end(),
                    [](const auto& a, const auto& b) { return a.frames < b.frames; });
                QVERIFY(most->frames - least->frames <= 1);
                firstFrames.push_back(batch.samples.front().frames);
            }
        }
        QVERIFY(!std::is_sorted(firstFrames.begin(), firstFrames.end())); // batches are shuffled
    }

    void budgetsHoldAndNothingIsDropped_data()
    {
        QTest::addColumn<int>("frames");
        QTest::addColumn<int>("tokens");
        QTest::newRow("frames") << 12 << 100000;
        QTest::newRow("tokens") << 100000 << 40;
        QTest::newRow("both") << 10 << 30;
        QTest::newRow("one sample above it") << 3 << 100000;
    }
    void budgetsHoldAndNothingIsDropped()
    {
        QFETCH(int, frames);
        QFETCH(int, tokens);
        BatchSettings settings = small();
        settings.batch = 8;
        settings.framesPerBatch = frames;
        settings.tokensPerBatch = tokens;
        const Bench bench(settings);
        BatchMaker maker = bench.maker();
        std::map<Index, int> seen;
        while (maker.position().firstDrawn < 64) {
            for (const MicroBatchPlan& batch : maker.next().microBatches) {
                if (seen.size() == 64)
                    break; // the update reaches into the next window
                Index longest = 0;
                for (const PlannedSample& sample : batch.samples) {
                    ++seen[sample.clip];
                    longest = std::max<Index>(longest, sample.length());
                }
                const auto count = static_cast<Index>(batch.samples.size());
                QVERIFY(count == 1 || batch.encoded() <= frames);
                QVERIFY(count == 1 || count * longest <= tokens);
            }
        }
        QCOMPARE(seen.size(), std::size_t{64});
    }

    void textsWithoutFramesKeepTheirShareInEveryBatch()
    {
        BatchSettings settings = small();
        settings.batch = 8;
        settings.gradAccum = 4;
        settings.window = 256;
        settings.textOnly = 0.14;
        const Bench bench(settings);
        BatchMaker maker = bench.maker();
        Index texts = 0, samples = 0;
        for (int update = 0; update < 32; ++update) {
            Index inUpdate = 0;
            for (const MicroBatchPlan& batch : maker.next().microBatches) {
                Index inBatch = 0;
                for (const PlannedSample& sample : batch.samples) {
                    QCOMPARE(sample.clip < 0, sample.text >= 0);
                    QVERIFY(sample.clip >= 0 || (sample.frames == 0 && sample.tokens.size() > 0));
                    inBatch += sample.clip < 0 ? 1 : 0;
                    ++samples;
                }
                QVERIFY(inBatch == 1 || inBatch == 2);
                inUpdate += inBatch;
            }
            QVERIFY(inUpdate >= 4 && inUpdate <= 6);
            texts += inUpdate;
        }
        QCOMPARE(texts, static_cast<Index>(0.14 * static_cast<double>(samples)));
    }

    void imagesCountOnceForTheEncoder()
    {
        ClipInfo image = clipOf(1, 8, "what?", "red");
        image.isImage = true;
        const ListedClips clips({image, clipOf(2, 8, "what?", "red")});
        BatchSettings settings = small();
        settings.window = 2;
        settings.gradAccum = 1;
        BatchMaker maker(clips, numbers(2), nullptr, nullptr, settings);
        const UpdatePlan plan = maker.next();
        QCOMPARE(plan.microBatches.front().encoded(), Index{9});
        QCOMPARE(plan.frames(), Index{16});
        QCOMPARE(plan.microBatches.front().samples.front().tokens.size(), 0);
    }

    void splittingKeepsSamplesInOrder()
    {
        const Bench bench(small());
        const MicroBatchPlan batch = bench.maker().next().microBatches.front();
        for (const int parts : {1, 2, 3, 4, 9}) {
            std::vector<Index> clips;
            const auto pieces = batch.split(parts);
            QCOMPARE(pieces.size(), static_cast<std::size_t>(std::min(parts, 4)));
            for (const MicroBatchPlan& piece : pieces) {
                for (const PlannedSample& sample : piece.samples)
                    clips.push_back(sample.clip);
            }
            QCOMPARE(clips.size(), batch.samples.size());
            for (std::size_t i = 0; i < clips.size(); ++i)
                QCOMPARE(clips[i], batch.samples[i].clip);
        }
    }

    void cutSamplesAreCounted()
    {
        Bench bench(small());
        TextSettings text;
        text.kind = TemplateKind::Short;
        text.limit = 10;
        const ChatTemplate tight(*bench.tokenizer, text);
        BatchMaker maker(bench.clips, numbers(64), &tight, nullptr, bench.settings);
        int cut = 0, expected = 0;
        for (int update = 0; update < 8; ++update)
            cut += maker.next().cut();
        for (Index i = 0; i < 64; ++i)
            expected += tight.sample(bench.clips.info(i).text).dropped > 0 ? 1 : 0;
        QVERIFY(expected > 0 && expected < 64);
        QCOMPARE(cut, expected);
    }

    /// A preference is two whole sequences: both count in the budget, and either may be cut.
    void preferencesAreTwoSequences()
    {
        std::vector<ClipInfo> infos;
        for (int i = 0; i < 64; ++i) {
            ClipInfo info = clipOf(100 + static_cast<std::uint64_t>(i), 1 + i % 3, "what?", "");
            info.text.chosen = "red";
            info.text.rejected = "red";
            for (int word = 0; word < i % 5; ++word)
                info.text.rejected += " disc";
            infos.push_back(info);
        }
        const ListedClips clips(infos);
        BatchSettings settings = small();
        settings.gradAccum = 1;
        settings.tokensPerBatch = 60;
        settings.preferences = true;
        const Bench bench(settings);
        TextSettings text{TemplateKind::Short};
        text.limit = bench.chat.sample(infos.front().text, "red disc").size();
        const ChatTemplate tight(*bench.tokenizer, text);
        BatchMaker maker(clips, numbers(64), &tight, nullptr, settings);
        int cut = 0, expected = 0;
        Index samples = 0;
        while (maker.position().firstDrawn < 64) {
            const UpdatePlan update = maker.next();
            cut += update.cut();
            samples += update.samples();
            Index longest = 0;
            for (const PlannedSample& sample : update.microBatches.front().samples) {
                const ClipText& said = infos[static_cast<std::size_t>(sample.clip)].text;
                const TextTokens chosen = tight.sample(said, said.chosen);
                const TextTokens rejected = tight.sample(said, said.rejected);
                longest = std::max({longest, Index{sample.frames} + chosen.size(),
                                    Index{sample.frames} + rejected.size()});
                expected += chosen.dropped > 0 || rejected.dropped > 0 ? 1 : 0;
            }
            QVERIFY(update.samples() == 1 || 2 * update.samples() * longest <= 60);
        }
        QCOMPARE(samples, Index{64});
        QVERIFY(expected > 0 && expected < 64);
        QCOMPARE(cut, expected);
    }

    void heldOutClipsAreChosenByTheirIds()
    {
        const ListedClips clips = variedClips(400, 3);
        const ClipSplit split = splitClips(clips, 0.05, 42);
        QVERIFY(split.heldOut.size() >= 8 && split.heldOut.size() <= 36); // 20 ± 3.6 deviations
        QCOMPARE(split.heldOut.size() + split.training.size(), std::size_t{400});
        // The first half alone: the same decisions.
        const ClipSplit half = splitClips(variedClips(200, 3), 0.05, 42);
        std::vector<Index> expected;
        for (const Index clip : split.heldOut) {
            if (clip < 200)
                expected.push_back(clip);
        }
        QCOMPARE(half.heldOut, expected);
        QCOMPARE(splitClips(variedClips(2, 3), 0.001, 42).heldOut.size(), std::size_t{1});
        QVERIFY(splitClips(clips, 0, 42).heldOut.empty());
    }

    void badSettingsAreRefused()
    {
        BatchSettings settings = small();
        settings.batch = 0;
        VERGENCE_THROWS(ContractError, "at least 1", Bench(settings).maker());
        settings = small();
        settings.textOnly = 0.5;
        const Bench bench(settings);
        VERGENCE_THROWS(ContractError, "no texts",
                        BatchMaker(bench.clips, numbers(3), &bench.chat, nullptr, settings));
        const Bench other(small());
        BatchMaker maker = other.maker();
        VERGENCE_THROWS(InputError, "not of these settings", maker.seek({0, 1000}));
    }
};

VERGENCE_TEST(TestBatches)
#include "tst_fvlm_batches.moc"
