#include <algorithm>
#include <cmath>

#include <malloc.h>

#include <QtTest>

#include "core/artifact/digest.h"
#include "core/base/log.h"
#include "plugins/live_diffusion/engine/unet_network.h"
#include "plugins/live_diffusion/model/unet_settings.h"
#include "tests/plugins/live_diffusion/loop_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::live;

namespace {

std::string digestOf(FrameLoop& loop, int frames, Index values = kSmall.values())
{
    Digest digest;
    for (int i = 0; i < frames; ++i) {
        loop.process(patternOf(i, values));
        const auto& pixels = loop.output().pixels;
        digest.add({reinterpret_cast<const char*>(pixels.data()), pixels.size()});
        digest.add(
            {reinterpret_cast<const char*>(loop.values().data()), loop.values().size_bytes()});
    }
    return digest.hex();
}

/// Memory that was asked for and not given back; 0 where a sanitizer keeps the books.
std::size_t bytesInUse()
{
    const auto books = mallinfo2();
    return books.uordblks + books.hblkhd;
}

} // namespace

class TestLiveBatch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { setLogToStderr(false); }

    // Stream batch -------------------------------------------------------------------------------

    void aStreamBatchIsTheSequenceLater_data()
    {
        QTest::addColumn<int>("steps");
        QTest::addColumn<int>("sampler");
        QTest::addColumn<int>("guidance");
        for (const int steps : {2, 3, 4, 6}) {
            for (const auto sampler :
                 {SamplerKind::Ddim, SamplerKind::DpmSolver2M, SamplerKind::Consistency}) {
                for (const auto kind : {GuidanceKind::None, GuidanceKind::Full,
                                        GuidanceKind::SelfNegative, GuidanceKind::OnetimeNegative})
                    QTest::addRow("%d %s %s", steps, std::string(titleOf(sampler)).c_str(),
                                  std::string(titleOf(kind)).c_str())
                        << steps << int(sampler) << int(kind);
            }
        }
    }
    void aStreamBatchIsTheSequenceLater()
    {
        QFETCH(int, steps);
        QFETCH(int, sampler);
        QFETCH(int, guidance);
        LoopSettings settings;
        settings.steps = steps;
        settings.sampler = SamplerKind(sampler);
        settings.guidance = {GuidanceKind(guidance), 1.3, 0.9};
        settings.noise = StartNoise::Fresh;
        settings.eta = 0.4;
        settings.usesHistory = settings.usesMemory = false;
        settings.blend = 0.8;
        Bench one(settings, kAllGains);
        settings.isStreamBatch = true;
        Bench batch(settings, kAllGains);
        std::vector<std::vector<float>> sequential;
        for (int i = 0; i < 20; ++i) {
            one.loop.process(patternOf(i));
            sequential.push_back(copyOf(one.loop.values()));
            const FrameRecord record = batch.loop.process(patternOf(i));
            if (i < steps - 1) {
                QCOMPARE(record.fate, FrameFate::Filling);
                QCOMPARE(record.shown, std::int64_t{-1});
                continue;
            }
            QCOMPARE(record.shown, std::int64_t{i - steps + 1});
            const double error = largestDifference(
                batch.loop.values(), sequential[static_cast<std::size_t>(i - steps + 1)]);
            QVERIFY2(error <= 1e-5, std::to_string(error).c_str());
        }
        QCOMPARE(batch.loop.totals().filling, std::int64_t{steps - 1});
        QCOMPARE(batch.loop.totals().generated, std::int64_t{21 - steps});
        QCOMPARE(batch.loop.totals().calls, std::int64_t{20});
    }

    void oneStepIsTheSameEitherWay()
    {
        LoopSettings settings = everything();
        settings.steps = 1;
        Bench one(settings, kAllGains);
        settings.isStreamBatch = true;
        Bench batch(settings, kAllGains);
        QCOMPARE(digestOf(one.loop, 40), digestOf(batch.loop, 40));
    }

    /// History of a row: the estimate of the frame before at the same step, noised by what follows.
    void rowsSeeTheFrameBeforeAtTheirStep()
    {
        LoopSettings settings;
        settings.steps = 2;
        settings.isStreamBatch = true;
        settings.cutCosine = -1;
        Bench bench(settings, {1, 0, 0, 0, 30});
        for (int i = 0; i < 4; ++i)
            bench.loop.process(flat(0.1f * static_cast<float>(i + 1)));
        // Tick 3: row 0 holds frame 3 and sees frame 2 noised; row 1 holds frame 2, sees frame 1.
        const auto& row0 = bench.network->seen[5];
        const auto& row1 = bench.network->seen[6];
        QCOMPARE(row1.bucket, 0);
        QVERIFY2(std::abs(row1.firstHistory - 0.2f) < 1e-6f,
                 std::to_string(row1.firstHistory).c_str());
        const double sigma = NoiseSchedule().sigma(bench.loop.timesteps()[1]);
        QCOMPARE(row0.bucket, historyBucket(0.7 * sigma));
        QVERIFY(row0.timestep > row1.timestep);
        // The other stage of a scene cut: frames of the new scene see themselves.
        LoopSettings cutting = settings;
        cutting.cutCosine = 0.5;
        Bench cut(cutting, {1, 0, 0, 0, 30});
        for (const float value : {0.5f, 0.5f, 0.5f, -0.3f, -0.3f})
            cut.loop.process(flat(value));
        QVERIFY(std::abs(cut.network->seen.back().firstHistory + 0.3f) < 1e-6f);
        QVERIFY(std::abs(cut.loop.values()[0] + 0.3f) < 1e-6f);
    }

    /// The same of a denoiser with memory bank and history noise: Nano with weights by chance.
    void theRealNetworkStreamsInBatches()
    {
        UnetSettings unet;
        unet.size = Size::Nano;
        unet.patch = 2;
        unet.grid = layoutOf(Size::Nano).nativeGrid;
        Switches switches;
        switches.graph = switches.tuned = false; // which plan is fastest is chance
        switches.threads = 1;
        const auto weights = benchWeights(unet, 5);
        const auto network = [&](int rows) {
            return std::make_shared<UnetNetwork>(makeCpuDevice(1), weights,
                                                 UnetNetworkSettings{unet, switches, rows});
        };
        LoopSettings settings;
        settings.steps = 3;
        settings.blend = 0.7;
        settings.usesHistory = settings.usesMemory = false;
        FrameLoop one(network(1), settings);
        settings.isStreamBatch = true;
        FrameLoop batch(network(3), settings);
        const Index values = one.shape().values();
        std::vector<std::vector<float>> sequential;
        for (int i = 0; i < 8; ++i) {
            one.process(patternOf(i, values));
            sequential.push_back(copyOf(one.values()));
            if (batch.process(patternOf(i, values)).fate == FrameFate::Filling)
                continue;
            const double error =
                largestDifference(batch.values(), sequential[static_cast<std::size_t>(i - 2)]);
            QVERIFY2(error <= 1e-5, std::to_string(error).c_str());
        }
        settings.usesHistory = settings.usesMemory = true;
        settings.guidance = {GuidanceKind::Full, 1.2, 1};
        settings.isStreamBatch = false;
        FrameLoop all(network(2), settings), again(network(2), settings);
        const std::string digest = digestOf(all, 12, values);
        QCOMPARE(digestOf(again, 12, values), digest);
        all.reset();
        QCOMPARE(digestOf(all, 12, values), digest);
        QCOMPARE(all.network().memoryWrites(), 3);
        QVERIFY(largestDifference(all.values(), one.values()) > 1e-4); // they do matter
    }

    // What may go wrong --------------------------------------------------------------------------

    void similarFramesAreSkippedButNeverMoreThanTen()
    {
        LoopSettings settings;
        settings.filtersSimilar = true;
        Bench bench(settings);
        int inRow = 0, longest = 0;
        std::int64_t skipped = 0;
        bench.loop.process(patternOf(1));
        const auto first = copyOf(bench.loop.values());
        for (int i = 0; i < 300; ++i) {
            const FrameRecord record = bench.loop.process(patternOf(1));
            const bool isSkipped = record.fate == FrameFate::Skipped;
            QCOMPARE(record.skipChance, 1.0);
            QCOMPARE(record.evaluations, isSkipped ? 0 : 2);
            inRow = isSkipped ? inRow + 1 : 0;
            longest = std::max(longest, inRow);
            skipped += isSkipped;
        }
        QCOMPARE(longest, 10); // equal frames are skipped for certain
        const LoopTotals totals = bench.loop.totals();
        QCOMPARE(totals.skipped, skipped);
        QCOMPARE(totals.generated, 301 - skipped);
        QCOMPARE(totals.evaluations, 2 * totals.generated);
        QVERIFY(largestDifference(first, bench.loop.values()) < 1e-6);
        QCOMPARE(bench.loop.process(flat(0.4f)).fate, FrameFate::Generated);
    }

    void aResultThatIsNoNumberIsNotShown()
    {
        LoopSettings settings;
        settings.steps = 2;
        Bench bench(settings, kAllGains);
        Switches switches;
        switches.precision = Precision::Fp16;
        bench.network->setSwitches(switches);
        for (int i = 0; i < 4; ++i)
            bench.loop.process(patternOf(i));
        const auto good = copyOf(bench.loop.values());
        const auto writes = bench.network->memoryWrites();
        bench.network->badCalls = {8, 9};
        FrameRecord record = bench.loop.process(patternOf(4)); // would be written to memory
        QCOMPARE(record.fate, FrameFate::Kept);
        QCOMPARE(record.shown, std::int64_t{3});
        QVERIFY(record.message.find("frame 4 was not finite") != std::string::npos);
        QVERIFY(record.message.find("from fp16 to bf16") != std::string::npos);
        QCOMPARE(bench.network->switches().precision, Precision::Bf16);
        QVERIFY(copyOf(bench.loop.values()) == good);
        QCOMPARE(bench.network->memoryWrites(), writes);
        record = bench.loop.process(patternOf(5));
        QCOMPARE(record.fate, FrameFate::Generated);
        QVERIFY(record.wroteMemory && largestDifference(bench.loop.values(), good) < 3);
        // Again and again: the memory is suspected, in F32 only the frame is kept.
        const int resets = bench.network->resets;
        bench.network->badCalls = {12, 13, 14, 15};
        bench.loop.process(patternOf(6));
        QCOMPARE(bench.network->switches().precision, Precision::Fp32);
        bench.loop.process(patternOf(7));
        QCOMPARE(bench.network->resets, resets + 1);
        QCOMPARE(bench.loop.process(patternOf(8)).fate, FrameFate::Generated);
        QCOMPARE(bench.loop.totals().kept, std::int64_t{3});
    }

    void aBatchRecoversFromABadTick()
    {
        LoopSettings settings;
        settings.steps = 3;
        settings.isStreamBatch = true;
        Bench bench(settings, kAllGains);
        bench.network->badCalls = {6};
        std::vector<FrameFate> fates;
        for (int i = 0; i < 14; ++i) {
            fates.push_back(bench.loop.process(patternOf(i)).fate);
            for (const float value : bench.loop.values())
                QVERIFY(std::isfinite(value));
        }
        QCOMPARE(std::ranges::count(fates, FrameFate::Kept), 3); // all that were in flight
        QCOMPARE(fates.back(), FrameFate::Generated);
    }

    // In the long run ----------------------------------------------------------------------------

    void theSameSeedGivesTheSameBits()
    {
        const LoopSettings settings = everything();
        Bench first(settings, kAllGains), again(settings, kAllGains);
        const std::string digest = digestOf(first.loop, 50);
        QCOMPARE(digestOf(again.loop, 50), digest);
        again.loop.reset();
        QCOMPARE(digestOf(again.loop, 50), digest);
        LoopSettings other = settings;
        other.seed = 2;
        Bench different(other, kAllGains);
        QVERIFY(digestOf(different.loop, 50) != digest);
    }

    void longStreamsDoNotGrow()
    {
        LoopSettings settings = everything();
        settings.isStreamBatch = true;
        settings.filtersSimilar = false;
        Bench bench(settings, kAllGains, {1, 8, 8});
        bench.network->keepsRecords = false;
        std::vector<std::vector<float>> inputs;
        for (int i = 0; i < 16; ++i)
            inputs.push_back(patternOf(i, 3 * 64));
        std::size_t before = 0;
        for (int i = 0; i < 8000; ++i) {
            bench.loop.process(inputs[static_cast<std::size_t>(i % 16)]);
            if (i == 500)
                before = bytesInUse();
        }
        const std::size_t after = bytesInUse();
        QVERIFY2(after <= before + 1024, std::to_string(after - before).c_str());
        QCOMPARE(bench.loop.totals().frames, std::int64_t{8000});
    }
};

VERGENCE_TEST(TestLiveBatch)
#include "tst_live_batch.moc"
