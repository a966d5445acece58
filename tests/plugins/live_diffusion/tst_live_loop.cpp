#include <algorithm>
#include <array>
#include <cmath>

#include <QtTest>

#include "core/base/error.h"
#include "core/base/log.h"
#include "plugins/live_diffusion/model/pixel_blocks.h"
#include "plugins/live_diffusion/stream/drift_guard.h"
#include "plugins/live_diffusion/stream/frame_grid.h"
#include "plugins/live_diffusion/stream/oracle_network.h"
#include "tests/plugins/live_diffusion/loop_bench.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;

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
                        QTest::addRow("%s %s %d%s", std::string(titleOf(sampler)).c_str(),
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

    // Around it ----------------------------------------------------------------------------------

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

VERGENCE_TEST(TestLiveLoop)
#include "tst_live_loop.moc"
