#include <algorithm>
#include <cmath>
#include <fstream>

#include <QtTest>

#include "core/artifact/digest.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "plugins/live_diffusion/model/pixel_blocks.h"
#include "plugins/live_diffusion/model/unet_settings.h"
#include "plugins/live_diffusion/stream/drift_guard.h"
#include "plugins/live_diffusion/stream/frame_grid.h"
#include "plugins/live_diffusion/stream/frame_loop.h"
#include "plugins/live_diffusion/stream/oracle_network.h"
#include "tests/plugins/live_diffusion/linear_network.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;

namespace {

constexpr FrameShape kSmall{2, 8, 8};

/// Numbers in [−0.9, 0.9] that look like nothing in particular.
std::vector<float> patternOf(int number, Index count = kSmall.values())
{
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 0.9f * std::sin(0.37f * static_cast<float>(i) +
                                    0.05f * static_cast<float>(number * (1 + int(i) % 5)));
    return values;
}

std::vector<float> flat(float value, Index count = kSmall.values())
{
    return std::vector<float>(static_cast<std::size_t>(count), value);
}

double largestDifference(std::span<const float> a, std::span<const float> b)
{
    double worst = a.size() == b.size() ? 0 : 1e9;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        worst = std::max(worst, std::abs(double(a[i]) - double(b[i])));
    return worst;
}

std::vector<float> copyOf(std::span<const float> values)
{
    return {values.begin(), values.end()};
}

/// A loop with its network in reach.
struct Bench {
    std::shared_ptr<LinearNetwork> network;
    FrameLoop loop;

    explicit Bench(const LoopSettings& settings, LinearNetwork::Gains gains = {},
                   FrameShape shape = kSmall)
        : network(std::make_shared<LinearNetwork>(shape)),
          loop(network, settings)
    {
        network->gains = gains;
    }
};

/// Everything on: history, memory, blend, guard, filter, guidance.
LoopSettings everything()
{
    LoopSettings settings;
    settings.noise = StartNoise::Correlated;
    settings.historyNoise = 0.2;
    settings.driftGuard = 0.3;
    settings.filtersSimilar = true;
    settings.similarity = 0.9;
    settings.guidance = {GuidanceKind::SelfNegative, 1.5, 0.8};
    settings.eta = 0.5;
    return settings;
}
constexpr LinearNetwork::Gains kAllGains{0.5f, 0.3f, 0.15f, 0.1f, 1.f};

std::string digestOf(FrameLoop& loop, int frames)
{
    Digest digest;
    for (int i = 0; i < frames; ++i) {
        loop.process(patternOf(i));
        const auto& pixels = loop.output().pixels;
        digest.add({reinterpret_cast<const char*>(pixels.data()), pixels.size()});
        digest.add(
            {reinterpret_cast<const char*>(loop.values().data()), loop.values().size_bytes()});
    }
    return digest.hex();
}

std::size_t residentPages()
{
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    file >> all >> resident;
    return resident;
}

} // namespace

class TestLiveLoop : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { setLogToStderr(false); }

    // Pictures and grids -------------------------------------------------------------------------

    void unshuffleIsExactAndInverts_data()
    {
        QTest::addColumn<int>("patch");
        for (const int patch : {1, 2, 4, 8})
            QTest::addRow("p %d", patch) << patch;
    }
    void unshuffleIsExactAndInverts()
    {
        QFETCH(int, patch);
        const FrameShape shape{patch, 8, 8};
        const int side = 8 * patch;
        Image picture = makeImage(side, side, 3);
        for (std::size_t i = 0; i < picture.pixels.size(); ++i)
            picture.pixels[i] = static_cast<std::uint8_t>(i * 31 % 251);
        FrameGrid grid(shape);
        std::vector<float> values(static_cast<std::size_t>(shape.values()));
        grid.toValues(picture, values);
        std::vector<float> planes(values.size()), expected(values.size());
        for (int c = 0; c < 3; ++c) {
            for (int i = 0; i < side * side; ++i)
                planes[static_cast<std::size_t>(c * side * side + i)] =
                    picture.pixels[static_cast<std::size_t>(3 * i + c)] / 127.5f - 1;
        }
        pixelUnshuffle(planes, side, patch, expected);
        QVERIFY(largestDifference(values, expected) < 1e-6);
        Image back;
        grid.toPicture(values, back);
        QVERIFY(back.pixels == picture.pixels);
    }

    void picturesAreCutAndScaled()
    {
        const FrameShape shape{1, 8, 16};
        FrameGrid grid(shape);
        std::vector<float> values(static_cast<std::size_t>(shape.values()));
        // Odd sizes, grey and with alpha: a flat picture stays flat.
        for (const auto& [width, height, channels] : std::vector<std::array<int, 3>>{
                 {101, 67, 3}, {1, 1, 1}, {7, 300, 4}, {16, 8, 3}, {640, 360, 1}}) {
            grid.toValues(makeImage(width, height, channels, 200), values);
            for (const float value : values)
                QVERIFY(std::abs(value - (200 / 127.5f - 1)) < 1e-5f);
        }
        // The left and right of a wide picture are cut: of 64 × 16 the middle 32 × 16 is seen.
        Image wide = makeImage(64, 16, 3, 255);
        for (int y = 0; y < 16; ++y)
            std::fill_n(wide.row(y) + 3 * 16, 3 * 32, std::uint8_t{0});
        grid.toValues(wide, values);
        QVERIFY(std::abs(values[3 * 16 + 8] + 1) < 1e-6f);
        // The filter reaches one target pixel over the edge: an eighth of its weight there.
        QVERIFY(values[3 * 16] > -1 && values[3 * 16] < -0.7f);
        // A ramp enlarged stays a ramp away from its ends.
        Image ramp = makeImage(8, 4, 3);
        for (int y = 0; y < 4; ++y) {
            for (int x = 0; x < 24; ++x)
                ramp.row(y)[x] = static_cast<std::uint8_t>(20 * (x / 3));
        }
        grid.toValues(ramp, values);
        for (int x = 1; x < 15; ++x)
            QVERIFY(std::abs((values[static_cast<std::size_t>(x)] + 1) * 127.5f -
                             20 * ((x + 0.5f) / 2 - 0.5f)) < 1e-3f);
        VERGENCE_THROWS(ContractError, "channels", grid.toValues(makeImage(3, 3, 2), values));
        Image torn = makeImage(8, 8, 3);
        torn.pixels.pop_back();
        VERGENCE_THROWS(ContractError, "all of its pixels", grid.toValues(torn, values));
    }

    // One frame ----------------------------------------------------------------------------------

    /// N = 1, no noise in the history: every number can be followed on paper.
    void twoFramesByHand()
    {
        LoopSettings settings;
        settings.steps = 1;
        settings.historyNoise = 0;
        settings.blend = 0.5;
        settings.cutCosine = -1;
        Bench bench(settings, {0.5f, 0.5f, 0, 0, 0}); // logit 0: w = 1/2
        const FrameRecord first = bench.loop.process(flat(0.8f));
        QVERIFY(first.isReset && !first.isCut && first.wroteMemory);
        QVERIFY(std::abs(bench.loop.values()[0] - 0.8f) < 1e-6f); // h = u, w′ = 1
        const FrameRecord second = bench.loop.process(flat(0.2f));
        QVERIFY(!second.isReset && !second.wroteMemory);
        // x̂₀ = (0.2 + 0.8)/2; w′ = 1 − 0.5 (1 − 0.5) = 0.75; y = 0.75 · 0.5 + 0.25 · 0.8.
        QVERIFY(std::abs(bench.loop.estimate()[0] - 0.5f) < 1e-6f);
        QVERIFY(std::abs(bench.loop.values()[0] - 0.575f) < 1e-6f);
        QCOMPARE(int(bench.loop.output().pixels[0]), int(1.575f * 127.5f + 0.5f));
        QCOMPARE(second.evaluations, 1);
        QCOMPARE(second.shown, std::int64_t{1});
        QCOMPARE(bench.loop.totals().generated, std::int64_t{2});
        QVERIFY(second.seconds.total > 0 && second.seconds.total >= second.seconds.network);
    }

    /// The exact denoiser of a clip ends at a picture of that clip, whatever the way there.
    void theOracleReachesExactSamples_data()
    {
        QTest::addColumn<int>("sampler");
        QTest::addColumn<int>("prediction");
        QTest::addColumn<int>("steps");
        QTest::addColumn<bool>("isBatch");
        for (const bool isBatch : {false, true}) {
            for (const int steps : {1, 2, 4, 8}) {
                for (const auto prediction : {Prediction::Epsilon, Prediction::V}) {
                    for (const auto sampler : {SamplerKind::Ddim, SamplerKind::DpmSolver2M})
                        QTest::addRow("%s %s %d%s", std::string(nameOf(sampler)).c_str(),
                                      prediction == Prediction::V ? "v" : "e", steps,
                                      isBatch ? " batch" : "")
                            << int(sampler) << int(prediction) << steps << isBatch;
                }
            }
        }
    }
    void theOracleReachesExactSamples()
    {
        QFETCH(int, sampler);
        QFETCH(int, prediction);
        QFETCH(int, steps);
        QFETCH(bool, isBatch);
        std::vector<float> clip;
        for (int i = 0; i < 4; ++i) {
            const auto picture = patternOf(40 * i);
            clip.insert(clip.end(), picture.begin(), picture.end());
        }
        const OracleSettings oracle{.shape = kSmall, .prediction = Prediction(prediction)};
        LoopSettings settings;
        settings.sampler = SamplerKind(sampler);
        settings.prediction = Prediction(prediction);
        settings.steps = steps;
        settings.isStreamBatch = isBatch;
        settings.cutCosine = -1;
        FrameLoop loop(std::make_shared<OracleNetwork>(oracle, clip), settings);
        const int delay = isBatch ? steps - 1 : 0;
        for (int i = 0; i < 8 + delay; ++i) {
            const int wanted = (i * 3) % 4;
            const auto record = loop.process(patternOf(40 * wanted));
            if (i < delay) {
                QCOMPARE(record.fate, FrameFate::Filling);
                continue;
            }
            QCOMPARE(record.shown, std::int64_t{i - delay});
            const double error =
                largestDifference(loop.values(), patternOf(40 * ((i - delay) * 3 % 4)));
            QVERIFY2(error < 1e-4, std::to_string(error).c_str());
        }
        settings.start = StartFrom::Noise; // some picture of the clip
        settings.strength = 1;
        settings.isStreamBatch = false;
        settings.steps = std::max(steps, 4);
        FrameLoop free(std::make_shared<OracleNetwork>(oracle, clip), settings);
        free.process(flat(0.1f));
        double best = 1e9;
        for (int i = 0; i < 4; ++i)
            best = std::min(best, largestDifference(free.values(), patternOf(40 * i)));
        QVERIFY2(best < 1e-3, std::to_string(best).c_str());
    }

    void cutsResetHistoryAndFlushOnWish()
    {
        LoopSettings settings;
        settings.steps = 1;
        settings.historyNoise = 0;
        settings.flushesMemoryOnCut = true;
        Bench bench(settings, {0.5f, 0.5f, 0, 0, -30}); // w′ = 1/4 where there is a last frame
        for (int i = 0; i < 6; ++i)
            bench.loop.process(flat(0.8f));
        QCOMPARE(bench.network->written.size(), std::size_t{2}); // frames 0 and 4
        const int resets = bench.network->resets;
        const FrameRecord cut = bench.loop.process(flat(-0.4f));
        QVERIFY(cut.isCut && cut.isReset && cut.wroteMemory);
        QVERIFY(std::abs(cut.inputCosine + 1) < 1e-6);
        QCOMPARE(bench.network->resets, resets + 1);
        QVERIFY(std::abs(bench.loop.values()[0] + 0.4f) < 1e-6f); // nothing of the old scene
        QVERIFY(!bench.loop.process(flat(-0.4f)).isCut);
        QCOMPARE(bench.loop.totals().cuts, std::int64_t{1});
        settings.flushesMemoryOnCut = false;
        settings.cutCosine = -1;
        Bench blind(settings);
        blind.loop.process(flat(0.8f));
        QVERIFY(!blind.loop.process(flat(-0.4f)).isCut);
    }

    void memoryIsWrittenEveryStride()
    {
        LoopSettings settings;
        settings.memoryStride = 3;
        settings.cutCosine = -1;
        Bench bench(settings);
        std::vector<int> writes;
        for (int i = 0; i < 10; ++i) {
            if (bench.loop.process(flat(0.1f * static_cast<float>(i))).wroteMemory)
                writes.push_back(i);
        }
        QCOMPARE(writes, (std::vector<int>{0, 3, 6, 9}));
        QVERIFY(std::abs(bench.network->written[2] - 0.6f) < 1e-5f);
        bench.loop.reset();
        QVERIFY(bench.loop.process(flat(0.1f)).wroteMemory);
        settings.usesMemory = false;
        bench.loop.setSettings(settings);
        bench.network->seen.clear();
        for (int i = 0; i < 4; ++i)
            QVERIFY(!bench.loop.process(flat(0.3f)).wroteMemory);
        QCOMPARE(bench.network->memoryWrites(), 0);
        for (const auto& row : bench.network->seen)
            QVERIFY(!row.seesMemory);
    }

    /// h = √(1 − s²) y + s η, told as a bucket.
    void historyIsNoised()
    {
        LoopSettings settings;
        settings.steps = 1;
        settings.historyNoise = 0.6;
        settings.cutCosine = -1;
        Bench bench(settings);
        double sum = 0, squares = 0;
        constexpr int kFrames = 400;
        for (int i = 0; i <= kFrames; ++i)
            bench.loop.process(flat(0.5f));
        for (std::size_t i = 1; i <= kFrames; ++i) {
            QCOMPARE(bench.network->seen[i].bucket, 9); // round(8.57)
            const double eta = (bench.network->seen[i].firstHistory - 0.8 * 0.5) / 0.6;
            sum += eta;
            squares += eta * eta;
        }
        QVERIFY(std::abs(sum / kFrames) < 0.2);          // 4 standard errors
        QVERIFY(std::abs(squares / kFrames - 1) < 0.29); // likewise
        settings.usesHistory = false;
        bench.loop.setSettings(settings);
        bench.loop.process(flat(0.5f));
        QVERIFY(!bench.network->seen.back().hasHistory);
        QCOMPARE(bench.network->seen.back().bucket, 0);
    }

    void startNoiseFollowsItsMode()
    {
        const auto starts = [](StartNoise mode, StartFrom start) {
            LoopSettings settings;
            settings.steps = 1;
            settings.noise = mode;
            settings.start = start;
            Bench bench(settings);
            for (int i = 0; i < 3; ++i)
                bench.loop.process(flat(0.5f));
            std::vector<float> x;
            for (const auto& row : bench.network->seen)
                x.push_back(row.firstX);
            return x;
        };
        const auto fixed = starts(StartNoise::Fixed, StartFrom::Input);
        QVERIFY(fixed[0] == fixed[1] && fixed[1] == fixed[2]);
        const auto fresh = starts(StartNoise::Fresh, StartFrom::Input);
        QVERIFY(fresh[0] != fresh[1] && fresh[1] != fresh[2]);
        const auto mixed = starts(StartNoise::Correlated, StartFrom::Input);
        QVERIFY(std::abs(mixed[0] - mixed[1]) < std::abs(fresh[0] - fresh[1]) + 1e-6f);
        QVERIFY(starts(StartNoise::Fixed, StartFrom::Noise)[0] != fixed[0]);
    }

    void aDreamDropsItsInput()
    {
        LoopSettings settings;
        settings.mode = StreamMode::Dream;
        settings.steps = 2;
        settings.historyNoise = 0;
        Bench bench(settings, {1, 0, 0, 0, 30});
        bench.network->gains.history = 0;
        bench.loop.process(flat(0.6f));
        QVERIFY(std::abs(bench.loop.values()[0] - 0.6f) < 1e-6f);
        bench.network->gains = {1, 1, 0, 0, 30}; // the next frame is what history says
        const FrameRecord record = bench.loop.process(flat(-0.9f));
        QVERIFY(!record.isCut);
        QVERIFY(std::abs(bench.loop.values()[0] - 0.6f) < 1e-5f);
        QCOMPARE(bench.network->seen.size(), std::size_t{4});
        QVERIFY(bench.network->seen[1].hasInput && !bench.network->seen[2].hasInput);
    }

    void guidanceCountsItsEvaluations_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("sequential"); ///< of a frame with 3 steps
        QTest::addColumn<int>("batch");      ///< rows of a full tick
        QTest::newRow("none") << int(GuidanceKind::None) << 3 << 3;
        QTest::newRow("full") << int(GuidanceKind::Full) << 6 << 6;
        QTest::newRow("self") << int(GuidanceKind::SelfNegative) << 3 << 3;
        QTest::newRow("onetime") << int(GuidanceKind::OnetimeNegative) << 4 << 4;
    }
    void guidanceCountsItsEvaluations()
    {
        QFETCH(int, kind);
        QFETCH(int, sequential);
        QFETCH(int, batch);
        LoopSettings settings;
        settings.steps = 3;
        settings.guidance = {GuidanceKind(kind), 2, 1};
        Bench one(settings, kAllGains);
        FrameRecord record = one.loop.process(patternOf(0));
        QCOMPARE(record.evaluations, sequential);
        QCOMPARE(record.calls, 3);
        settings.isStreamBatch = true;
        Bench rows(settings, kAllGains);
        QCOMPARE(FrameLoop::rowsNeeded(settings), batch);
        for (int i = 0; i < 4; ++i)
            record = rows.loop.process(patternOf(i));
        QCOMPARE(record.evaluations, batch);
        QCOMPARE(record.calls, 1);
        settings.guidance.gamma = 1; // as it is
        QCOMPARE(FrameLoop::rowsNeeded(settings), 3);
    }

    /// Estimate without the condition: 0.1 x; with it 0.5 more of u: guided, it is that much more.
    void fullGuidanceGoesBeyondTheCondition()
    {
        LoopSettings settings;
        settings.steps = 1;
        settings.clampsEstimate = false;
        settings.usesHistory = false;
        settings.usesMemory = false;
        settings.guidance = {GuidanceKind::Full, 1.4, 1};
        Bench bench(settings, {0.5f, 0, 0, 0, 30});
        bench.loop.process(flat(0.6f));
        QVERIFY2(std::abs(bench.loop.values()[0] - 1.4f * 0.3f) < 1e-5f,
                 std::to_string(bench.loop.values()[0]).c_str());
    }

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
                    QTest::addRow("%d %s %s", steps, std::string(nameOf(sampler)).c_str(),
                                  std::string(nameOf(kind)).c_str())
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

    // Around it ----------------------------------------------------------------------------------

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
                before = residentPages();
        }
        QVERIFY2(residentPages() <= before + 64, // 256 KiB: the allocator's own doing
                 std::to_string(residentPages() - before).c_str());
        QCOMPARE(bench.loop.totals().frames, std::int64_t{8000});
    }

    void theGuardMovesColoursToTheInput()
    {
        DriftGuard guard;
        const auto input = patternOf(3);
        guard.observe(input);
        auto values = patternOf(9);
        for (float& value : values)
            value = 0.3f * value + 0.4f;
        const auto before = colourStatistics(values), wanted = colourStatistics(input);
        auto half = values;
        guard.apply(0.5, half);
        guard.apply(1, values);
        const auto after = colourStatistics(values), between = colourStatistics(half);
        for (std::size_t c = 0; c < 3; ++c) {
            QVERIFY(std::abs(after.mean[c] - wanted.mean[c]) < 1e-6);
            QVERIFY(std::abs(after.deviation[c] - wanted.deviation[c]) < 1e-6);
            QVERIFY(std::abs(between.mean[c] - (before.mean[c] + wanted.mean[c]) / 2) < 1e-6);
        }
        auto same = patternOf(9);
        guard.apply(0, same);
        QVERIFY(same == patternOf(9));
        auto grey = flat(0.2f); // no contrast to restore: only the mean moves
        guard.apply(1, grey);
        QVERIFY(colourStatistics(grey).deviation[0] < 1e-6);
        for (int i = 0; i < 200; ++i)
            guard.observe(flat(0.5f));
        QVERIFY(std::abs(guard.wanted().mean[1] - 0.5) < 1e-6);
    }

    void anotherLoopGoesOn()
    {
        LoopSettings settings;
        settings.cutCosine = -1;
        Bench old(settings, {0.5f, 0, 0, 0, 30});
        for (int i = 0; i < 5; ++i)
            old.loop.process(flat(0.4f));
        const float last = old.loop.values()[0];
        Bench same(settings, {0.5f, 0.5f, 0, 0, 30});
        same.loop.adopt(old.loop);
        QCOMPARE(same.network->memoryWrites(), 1);
        QCOMPARE(same.loop.totals().frames, std::int64_t{5});
        const FrameRecord record = same.loop.process(flat(0.4f));
        QCOMPARE(record.number, std::int64_t{5});
        QVERIFY(!record.isReset && !record.wroteMemory);
        Bench larger(settings, kAllGains, {1, 32, 32});
        larger.loop.adopt(old.loop);
        QCOMPARE(larger.loop.output().width, 32);
        QVERIFY(std::abs(larger.loop.values()[500] - last) < 0.01f); // by way of 8 bits
    }

    void settingsChangeBetweenFrames()
    {
        LoopSettings settings;
        settings.steps = 2;
        settings.isStreamBatch = true;
        Bench bench(settings, kAllGains);
        for (int i = 0; i < 4; ++i)
            bench.loop.process(patternOf(i));
        settings.blend = 0.5; // frames in flight go on
        bench.loop.setSettings(settings);
        QCOMPARE(bench.loop.process(patternOf(4)).fate, FrameFate::Generated);
        settings.steps = 4; // others must fill anew
        bench.loop.setSettings(settings);
        QCOMPARE(bench.loop.process(patternOf(5)).fate, FrameFate::Filling);
        LoopSettings wide = settings;
        wide.steps = 20;
        VERGENCE_THROWS(ContractError, "20 batch rows", bench.loop.setSettings(wide));
        QCOMPARE(bench.loop.settings().steps, 4);
        QCOMPARE(bench.loop.timesteps().size(), std::size_t{4});
        settings.sampler = SamplerKind::Turbo;
        bench.loop.setSettings(settings);
        QCOMPARE(bench.loop.process(patternOf(6)).evaluations, 1);
    }

    void settingsOutOfRangeAreNamed()
    {
        const auto says = [](const auto& change) {
            LoopSettings settings;
            change(settings);
            return test::thrown<ContractError>([&] { check(settings); });
        };
        QVERIFY(says([](auto& s) { s.steps = 0; }).contains("1 to 64 steps"));
        QVERIFY(says([](auto& s) { s.strength = 0; }).contains("strength"));
        QVERIFY(says([](auto& s) { s.historyNoise = 0.71; }).contains("history noise"));
        QVERIFY(says([](auto& s) { s.blend = std::nan(""); }).contains("blend"));
        QVERIFY(says([](auto& s) { s.memoryStride = 0; }).contains("stride"));
        QVERIFY(says([](auto& s) { s.similarity = 1; }).contains("similarity"));
        QVERIFY(says([](auto& s) { s.guidance.delta = 2; }).contains("negative"));
        VERGENCE_THROWS(ContractError, "a network", FrameLoop(nullptr, {}));
        Bench bench({});
        VERGENCE_THROWS(ContractError, "grid's size", bench.loop.process(flat(0, 3)));
    }
};

QTEST_APPLESS_MAIN(TestLiveLoop)
#include "tst_live_loop.moc"
